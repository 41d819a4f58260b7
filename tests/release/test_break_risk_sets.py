"""Invariant: what the steps of Cox's model open is not made of so few risk sets that whoever knows
its own rows can work out the others'.

Each attack here is north's, alone: it takes its own part from every total, and looks for what the
other parties can be. Nothing is lowered in any of these studies.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from titan.generalised.steps import Opened
from titan.joint.kinds import Question
from titan.moments import open_source
from titan.release import Column, Dictionary, Flag, Number, Time

from .asking import Ended, ask, asked_of, study_of
from .hazards_opened import cox, drawn, known
from .steps_opened import steps_opened

Rows = dict[str, dict[str, list[int]]]
Floats = npt.NDArray[np.float64]
MONTHS, DIED = Time.read("0", "60", "1", "months"), Flag()


def ask_cox(rows: Rows, smoker: Column, **options: str) -> tuple[Ended, list[Opened]]:
    said = {"formula": "smoker", "time": "months", "event": "died", **options}
    columns = Dictionary.of({"months": MONTHS, "died": DIED, "smoker": smoker})
    study = study_of(rows, columns, Question("cox", "hr", tuple(said.items())))
    with steps_opened() as steps:
        ended = asked_of(study, study.meeting, rows)
    return ended, steps


def as_told(steps: Sequence[Opened]) -> tuple[Floats, Floats]:
    """H and the score of each, then the likelihood at 0; and how far rounding may take them."""
    last, parties = steps[-1], steps[-1].problem.parties
    told = [float(x) for step in steps for x in step.values[:2]] + [float(last.values[3])]
    units = [u for step in steps for u in step.point.units(step.problem)[:2]]
    near = 2.0 ** np.array([*units, last.point.units(last.problem)[3]])
    return np.array(told), near * (parties / 2 + 0.1)


Term = tuple[float, float, float]
"""Of one term: Σ 1, Σ x and x of who has the event, over a flag x and those at risk."""


def of_terms(terms: Sequence[Term], steps: Sequence[Opened]) -> Floats:
    """What they add to what is told."""
    scale = steps[0].problem.combination(0)[0]
    found = []
    for step in steps:
        odds = math.exp(float(step.beta[0] * scale))
        p = [ones * odds / (rows - ones + ones * odds) for rows, ones, _ in terms]
        found.append(float(scale) ** 2 * sum(q * (1 - q) for q in p))
        found.append(float(scale) * sum(x - q for q, (_, _, x) in zip(p, terms, strict=True)))
    return np.array([*found, -sum(math.log(rows) for rows, _, _ in terms)])


# -- an interval that is the whole range ----------------------------------------------------------

Own = tuple[int, int, int, int]
"""Of one party: rows, events, smokers, smokers with the event."""


def own_counts(own: dict[str, list[int]]) -> Own:
    both = [s * d for s, d in zip(own["smoker"], own["died"], strict=True)]
    return len(both), sum(own["died"]), sum(own["smoker"]), sum(both)


def in_one_interval(own: Own) -> list[Term]:
    """Efron's terms, of which term l leaves l/m out of all m with the event."""
    rows, events, smokers, both = own
    share = both / max(events, 1)
    return [(rows - at, smokers - at * share, share) for at in range(events)]


