"""TITAN: organisations that will not pool their data solve one least squares problem together."""

__version__ = "0.1.0"
