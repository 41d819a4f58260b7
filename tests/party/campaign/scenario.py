"""What one run is to be, and what is to go wrong in it: all drawn from its seed."""

# Rule: a scenario says what happens, not whether this machine can do it. Where it cannot (no root,
#       no loop devices), something weaker happens instead, and the report says so.

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.party.campaign.faults import (
    PHASES,
    Clock,
    Cut,
    Distance,
    Kill,
    Noise,
    Stop,
    Strangers,
)  # fmt: skip

NAMES = ("north", "east", "south", "west", "centre", *(f"p{at}" for at in range(6, 21)))
RECOVERIES = ("tree", "flood", "topk", "auto")
QUESTIONS = (
    "regression", "HC0", "cluster", "weights", "category", "ridge", "solve", "average", "describe"
)  # fmt: skip
STEPPED = "glm", "survival", "cox"
"""Asked in a quarter of the runs of three parties or more, in place of what was drawn first."""
CLUSTERS = 4
"""Parties from which on, besides tau, errors by party are offered for two coefficients."""
Given = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    seed: int
    parties: tuple[str, ...]
    links: tuple[tuple[str, str, str], ...]
    tau: int
    choices: dict[str, Any]
    noise: Noise = field(default_factory=Noise)
    kills: tuple[Kill, ...] = ()
    cuts: tuple[Cut, ...] = ()
    loses_journal: bool = False
    """The party that is killed first loses its journal too: no answer may come of that."""
    wait: float = 20.0
    questions: tuple[str, ...] = ("regression",)
    stops: tuple[Stop, ...] = ()
    strangers: tuple[Strangers, ...] = ()
    distance: Distance | None = None
    keepalive: tuple[int, int] | None = None
    """Milliseconds until a silent peer is asked, and until it must have answered."""
    chunk: int | None = None
    """Bytes of a piece of a message."""
    descriptors: dict[str, int] = field(default_factory=dict)
    clock: Clock | None = None
    insiders: dict[str, tuple[float, int]] = field(default_factory=dict)
    """Who says what nobody should: how often, as a chance per chunk, and how much at most."""
    liar: str = ""
    """Who alters one bit of what it passes on."""
    outlier: str = ""
    """Who has a row that stands out: often this party has to refuse."""
    on_disk: str = ""
    """Who has a disk of its own though nothing happens to that: it is searched in the end."""
    loses_key: str = ""
    """Who is killed first finds the key of its journal "gone" or "altered"."""

    @property
    def may_fail(self) -> str:
        """Whose fault it is if there is no answer; empty where there must be one."""
        if self.liar:
            return self.liar
        if self.loses_journal or self.loses_key:
            return self.kills[0].party
        return next((kill.party for kill in self.kills if kill.how == "rollback"), "")


def draw(seed: int) -> Scenario:
    rng = Random(seed)
    parties = NAMES[: _number(rng)]
    more = _MORE[rng.choices(list(_MORE), [share for share, _ in _MORE.values()])[0]][1]
    tau = rng.randint(0, 1) if len(parties) > 2 else 0
    choices: dict[str, Any] = {
        "links": _links(rng, parties),
        "tau": tau,
        "choices": _choices(rng, parties),
        "noise": _noise(rng),
        "kills": tuple(_kills(rng, parties)),
        "cuts": tuple(_cut(rng, parties) for _ in range(rng.choice((0, 0, 1, 1, 2, 4)))),
        "questions": _questions(rng, len(parties) - tau),
        "chunk": rng.choice((None, None, 300, 3000)),
        "keepalive": rng.choice((None, (500, 500))),
    }
    choices |= more(rng, parties, choices)
    choices["questions"] = _with_steps(seed, parties, choices)
    choices["outlier"] = _outlier(seed, parties)
    return Scenario(seed, parties, **choices, on_disk=_on_disk(rng, parties, choices))


# -- what all runs have -----------------------------------------------------------------------


def _number(rng: Random) -> int:
    """Of parties: mostly few, since each is a process."""
    few = rng.random()
    return 2 if few < 0.05 else rng.randint(3, 5) if few < 0.93 else rng.randint(6, 20)


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
        "recovery": rng.choice(RECOVERIES if len(parties) < 9 else ("tree", "flood", "auto")),
        "masks": rng.choice(("sent", "seeded")),
        "solver": rng.choice(parties) if rng.random() < 0.3 else None,
        "relays": rng.choice(("checked", "checked", "trusted")),
    }