def between_two(rest: Own, null: float, near: float) -> Iterator[tuple[Own, Own]]:
    """All ways to divide what is left, the smaller party first, with that likelihood at 0."""
    logs = np.cumsum([0.0, *np.log(np.arange(1, rest[0] + 1))])
    for rows, events in product(range(10, rest[0] // 2 + 1), range(1, rest[1])):
        sizes = (rows, events), (rest[0] - rows, rest[1] - events)
        if not all(0 < m <= n for n, m in sizes):
            continue
        if abs(null + sum(logs[n] - logs[n - m] for n, m in sizes)) > near:
            continue
        for smokers, both in product(range(rows + 1), range(events + 1)):
            pair = (*sizes[0], smokers, both), (*sizes[1], rest[2] - smokers, rest[3] - both)
            if all(0 <= e <= s and 0 <= m - e <= n - s for n, m, s, e in pair):
                yield pair


def smokers_of(sizes: dict[str, tuple[int, float]]) -> Rows:
    """Parties with so many rows, and that share of smokers, who have the event sooner."""
    rng = random.Random(1)
    rows: Rows = {}
    for name, (count, share) in sizes.items():
        own: dict[str, list[int]] = {"months": [], "died": [], "smoker": []}
        for _ in range(count):
            smoker = int(rng.random() < share)
            event = 1 + int(rng.expovariate(math.exp(0.8 * smoker) / 40))
            left = rng.randrange(3, 61)
            cells = min(event, left), int(event <= left), smoker
            for column, cell in zip(own.values(), cells, strict=True):
                column.append(cell)
        rows[name] = own
    return rows


def own_part(computation: Any, own: dict[str, list[int]], steps: Sequence[Opened]) -> Floats:
    """What a party knows that it added to what is told."""
    part = computation.prepare(open_source(own))
    sums = [computation.totals(part, step.problem, step.point.at).sums for step in steps]
    return np.array([x / 2.0**140 for each in sums for x in each[:2]] + [sums[-1][3] / 2.0**140])


def counts_found(rows: Rows, ended: Ended, steps: Sequence[Opened]) -> list[tuple[Own, Own]]:
    """All that the own counts of two others can be, whose events come at one time."""
    used = steps[1], steps[-1]
    told, near = as_told(used)
    told -= own_part(ended.study.meeting.computation("hr"), rows["north"], used)
    others = [own_counts(own) for name, own in rows.items() if name != "north"]
    n, m, s, e = (sum(each) for each in zip(*others, strict=True))  # as counted, less its own
    return [
        pair
        for pair in between_two((n, m, s, e), told[-1], near[-1])
        if (abs(sum(of_terms(in_one_interval(own), used) for own in pair) - told) <= near).all()
    ]


def test_a_grid_of_one_interval_tells_no_partys_own_counts() -> None:
    rows = smokers_of({"north": (60, 0.4), "east": (47, 0.3), "south": (71, 0.55)})
    ended, steps = ask_cox(rows, Flag(), grid="60")
    if ended.refused is None:
        secret = own_counts(rows["east"]), own_counts(rows["south"])
        assert counts_found(rows, ended, steps) != [secret], "rows, events, smokers, and both"


def test_a_large_party_does_not_find_the_own_counts_of_small_ones() -> None:
    """They see patients after a year, and note the event then; north does so every month."""
    rows = smokers_of({"north": (600, 0.4), "east": (47, 0.3), "south": (71, 0.55)})
    rng = random.Random(2)
    for name in ("east", "south"):
        own = rows[name]
        own["months"] = [12 if died else rng.randrange(12, 61) for died in own["died"]]
    ended, steps = ask_cox(rows, Flag())
    if ended.refused is None:
        secret = own_counts(rows["east"]), own_counts(rows["south"])
        assert counts_found(rows, ended, steps) != [secret], "rows, events, smokers, and both"


def test_nor_does_it_find_their_numbers() -> None:
    """Of others who have all events at one time a party sees one risk set each, whatever the study
    asks of: it alone knows how few rows that are."""
    rows = drawn(1, (300, 47, 71), 31)
    assert ask(rows, known(31), cox("x", 1)).refused is None
    for name in ("east", "south"):
        own = rows[name]
        own["months"] = [12 if died else 60 for died in own["died"]]
    ended = ask(rows, known(31), cox("x", 1))
    assert ended.vetoed
    assert ended.owners["north"].rule == "bits"
    assert "times that are nearer to when events happened" in ended.owners["north"].hint
    assert ended.opened == ("counts", "regressors")


def test_events_at_a_few_times_are_still_found_to_be_few() -> None:
    """Once a year: not one time, but far fewer than north has."""
    rows = smokers_of({"north": (600, 0.4), "east": (47, 0.3), "south": (71, 0.55)})
    assert ask_cox(rows, Flag())[0].refused is None
    for name in ("east", "south"):
        rows[name]["months"] = [-(-months // 12) * 12 for months in rows[name]["months"]]
    ended, steps = ask_cox(rows, Flag())
    assert (ended.vetoed, steps) == (True, [])


# -- few events -----------------------------------------------------------------------------------


def at_events(own: dict[str, list[int]]) -> list[Term]:
    """At every event: how many are at risk, how many of them smoke, and whether who has it does."""
    found = []
    for at, died in enumerate(own["died"]):
        if died:
            there = [s for s, m in zip(own["smoker"], own["months"], strict=True)
                     if m >= own["months"][at]]  # fmt: skip
            found.append((len(there), sum(there), own["smoker"][at]))
    return [tuple(map(float, term)) for term in sorted(found, reverse=True)]  # type: ignore[misc]


def two_events(most: int) -> Iterator[list[Term]]:
    """All that a party with one event of a smoker, and one of another, can have at risk."""
    for n, later in product(range(4, most + 1), range(3, most)):
        for s, t, first in product(range(n + 1), range(later + 1), (0, 1)):
            last = 1 - first
            had = first <= s < n + first and last <= t < later + last
            if had and 0 <= (s - first) - t <= n - later - 1:
                yield [(n, s, first), (later, t, last)]


def test_risk_sets_of_few_events_are_not_found() -> None:
    rng = random.Random(20)
    rows: Rows = {}
    for name in ("north", "east", "south", "west"):
        months = rng.sample(range(5, 60), 13)
        smoker = [int(rng.random() < 0.5) for _ in months]
        early = sorted(range(13), key=months.__getitem__)[:-2]
        events = [rng.choice([i for i in early if smoker[i] == kind]) for kind in (0, 1)]
        died = [int(i in events) for i in range(13)]
        rows[name] = {"months": months, "died": died, "smoker": smoker}
    ended, steps = ask_cox(rows, Flag())
    if ended.refused is not None:
        return
    used = [steps[1], steps[2], steps[-1]]
    north, *others = map(at_events, rows.values())
    told, near = as_told(used)
    told -= of_terms(north, used)
    every = list(two_events(13))
    parts = np.array([of_terms(each, used) for each in every])
    one, other = np.triu_indices(len(parts))
    key = parts[one, 5] + parts[other, 5]
    order = np.argsort(key)
    key, one, other = key[order], one[order], other[order]
    found = set()
    for at, part in enumerate(parts):
        left = told - part
        low, high = np.searchsorted(key, [left[5] - near[5], left[5] + near[5]])
        pairs = parts[one[low:high]] + parts[other[low:high]]
        for hit in low + np.flatnonzero((abs(pairs - left) <= near).all(axis=1)):
            three = every[at] + every[one[hit]] + every[other[hit]]
            found.add(tuple(sorted((n, s) for n, s, _ in three)))
    secret = tuple(sorted((n, s) for party in others for n, s, _ in party))
    assert found != {secret}, "how many are at risk at each event, and how many of them smoke"


# -- parties that add nothing -------------------------------------------------------------------


def test_a_party_whose_risk_sets_do_not_vary_does_not_hide_the_others() -> None:
    """Cigarettes a day: the smokers of south leave early, without the event."""
    rng = random.Random(1)
    rows: Rows = {}
    for name in ("north", "east", "south"):
        own: dict[str, list[int]] = {"months": [], "died": [], "smoker": []}
        for at in range(60):
            cells = rng.randrange(1, 50), rng.randrange(2), rng.randrange(40)
            if name == "south" and at % 3 == 0:
                cells = rng.randrange(1, 20), 0, rng.randrange(1, 40)
            elif name == "south":
                cells = rng.randrange(25, 60), rng.randrange(2), 0
            for column, cell in zip(own.values(), cells, strict=True):
                column.append(cell)
        rows[name] = own
    ended, steps = ask_cox(rows, Number.read("0", "60", "1"))
    if ended.refused is not None:
        return
    computation: Any = ended.study.meeting.computation("hr")
    north, east = (computation.prepare(open_source(rows[name])) for name in ("north", "east"))
    for step in steps[1:]:
        units = step.point.units(step.problem)
        totals = [computation.totals(part, step.problem, step.point.at) for part in (north, east)]
        for place in (0, 1):  # the Hessian, and the score
            mine, its = (each.sums[place] for each in totals)
            seen = float(step.values[place]) - mine / 2.0**140
            assert seen != pytest.approx(its / 2.0**140, abs=2.0 ** units[place] * 2)


def test_of_flags_this_is_seen_in_the_counts() -> None:
    """With a flag, events of smokers must be in three parties, and so must those of others: then
    both are at risk at the first of them."""
    counts = Counter[bool]()
    for seed in range(4):
        rng = random.Random(seed)
        rows: Rows = {
            name: {
                "months": [rng.randrange(1, 60) for _ in range(60)],
                "died": [rng.randrange(2) for _ in range(60)],
                "smoker": [rng.randrange(2) for _ in range(60)],
            }
            for name in ("north", "east", "south")
        }
        early, south = seed % 2 == 0, rows["south"]
        if early:  # nobody who smokes is there when somebody dies
            smokers = south["smoker"]
            pairs = zip(south["months"], smokers, strict=True)
            south["months"] = [m // 3 + 1 if s else 20 + m // 2 for m, s in pairs]
            south["died"] = [d * (1 - s) for d, s in zip(south["died"], smokers, strict=True)]
        ended, _ = ask_cox(rows, Flag())
        counts[(ended.refused is not None) == early] += 1
    assert counts == {True: 4}


def test_of_four_parties_two_may_have_all_that_is_at_risk_together() -> None:
    """Events of smokers, and of others, are in three parties each. But only in north and east is
    anybody of the other kind there at an event: south and west add nothing."""
    rng = random.Random(5)
    rows: Rows = {}
    for name in ("north", "east", "south", "west"):
        own: dict[str, list[int]] = {"months": [], "died": [], "smoker": []}
        for _ in range(80):
            cells = rng.randrange(1, 60), rng.randrange(2), rng.randrange(2)
            if name in ("south", "west"):
                months, died, smoker = cells
                there = smoker == (name == "south")
                cells = (30 + months // 2, died, smoker) if there else (1 + months // 3, 0, smoker)
            for column, cell in zip(own.values(), cells, strict=True):
                column.append(cell)
        rows[name] = own
    ended, steps = ask_cox(rows, Flag())
    assert ended.refused is not None
    assert not ended.vetoed
    assert ended.refused.cell == "that smoker differs among the rows at risk at an event"
    assert "in the rows of 2 parties only" in ended.refused.message
    assert not {*rows} & {*str(ended.refused).split()}, "nobody is told who"
    assert (ended.opened, steps) == (("counts",), [])


def test_two_columns_must_differ_together_in_as_many_parties() -> None:
    """What a party adds for two columns is 0 if either is the same: of these two, north would see
    east's alone."""
    rng = random.Random(6)
    rows: dict[str, dict[str, list[int]]] = {}
    for name in ("north", "east", "south", "west"):
        own: dict[str, list[int]] = {"months": [], "died": [], "x": [], "y": []}
        for _ in range(90):
            early = name in ("south", "west") and rng.random() < 0.5
            months = rng.randrange(1, 15) if early else rng.randrange(20, 60)
            x, y = rng.randrange(20), rng.randrange(20)
            x = x if early or name != "south" else 7
            y = y if early or name != "west" else 7
            cells = months, int(not early and rng.random() < 0.5), x, y
            for column, cell in zip(own.values(), cells, strict=True):
                column.append(cell)
        rows[name] = own
    number = Number.read("0", "19", "1")
    columns = Dictionary.of({"months": MONTHS, "died": DIED, "x": number, "y": number})
    assert ask(rows, columns, cox("x", 1)).refused is None
    assert ask(rows, columns, cox("y", 1)).refused is None
    ended = ask(rows, columns, cox("x + y", 1))
    assert ended.refused is not None
    assert ended.refused.cell == "that x and y differ among the rows at risk at an event"
    assert ended.opened == ("counts",)
