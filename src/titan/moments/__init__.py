"""From rows to exact moments."""

from titan.moments.columns import Column

__all__ = ["Column"]