def _questions(rng: Random, free: int) -> tuple[str, ...]:
    """Where so many parties are not of a coalition."""
    if rng.random() < 0.3:
        return ("regression",)
    offered = [name for name in QUESTIONS if name != "cluster" or free >= CLUSTERS]
    return tuple(rng.sample(offered, rng.choice((1, 1, 2, 3))))


def _with_steps(seed: int, parties: tuple[str, ...], given: Given) -> tuple[str, ...]:
    """Drawn apart, so that what else happens in a run of this seed stays what it was."""
    rng, asked = Random(f"steps {seed}"), given["questions"]
    if len(parties) < 3 or asked == ("large",) or given.get("liar") or rng.random() > 0.25:
        return tuple(asked)
    return (rng.choice(STEPPED), *asked[1:])


def _outlier(seed: int, parties: tuple[str, ...]) -> str:
    """Drawn apart too."""
    rng = Random(f"row {seed}")
    return rng.choice(parties) if rng.random() < 1 / 25 else ""


def _noise(rng: Random) -> Noise:
    level = rng.choice((0.0, 0.0, 0.02, 0.1))
    return Noise(level * rng.random(), 3 * level * rng.random(), level * rng.random())


def _kills(rng: Random, parties: tuple[str, ...]) -> list[Kill]:
    lives = dict.fromkeys(parties, 0)
    kills = []
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        party = rng.choice(parties)
        kills.append(_kill(rng, party, lives[party]))
        lives[party] += 1
    return kills


def _kill(rng: Random, party: str, life: int, how: str = "") -> Kill:
    when = rng.choice(("commit", "commit", "write", "phase", "answer", "time"))
    return Kill(
        party,
        life,
        when,
        count=rng.randint(1, 15 if how else 30),
        before=rng.random() < 0.5,
        phase=rng.choice(PHASES),
        seconds=rng.uniform(0, 1.0 if when == "time" else 0.03),
        pause=rng.choice((0.0, rng.uniform(0, 0.5))),
        how=how or rng.choice(("KILL", "KILL", "KILL", "TERM", "TERM", "HUP", "INT")),
    )


def _cut(rng: Random, parties: tuple[str, ...]) -> Cut:
    return Cut(
        rng.choice(parties),
        rng.choice(PHASES),
        rng.uniform(0, 0.1),
        rng.choice((0.0, rng.random())),
    )


def _on_disk(rng: Random, parties: tuple[str, ...], given: Given) -> str:
    """Nobody whose journal the campaign itself removes: it erases nothing as it does."""
    party, chosen = rng.choice(parties), rng.random() < 1 / 8
    lost = bool({"loses_journal", "loses_key"} & given.keys())
    removed = lost or any(k.how == "rollback" for k in given["kills"])
    return party if chosen and not removed else ""


# -- and what some have besides ---------------------------------------------------------------


