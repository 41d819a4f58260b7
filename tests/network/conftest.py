"""Property tests here do not depend on the clock, nor on chance."""

from hypothesis import settings

settings.register_profile("network", deadline=None, derandomize=True)
settings.load_profile("network")
