"""A study: who takes part, what they compute together, and what each will learn."""

from titan.study.identity import Card, Identity
from titan.study.links import Link
from titan.study.manifest import Study
from titan.study.preflight import Report, check

__all__ = ["Card", "Identity", "Link", "Report", "Study", "check"]
