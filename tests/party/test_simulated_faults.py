"""Whatever the network does and whoever is killed when, every party ends with the exact totals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from tests.party.simulation import Counts, Setting, World
from titan import Network
from titan.protocol import MaskMode, RecoveryName, plan
from titan.study import frames

RUNS_EACH = 34
MEMORY = Path("/dev/shm")  # noqa: S108 - a kill loses no page, so the files need no disk


def _network(rng: Random) -> Network:
    """3 to 6 parties: a cycle, or one with chords either way."""
    m = rng.randint(3, 6)
    names = [f"p{i}" for i in range(m)]
    links = {(i, (i + 1) % m) for i in range(m)}
    for _ in range(rng.randint(0, m)):
        a, b = rng.sample(range(m), 2)
        links.add((a, b))
    return Network([(names[a], names[b]) for a, b in sorted(links)], parties=names)


def _setting(recovery: RecoveryName, masks: MaskMode, seed: int) -> Setting:
    rng = Random(f"{recovery} {masks} {seed}")
    network = _network(rng)
    solver = rng.randrange(len(network)) if rng.random() < 0.4 else None
    return Setting(network, recovery, masks, solver, rng.randint(1, 2), deferred=seed % 2 == 1)


@pytest.fixture(autouse=True)
def _vectors_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nearly all of what is received lies beside the journal, and masks travel in pieces."""
    monkeypatch.setattr(frames, "_LONG", 60)
    monkeypatch.setattr(frames, "_SLOW", 60)
    monkeypatch.setattr(plan, "MOST_PIECE_BYTES", 16)


@pytest.mark.parametrize("recovery", ["tree", "flood", "topk"])
def test_every_run_that_stops_ends_for_all_alike(recovery: RecoveryName) -> None:
    """Where there are too few rows in all, say, nobody waits and nobody has an answer."""
    happened = Counts()
    for seed in range(RUNS_EACH):
        setting = replace(_setting(recovery, "sent", seed), sums=2, stops=True)
        with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            world = World(setting, seed, Path(folder))
            world.run()
        happened.add(world.happened)
    assert all(vars(happened).values()), happened


@pytest.mark.parametrize(
    ("recovery", "masks"), list(product(("tree", "flood", "topk"), ("sent", "seeded")))
)
def test_every_run_ends_with_the_exact_totals(
    recovery: RecoveryName,
    masks: MaskMode,
    record_property: Callable[[str, object], None],
) -> None:
    happened = Counts()
    for seed in range(RUNS_EACH):
        with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
            world = World(_setting(recovery, masks, seed), seed, Path(folder))
            world.run()
        happened.add(world.happened)
    assert all(vars(happened).values()), happened
    told = f"simulated faults, {recovery}, {masks}: {RUNS_EACH} runs, {happened}"
    record_property("counted", told)
