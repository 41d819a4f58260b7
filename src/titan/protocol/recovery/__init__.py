"""Three ways to bring the sum of the masked vectors to everyone; all give the same bits."""

from titan.protocol.recovery.flood import Flood
from titan.protocol.recovery.interface import Recovery, Scheme, Traffic
from titan.protocol.recovery.topk import TopK
from titan.protocol.recovery.tree import Tree

__all__ = ["Flood", "Recovery", "Scheme", "TopK", "Traffic", "Tree"]
