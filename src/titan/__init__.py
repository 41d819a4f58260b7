"""TITAN: organisations that will not pool their data solve one least squares problem together.

net = titan.Network.cycle(5)
out = titan.average([1.5, 2, 3, 4, 5], net, tau=1)
out.value, out.error_bound, out.cost.rounds
"""

from titan.averaging import Average, average, count
from titan.errors import TitanError
from titan.fitting import fit, ridge, solve
from titan.network import Network

__version__ = "0.1.0"
__all__ = [
    "Average",
    "Network",
    "TitanError",
    "__version__",
    "average",
    "count",
    "fit",
    "ridge",
    "solve",
]
