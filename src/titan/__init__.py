"""TITAN: organisations that will not pool their data compute one answer together.

net = titan.Network.cycle(5)
out = titan.average([1.5, 2, 3, 4, 5], net, tau=1)
out.value, out.error_bound, out.cost.rounds
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from titan.errors import TitanError
from titan.fitting import fit, ridge, solve
from titan.generalised.cox_result import Cox
from titan.generalised.result import GLM
from titan.generalising import glm
from titan.hazards import cox
from titan.joint.average import average
from titan.joint.averaged import Average
from titan.joint.counts import count
from titan.joint.describe import describe
from titan.joint.description import Description
from titan.joint.survival import survival
from titan.joint.survived import Survival
from titan.leastsquares import LassoPath, Regression, Ridge, RidgePath, Solution
from titan.moments import open_source
from titan.moments.sql import Query
from titan.network import Network
from titan.results import Results

if TYPE_CHECKING:
    from titan.joining import join, load
    from titan.party.views import view

__version__ = "0.1.0"
__all__ = [
    "GLM",
    "Average",
    "Cox",
    "Description",
    "LassoPath",
    "Network",
    "Query",
    "Regression",
    "Results",
    "Ridge",
    "RidgePath",
    "Solution",
    "Survival",
    "TitanError",
    "__version__",
    "average",
    "count",
    "cox",
    "describe",
    "fit",
    "glm",
    "join",
    "load",
    "open_source",
    "ridge",
    "solve",
    "survival",
    "view",
]
_LATER = {"join": "titan.joining", "load": "titan.joining", "view": "titan.party.views"}
"""These bring certificates along, which no other name here needs: loaded when asked for."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
