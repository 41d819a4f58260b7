"""A short fault campaign with real processes: exact answers whatever happens, or clear errors.

`make faults` runs hundreds; these few have at least one of each kind of fault between them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.party.campaign.__main__ import campaign
from tests.party.campaign.scenario import draw

SEEDS = (9, 11, 14, 18, 20, 39)


def test_a_few_runs_with_every_kind_of_fault_end_exactly(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    tally = asyncio.run(campaign(iter(SEEDS), 3, tmp_path, every=0))
    record_property("counted", f"faults: {tally}")
    assert (tally.runs, tally.wrong, tally.hung, tally.errors) == (len(SEEDS), 0, 0, 0)
    assert tally.exact == sum(len(draw(seed).parties) for seed in SEEDS)
    assert min(tally.kills, tally.duplicated, tally.delayed, tally.reordered) > 0
