"""A study: who takes part, what they compute together, and what each will learn."""

from titan.study.card import Card
from titan.study.identity import Identity
from titan.study.manifest import Link, Study
from titan.study.preflight import Report, check

__all__ = ["Card", "Identity", "Link", "Report", "Study", "check"]
