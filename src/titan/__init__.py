"""TITAN: organisations that will not pool their data solve one least squares problem together.

net = titan.Network.cycle(5)
out = titan.average([1.5, 2, 3, 4, 5], net, tau=1)
out.value, out.error_bound, out.cost.rounds
"""

from typing import TYPE_CHECKING, Any

from titan.averaging import Average, average, count
from titan.errors import TitanError
from titan.fitting import fit, ridge, solve
from titan.network import Network

if TYPE_CHECKING:
    from titan.party.views import view

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
    "view",
]


def __getattr__(name: str) -> Any:
    """`view` brings certificates along, which no other name here needs: loaded when asked for."""
    if name == "view":
        from titan.party.views import view

        return view
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
