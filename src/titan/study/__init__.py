"""A study: who takes part, what they compute together, and what each will learn."""

from titan.study.card import Card
from titan.study.identity import Identity

__all__ = ["Card", "Identity"]
