"""TITAN: organisations that will not pool their data compute one answer together.

net = titan.Network.cycle(5)
out = titan.average([1.5, 2, 3, 4, 5], net, tau=1)
out.value, out.error_bound, out.cost.rounds
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from titan.errors import TitanError
    from titan.fitting import fit, ridge, solve
    from titan.generalised.cox_result import Cox
    from titan.generalised.result import GLM
    from titan.generalising import glm
    from titan.hazards import cox
    from titan.joining import join, load
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
    from titan.party.views import view
    from titan.results import Results

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
_FROM = {
    "TitanError": "titan.errors",
    "fit": "titan.fitting",
    "ridge": "titan.fitting",
    "solve": "titan.fitting",
    "Cox": "titan.generalised.cox_result",
    "GLM": "titan.generalised.result",
    "glm": "titan.generalising",
    "cox": "titan.hazards",
    "join": "titan.joining",
    "load": "titan.joining",
    "average": "titan.joint.average",
    "Average": "titan.joint.averaged",
    "count": "titan.joint.counts",
    "describe": "titan.joint.describe",
    "Description": "titan.joint.description",
    "survival": "titan.joint.survival",
    "Survival": "titan.joint.survived",
    "LassoPath": "titan.leastsquares",
    "Regression": "titan.leastsquares",
    "Ridge": "titan.leastsquares",
    "RidgePath": "titan.leastsquares",
    "Solution": "titan.leastsquares",
    "open_source": "titan.moments",
    "Query": "titan.moments.sql",
    "Network": "titan.network",
    "view": "titan.party.views",
    "Results": "titan.results",
}
"""Whence each name comes when it is first asked for: no command needs them all."""


def __getattr__(name: str) -> Any:
    if name in _FROM:
        found = getattr(import_module(_FROM[name]), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
