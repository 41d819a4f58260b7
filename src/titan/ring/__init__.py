"""The algebra: vectors of integers modulo 2^bits, and numbers as such integers."""

from titan.ring.fixed_point import FixedPoint, Scale, Where
from titan.ring.residues import RandomWords, Residues, Ring

__all__ = ["FixedPoint", "RandomWords", "Residues", "Ring", "Scale", "Where"]
