"""Attack 8: the hospital itself as a category in the formula.

Its indicator columns tell every hospital's rows, and with them Σx and Σy of each, by `submodel`,
while the output says that nothing else was learned.

Invariant: once the counts are known, all refuse a cell that fewer than τ + 2 parties have rows in.
And where a study agrees on fewer parties, a party that has rows in a cell where others have fewer
than k refuses, and its owner is told the ways out. So it is with categories that all but name one.
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


def check_refused(ended: Ended, cell: str, parties: int) -> None:
    """By all alike, in words: what is known of a cell is how many rows and parties it has."""
    assert ended.opened == ("counts",)
    assert ended.refused is not None
    assert not ended.owners
    assert (ended.refused.rule, ended.refused.cell) == ("cell_parties", cell)
    several = "1 party" if parties == 1 else f"{parties} parties"
    assert ended.refused.message == (
        f"{cell} holds in the rows of {several} only, "
        "where at least 3 are needed to hide each other"
    )
    assert "centre the column within each party" in ended.refused.hint
    assert "min_cell_parties" in ended.refused.hint


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
    check_refused(
        ask(data, known("hospital", list(NAMES)), formula), f"hospital = {next(iter(NAMES))}", 1
    )
    ended = ask(data, known("hospital", list(NAMES)), formula, min_cell_parties=1)
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
    asked = known("ward", ["general", "buda"]), "thalach ~ C(ward) + age"
    check_refused(ask(data, *asked), "ward = buda", 2)
    check_vetoed(ask(data, *asked, min_cell_parties=1), {"Budapest"})


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
    check_vetoed(ask(data, columns, formula, min_cell_parties=1), set(data))
    asked = columns, "thalach ~ C(region) + age"
    check_refused(ask(data, *asked), "region = europe", 2)
    agreed = ask(data, *asked, min_cell_parties=2)
    assert agreed.refused is None, "that two share a region is agreed in so many words"


def test_of_two_that_share_a_cell_each_would_see_the_other_s() -> None:
    """What the rule is for: Σ thalach of Zurich's patients, from an answer and Budapest's own."""
    data = patients()
    for party, rows in data.items():
        europe = party in ("Budapest", "Zurich-Basel")
        rows["region"] = ["europe" if europe else "america"] * len(rows["age"])
    columns = known("region", ["europe", "america"])
    both = ask(data, columns, "thalach ~ 0 + C(region)", min_cell_parties=2).fit()
    own, other = data["Budapest"]["thalach"], data["Zurich-Basel"]["thalach"]
    total = both.params["C(region)[europe]"] * (len(own) + len(other))
    assert total - sum(own) == pytest.approx(sum(other))


def test_of_a_product_every_cell_counts() -> None:
    """Men and women are everywhere; women with a helicopter only in two hospitals."""
    data = patients()
    for party, rows in data.items():
        flown = [int(at % 4 == 0) for at in range(len(rows["age"]))]
        if party not in ("Budapest", "Cleveland-Clinic"):
            flown = [x * int(sex) for x, sex in zip(flown, rows["sex"], strict=True)]
        rows["helicopter"] = flown
    columns = Dictionary.of({**HEART, "helicopter": Flag()})
    refused = ask(data, columns, "thalach ~ sex * helicopter").refused
    assert refused is not None
    assert (refused.rule, refused.cell) == ("cell_parties", "sex = 0, helicopter = 1")
    assert ask(data, columns, "thalach ~ sex + helicopter").refused is None, "not summed over"


def test_a_flag_that_is_a_hospital_s() -> None:
    data = patients()
    for party, rows in data.items():
        rows["helicopter"] = [int(party == "Budapest")] * len(rows["age"])
    columns = Dictionary.of({**HEART, "helicopter": Flag()})
    for formula in ("thalach ~ age + helicopter", "helicopter ~ age"):
        check_refused(ask(data, columns, formula), "helicopter = 1", 1)
        check_vetoed(ask(data, columns, formula, min_cell_parties=1), {"Budapest"})
