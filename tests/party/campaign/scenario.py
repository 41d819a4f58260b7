"""What one run is to be, and what is to go wrong in it: all drawn from its seed."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

NAMES = ("north", "east", "south", "west", "centre")
RECOVERIES = ("tree", "flood", "topk", "auto")
PHASES = ("connecting", "masks", "recovery", "agreement", "end")


@dataclass(frozen=True)
class Noise:
    """How often the stream's writer misbehaves, as chances per chunk."""

    duplicate: float = 0.0
    delay: float = 0.0
    swap: float = 0.0


@dataclass(frozen=True)
class Kill:
    """SIGKILL for one party; which of its lives is meant, and when in it.

    `when` is "commit" or "write" (the process kills itself before or after its n-th one), "phase"
    (when its progress first names one), "answer" (when its answer is on the screen) or "time".
    """

    party: str
    life: int
    when: str
    count: int = 0
    before: bool = True
    phase: str = ""
    seconds: float = 0.0
    pause: float = 0.0
    """Seconds until it is started again."""


@dataclass(frozen=True)
class Cut:
    """All connections that others opened to a party are cut, and new ones for a while."""

    party: str
    phase: str
    seconds: float
    blackout: float


@dataclass(frozen=True)
class Scenario:
    seed: int
    parties: tuple[str, ...]
    links: tuple[tuple[str, str, str], ...]
    tau: int
    choices: dict[str, Any]
    noise: Noise
    kills: tuple[Kill, ...]
    cuts: tuple[Cut, ...]
    loses_journal: bool
    """The party that is killed first loses its journal too: no answer may come of that."""
    wait: float


def draw(seed: int) -> Scenario:
    rng = Random(seed)
    parties = NAMES[: rng.randint(3, 5)]
    loses = rng.random() < 0.05
    return Scenario(
        seed,
        parties,
        _links(rng, parties),
        tau=rng.randint(0, 1),
        choices=_choices(rng, parties),
        noise=_noise(rng),
        kills=tuple(_kills(rng, parties)),
        cuts=tuple(_cut(rng, parties) for _ in range(rng.choice((0, 0, 1, 1, 2, 4)))),
        loses_journal=loses,
        wait=5.0 if loses else 20.0,
    )


def _links(rng: Random, parties: tuple[str, ...]) -> tuple[tuple[str, str, str], ...]:
    """A cycle, often with more links, each dialled from either end."""
    m = len(parties)
    pairs = {(parties[i], parties[(i + 1) % m]) for i in range(m)}
    for _ in range(rng.choice((0, 1, m, 2 * m))):
        a, b = rng.sample(parties, 2)
        pairs.add((a, b))
    return tuple((a, b, rng.choice(("push", "push", "pull"))) for a, b in sorted(pairs))


def _choices(rng: Random, parties: tuple[str, ...]) -> dict[str, Any]:
    return {
        "recovery": rng.choice(RECOVERIES),
        "masks": rng.choice(("sent", "seeded")),
        "solver": rng.choice(parties) if rng.random() < 0.3 else None,
    }


def _noise(rng: Random) -> Noise:
    level = rng.choice((0.0, 0.02, 0.1))
    return Noise(level * rng.random(), 3 * level * rng.random(), level * rng.random())


def _kills(rng: Random, parties: tuple[str, ...]) -> list[Kill]:
    lives = dict.fromkeys(parties, 0)
    kills = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        party = rng.choice(parties)
        kills.append(_kill(rng, party, lives[party]))
        lives[party] += 1
    return kills


def _kill(rng: Random, party: str, life: int) -> Kill:
    when = rng.choice(("commit", "commit", "write", "phase", "answer", "time"))
    return Kill(
        party,
        life,
        when,
        count=rng.randint(1, 30),
        before=rng.random() < 0.5,
        phase=rng.choice(PHASES),
        seconds=rng.uniform(0, 1.0 if when == "time" else 0.03),
        pause=rng.choice((0.0, rng.uniform(0, 0.5))),
    )


def _cut(rng: Random, parties: tuple[str, ...]) -> Cut:
    return Cut(
        rng.choice(parties),
        rng.choice(PHASES),
        rng.uniform(0, 0.1),
        rng.choice((0.0, rng.random())),
    )
