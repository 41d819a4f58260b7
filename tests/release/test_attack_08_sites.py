"""Attack 8: the hospital itself as a category in the formula.

Its indicator columns tell every hospital's rows, and with them Σx and Σy of each, by `submodel`,
while the output says that nothing else was learned.

Invariant: a party that has rows in a cell where others have fewer than k refuses once the counts
are known, and its owner is told the ways out. So it is with categories that all but name a party.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titan
from tests.release.asking import Ended, ask
from tests.release.shipped import HEART, hospitals
from titan.release import Dictionary
from titan.release.dictionary import Category, Flag, Number
from titan_lab import datasets

NAMES = {name: name.replace(" ", "-") for name in hospitals()}


def patients() -> dict[str, dict[str, list[Any]]]:
    """The shipped rows with a column of the hospital's name, by party."""
    header, *lines = [
        line.split(",") for line in datasets.path("heart_disease").read_text().splitlines()
    ]
    found: dict[str, dict[str, list[Any]]] = {}
    for name, party in NAMES.items():
        own = zip(*(line for line in lines if line[0] == name), strict=True)
        rows = dict(zip(header, map(list, own), strict=True))
        numbers = {key: [float(x) for x in rows[key]] for key in header[1:]}
        found[party] = {"hospital": rows["hospital"], **numbers}
    return found


def known(column: str, levels: list[str]) -> Dictionary:
    return Dictionary.of({**HEART, column: Category(tuple(levels))})


def check_vetoed(ended: Ended, owners: set[str]) -> None:
    assert ended.vetoed
    assert ended.opened == ("counts",), "of a party at most how many rows it has in a cell"
    assert set(ended.owners) == owners
    assert {refusal.rule for refusal in ended.owners.values()} == {"cells"}
    assert ended.refused is not None
    assert ended.refused.refused() == {"rule": "veto", "question": None, "cell": None}
    assert not any(party in str(ended.refused) for party in NAMES.values())


@pytest.mark.parametrize("formula", ["thalach ~ C(hospital) + age", "thalach ~ age:C(hospital)"])
def test_the_hospital_itself(formula: str) -> None:
    data = patients()
    everything = titan.fit(
        data,
        titan.Network.complete(list(data)),
        formula=f"thalach ~ 0 + C(hospital, levels={list(NAMES)})",
        allow_small=True,
        tau=1,
    )
    for name, party in NAMES.items():
        mean = np.mean(data[party]["thalach"])
        assert everything.params[f"C(hospital)[{name}]"] == pytest.approx(mean), "each one's mean"
    ended = ask(data, known("hospital", list(NAMES)), formula)
    check_vetoed(ended, set(data))
    for name, party in NAMES.items():
        own = ended.owners[party]
        assert own.message.startswith(f"hospital = {name} holds for 0 rows of the other parties")
        assert "centre the column within each party" in own.hint
        assert "agree on a study that asks for fewer" in own.hint


def test_centred_within_parties_it_is_answered() -> None:
    """The first way out: the same slope of age, and nobody's mean.

    On the grid of the numbers as they were. On a finer one each party's would be off by a digit of
    its own mean, and refused for that (attack 2).
    """
    data = patients()
    fixed = titan.fit(
        data,
        titan.Network.complete(list(data)),
        formula=f"thalach ~ age + C(hospital, levels={list(NAMES)})",
        tau=1,
        allow_small=True,
    )
    for rows in data.values():
        for column in ("age", "thalach"):
            mean = np.mean(rows[column])
            rows[column] = [round(x - mean, 1) for x in rows[column]]

    def asked(step: str) -> Ended:
        number = Number.read("-150", "150", step)
        return ask(data, Dictionary.of({"age": number, "thalach": number}), "thalach ~ age")

    finer, ended = asked("0.1").refused, asked("1")
    assert finer is not None
    assert finer.rule == "digits"
    assert ended.refused is None
    assert ended.fit().params["age"] == pytest.approx(fixed.params["age"], rel=0.01)


def test_agreed_in_so_many_words_it_is_answered() -> None:
    """The second: everybody sees `min_cell` below the default before it joins."""
    columns = known("hospital", list(NAMES))
    ended = ask(patients(), columns, "thalach ~ C(hospital) + age", min_cell=0)
    assert ended.refused is None
    assert ended.study.release.rows_per_cell == 0


@pytest.mark.parametrize("size", [1, 2])
def test_a_category_that_all_but_names_it(size: int) -> None:
    """One ward of one hospital has as many patients of others as do not hide it."""
    data = patients()
    for rows in data.values():
        rows["ward"] = ["general"] * len(rows["age"])
    data["Budapest"]["ward"] = ["buda"] * len(data["Budapest"]["age"])
    data["Zurich-Basel"]["ward"][:size] = ["buda"] * size
    ended = ask(data, known("ward", ["general", "buda"]), "thalach ~ C(ward) + age")
    check_vetoed(ended, {"Budapest"})


@pytest.mark.parametrize("formula", ["thalach ~ C(site) * sex", "thalach ~ C(site) + C(region)"])
def test_nested_in_a_region_that_two_share(formula: str) -> None:
    data = patients()
    regions = {"Budapest": "europe", "Zurich-Basel": "europe"}
    for party, rows in data.items():
        region = regions.get(party, "america")
        rows["region"] = [region] * len(rows["age"])
        rows["site"] = [f"{region}{1 + (party in ('Budapest', 'VA-Long-Beach'))}"] * len(
            rows["age"]
        )
    levels = [f"{region}{n}" for region in ("europe", "america") for n in (1, 2)]
    columns = Dictionary.of({**known("site", levels), "region": Category(("europe", "america"))})
    check_vetoed(ask(data, columns, formula), set(data))
    assert ask(data, columns, "thalach ~ C(region) + age").refused is None, "shared by two each"


def test_a_flag_that_is_a_hospital_s() -> None:
    data = patients()
    for party, rows in data.items():
        rows["helicopter"] = [int(party == "Budapest")] * len(rows["age"])
    columns = Dictionary.of({**HEART, "helicopter": Flag()})
    check_vetoed(ask(data, columns, "thalach ~ age + helicopter"), {"Budapest"})
    check_vetoed(ask(data, columns, "helicopter ~ age"), {"Budapest"})
