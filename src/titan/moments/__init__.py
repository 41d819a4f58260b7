"""From rows to exact moments."""

from titan.moments.collecting import Collected, collect
from titan.moments.columns import Column
from titan.moments.model import Model
from titan.moments.moments import Moments
from titan.moments.sources import Source, open_source, split_by

__all__ = [
    "Collected",
    "Column",
    "Model",
    "Moments",
    "Source",
    "collect",
    "open_source",
    "split_by",
]
