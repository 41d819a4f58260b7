"""Parties of earlier studies, as this party's ledger knows them, and those with other keys now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from titan.study.ledger import Ledger
from titan.study.manifest import Study

Known = Mapping[str, Sequence[str]]
"""Parties of earlier studies, with the fingerprints they were known by, the latest last."""


def known_keys(ledger: Path) -> Known:
    if not ledger.exists():
        return {}
    with Ledger.open(ledger) as opened:
        return opened.known_keys()


def new_keys(study: Study, known: Known) -> dict[str, str]:
    """Parties that were known by other keys, each with the latest of those."""
    return {
        card.name: known[card.name][-1]
        for card in study.parties
        if card.name in known and card.fingerprint not in known[card.name]
    }
