"""From rows to exact moments."""

from titan.moments.columns import Column
from titan.moments.gram import Accumulator
from titan.moments.moments import Moments

__all__ = ["Accumulator", "Column", "Moments"]