def _nothing(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
    return {}


def _stopped(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
    """Longer than the keepalive, which is the usual one now and then."""
    usual = rng.random() < 0.02
    lasting = 27.0 if usual else rng.uniform(1.1, 2.0)
    stop = Stop(rng.choice(parties), rng.choice(PHASES[:4]), lasting)
    return {"stops": (stop,), "keepalive": None if usual else (500, 500), "wait": 60.0}


def _on_disks(how: str) -> Any:
    def drawn(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
        party = rng.choice(parties)
        number = 1 if how == "rollback" else rng.choice((1, 1, 2))
        kills = tuple(_kill(rng, party, life, how) for life in range(number))
        if how == "rollback":
            kills = (_put_back(kills[0]),)
        others = () if how == "rollback" else given["kills"]
        kills += tuple(kill for kill in others if kill.party != party)
        return {"kills": kills, "wait": 5.0 if how == "rollback" else 20.0}

    return drawn


def _put_back(kill: Kill) -> Kill:
    """Drawn apart; in a third of the runs before any mask, in a third when the sums are over."""
    rng = Random(f"back {kill.seconds}")
    early = replace(kill, when="phase", phase=rng.choice(("connecting", "masks")), seconds=0.0)
    late = replace(kill, when=rng.choice(("phase", "answer")), phase="agreement", seconds=0.0)
    found = rng.choice((early, kill, late))
    pause = rng.choice((0.0, 0.1, 0.5)) * rng.random()
    return replace(found, pause=pause, till_answer=rng.random() < 0.3)


def _distant(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
    """Cuts of which nobody is told, longer than the keepalive, in one direction or in both."""
    cuts = [
        Cut(
            rng.choice(parties),
            rng.choice(PHASES[:4]),
            0.0,
            rng.uniform(2.1, 3.0),
            rng.choice(("both", "to", "from")),
        )
        for _ in range(rng.choice((0, 1, 1)))
    ]
    delay, loss = rng.choice((0.0, 0.001, 0.02, 0.1)), rng.choice((0.0, 0.01, 0.05))
    there = {"distance": Distance(delay, loss), "keepalive": (1000, 1000), "noise": Noise()}
    return there | {"cuts": tuple(cuts), "wait": 60.0}


def _crowded(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
    """Strangers at one who listens; sometimes more than there are descriptors for."""
    kinds = (rng.choice((0, 20, 100)), rng.choice((0, 10)), rng.choice((0, 10)))
    party = rng.choice(parties)
    listen = {b if how == "push" else a for a, b, how in given["links"]}
    found = Strangers(party if party in listen else min(listen), *kinds)
    most = (80 if len(parties) < 6 else 160) * rng.choice((1, 2))
    if any(kinds) and rng.random() < 0.5:
        return {"strangers": (found,)}
    return {"strangers": (replace(found, idle=2 * most),), "descriptors": {found.party: most}}


def _insider(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
    chance, most = rng.choice(((0.05, 5), (0.5, 10), (1.0, 300)))
    return {"insiders": {rng.choice(parties): (chance, most)}, "wait": 60.0}


def _lies(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
    """Nothing else happens: all must find out, and name who it was."""
    choices = given["choices"] | {"recovery": rng.choice(RECOVERIES[:3]), "relays": "checked"}
    calm: Given = {"kills": (), "cuts": (), "noise": Noise()}
    if choices["recovery"] == "flood" and len(parties) == 2:
        choices["recovery"] = "tree"  # as nobody passes anything on
    elif choices["recovery"] == "flood":  # on a cycle, everybody does
        cycle = {*zip(parties, parties[1:] + parties[:1], strict=True)}
        calm["links"] = tuple(link for link in given["links"] if link[:2] in cycle)
    return calm | {"liar": rng.choice(parties), "choices": choices, "wait": 60.0}


def _clocks(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
    days, commits, far = rng.uniform(-300, 300), rng.randint(1, 30), rng.choice((0, 1, 2))
    apart, party = Random(f"clock {days}"), rng.choice(parties)
    jump = (-10_000.0, 1.0, 40_000.0)[far]
    commits = 1 + commits % 12 if jump != 1.0 else commits
    return {
        "clock": Clock(
            party, days, commits, jump, apart.uniform(0.2, 1.5), far != 1 and apart.random() < 0.3
        )
    }


def _mixed(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
    party = rng.choice(parties)
    first = Kill(party, 0, "time", seconds=rng.uniform(0.5, 1.5), how="version")
    return {"kills": (first, *(kill for kill in given["kills"] if kill.party != party))}


def _loses(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
    kills = given["kills"] or (_kill(rng, rng.choice(parties), 0),)
    lost = Random(f"lost {kills[0].seconds}").choice(("journal", "journal", "gone", "altered"))
    if lost == "journal":
        return {"loses_journal": True, "kills": kills, "wait": 5.0}
    return {"loses_key": lost, "kills": kills, "wait": 5.0}


def _large(rng: Random, parties: tuple[str, ...], given: Given) -> Given:
    """Messages of more than one chunk as they are, without making chunks smaller."""
    choices = given["choices"] | {"bits": 4096, "recovery": rng.choice(("tree", "flood"))}
    return {"questions": ("large",), "choices": choices, "chunk": None}


_MORE = {
    "nothing": (20, _nothing),
    "stopped": (10, _stopped),
    "power": (14, _on_disks("power")),
    "full": (12, _on_disks("full")),
    "rollback": (6, _on_disks("rollback")),
    "distant": (8, _distant),
    "crowded": (8, _crowded),
    "insider": (8, _insider),
    "lies": (6, _lies),
    "clocks": (4, _clocks),
    "mixed": (4, _mixed),
    "loses": (3, _loses),
    "large": (2, _large),
}
"""How often, in a hundred runs or so, and how it is drawn."""
