"""A study: who takes part, what they compute together, and what each will learn."""

from titan.study.identity import Card, Identity
from titan.study.manifest import Link, Study
from titan.study.preflight import Report, check

__all__ = ["Card", "Identity", "Link", "Report", "Study", "check"]
