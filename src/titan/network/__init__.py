"""The graph: named parties, who can send to whom, and what that is good for."""

from titan.network.digraph import Network

__all__ = ["Network"]
