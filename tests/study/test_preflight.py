"""Before anything leaves a machine: is it sound, what will it cost exactly, who learns what?"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from tests.study.parties import EXPIRED, MADE, NOW, identity
from tests.study.studies import NAMES, study
from titan import Network
from titan.errors import InputError, NotPrivateError, NotStronglyConnectedError
from titan.joint.equations import Release
from titan.joint.kinds import Question
from titan.joint.together import together
from titan.moments import open_source
from titan.protocol import MaskMode, RecoveryName, checked
from titan.release import Dictionary, Number
from titan.study import Card, Link, Study
from titan.study.preflight import Report, check


def problems(it: Study) -> list[str]:
    report = check(it, NOW)
    assert report.ok == (not report.problems)
    return [problem.message for problem in report.problems]


def test_a_sound_study() -> None:
    report = check(study(), NOW)
    assert report.ok
    facts = report.facts
    assert facts["strongly_connected"]
    assert facts["tolerates_tau"]
    assert (facts["diameter"], facts["weak_connectivity"], facts["tau"]) == (3, 2, 1)
    assert facts["digest"] == study().digest
    assert (facts["parameters"], facts["rows_needed_total"]) == (3, 40)
    assert facts["rows_needed_level"] == 3
    assert json.loads(json.dumps(report.as_dict()))["ok"] is True


def test_small_counts_are_opened_before_anything_is_refused_and_that_is_said() -> None:
    def said(it: Study) -> bool:
        words = "counts of cells, small ones too, are opened before anything is refused"
        return any(words in warning for warning in check(it, NOW).warnings)

    assert said(study())
    assert not said(study(cells="local"))
    assert not said(study(min_cell=0)), "nothing is refused, as stands first"
    one = Question("average", "", (("columns", ("age",)),))
    assert not said(study(questions=(one,))), "it has no cells"


# -- the prediction ---------------------------------------------------------------------------


@pytest.mark.parametrize("recovery", ["auto", "topk", "flood", "tree"])
@pytest.mark.parametrize("masks", ["sent", "seeded"])
def test_the_predicted_cost_is_what_a_run_costs(recovery: RecoveryName, masks: MaskMode) -> None:
    """To the last byte and round, for every party, with and without bᵀb and cells."""
    rng = np.random.default_rng(1)
    net = Network.design(list(NAMES), 1)
    rows = {n: {c: rng.integers(0, 9, 12).tolist() for c in "yab"} for n in NAMES}
    for n in NAMES:
        rows[n]["s"] = ["f", "m"] * 6
    for formula in ("y ~ a + b", "y ~ a - 1", 'y ~ a + C(s, levels=["f", "m"])'):
        for release in ("inference", "solution"):
            it = study(network=net, formula=formula, ranges=(), recovery=recovery, masks=masks,
                       release=release)  # fmt: skip
            parts = [it.meeting.prepare(open_source(rows[n])) for n in NAMES]
            ran = together(it.meeting, parts, it.settings)
            assert ran.answer[0].error is None
            assert ran.cost == check(it, NOW).cost


@pytest.mark.parametrize(("release", "last"), [("solution", 3), ("inference", 4)])
def test_three_sums(release: Release, last: int) -> None:
    it = study(release=release)
    counts, regressors, response = it.plans
    cells = 1  # of sex, the other follows; of age and y rows off 2, 5 and 10 steps, of y up to 1000
    digits = 3 + 9
    parties = 2  # numbers, for 14 counts of 3 bits
    entries = [1 + cells + digits + parties, 6, last]
    veto = 1
    assert [p.dimension for p in it.plans] == [each + veto for each in entries]
    assert counts.ring.bits < regressors.ring.bits < response.ring.bits < 128
    report = check(it, NOW)
    assert [s["entries"] for s in report.facts["sums"]] == [each + veto for each in entries]
    assert sum(item.numbers for item in report.learned) == sum(entries), "what is sent is said"
    assert report.facts["rounds"] == sum(plan.cost.rounds for plan in it.plans)
    assert report.facts["bytes_sent"]["north"] == (
        sum(plan.cost.bytes_sent["north"] for plan in it.plans)
    )


def test_a_study_refuses_what_pooling_would() -> None:
    with pytest.raises(InputError, match="release is 'all'"):
        study(release="all")
    with pytest.raises(InputError, match="bits is not a number that is allowed"):
        study(bits=7)


def test_with_a_dictionary_rows_come_first_and_the_response_last() -> None:
    described = Dictionary.of({name: Number.read("0", "120", "1") for name in ("y", "age")})
    report = check(study(formula="y ~ age", columns=described), NOW)
    opened = [s["opens"] for s in report.facts["sums"]]
    assert opened[0].startswith("the number of rows; the rows and parties off coarser grids")
    assert opened[1:] == ["AᵀA", "Aᵀb, bᵀb"]
    assert [s["entries"] - 1 for s in report.facts["sums"]] == [1 + 2 * 3 + 1, 3, 3]
    assert sum(item.numbers for item in report.learned) == 1 + 2 * 3 + 1 + 3 + 3
    assert max(s["bits"] for s in report.facts["sums"]) < 64


# -- several questions ------------------------------------------------------------------------


def several() -> Study:
    main = (("cov_type", "HC0"), ("formula", "y ~ age"))
    return study(questions=(
        Question("regression", "main", main),
        Question("ridge", "", (("alphas", ("0.1", "1")), ("formula", "y ~ age + sex"))),
        Question("solve", "system", (("columns", ("a", "b")), ("response", "c"))),
    ))  # fmt: skip


def test_every_question_says_what_its_sums_open() -> None:
    it = several()
    facts = check(it, NOW).facts
    assert [(q["name"], q["kind"]) for q in facts["questions"]] == [
        ("main", "regression"), ("q2", "ridge"), ("system", "solve"),
    ]  # fmt: skip
    main, ridge, system = facts["questions"]
    assert main["asked"] == {"cov_type": "HC0", "formula": "y ~ 1 + age"}
    assert ridge["asked"]["alphas"] == ["0.1", "1"]
    assert system["asked"] == {"columns": ["a", "b"], "response": "c"}
    assert [len(q["sums"]) for q in facts["questions"]] == [4, 3, 3]
    for question in facts["questions"]:
        names = [each["name"] for each in question["sums"]]
        assert names[:3] == ["counts", "regressors", "response"]
    assert system["sums"][0]["opens"] == "the number of rows", "and no cells"
    assert main["sums"][3] == {
        "name": "robust errors", "entries": 3, "bits": 72,
        "opens": "the sum over all rows of e² a aᵀ, e being the residuals, in units in which AᵀA "
        "is the identity, to 24 bits",
    }  # fmt: skip
    assert [q["parameters"] for q in facts["questions"]] == [2, 3, 2]
    assert facts["parameters"] == 3


def test_the_sums_of_all_questions_travel_together() -> None:
    it = several()
    report = check(it, NOW)
    apart = [q["sums"] for q in report.facts["questions"]]
    for at, whole in enumerate(report.facts["sums"]):
        pieces = [sums[at] for sums in apart if at < len(sums)]
        assert whole["entries"] == sum(each["entries"] for each in pieces) + 1, "one veto for all"
        assert whole["bits"] == max(48, *(each["bits"] for each in pieces))
    assert len(report.facts["sums"]) == 4
    told = {(item.question, item.what) for item in report.learned}
    assert {("main", "robust errors"), ("q2", "AᵀA"), ("system", "Aᵀb"), (None, "others")} <= told
    assert ("system", "bᵀb") not in told
    numbers = sum(item.numbers for item in report.learned)
    assert numbers == sum(s["entries"] - 1 for s in report.facts["sums"])
    assert json.dumps(report.as_dict())


def test_it_warns_of_columns_that_nobody_reads() -> None:
    shoe = Dictionary.of({"shoe": Number.read("0", "1"), "age": Number.read("0", "120", "1")})
    assert warned(
        check(study(columns=shoe), NOW), "no question reads what the dictionary describes"
    )
    assert not warned(check(study(), NOW), "no question reads")


# -- problems ---------------------------------------------------------------------------------


def test_a_network_that_is_not_strongly_connected() -> None:
    report = check(study(links=study().links[:-1]), NOW)
    assert not report.ok
    assert isinstance(report.problems[0], NotStronglyConnectedError)
    assert report.cost is None
    assert report.facts["diameter"] is None
    assert report.facts["rounds"] is None
    assert json.dumps(report.as_dict())


def test_a_network_that_one_party_could_cut() -> None:
    pairs = [("north", "east"), ("east", "north"), ("east", "south"), ("south", "west"),
             ("west", "east")]  # fmt: skip
    it = study(links=tuple(Link(a, b) for a, b in pairs))
    report = check(it, NOW)
    (problem,) = report.problems
    assert isinstance(problem, NotPrivateError)
    assert problem.cut == {"east"}
    assert not report.facts["tolerates_tau"]
    assert check(replace(it, tau=0), NOW).ok


def test_nothing_is_promised_where_the_network_does_not_keep_it() -> None:
    unsafe = check(study(tau=2), NOW)
    cut_off = check(study(links=tuple(Link(a, "east") for a in NAMES if a != "east")), NOW)
    assert unsafe.hidden.startswith("this network does not hide the others' rows from 2 curious")
    assert cut_off.hidden.startswith("nothing is promised")
    for report in (unsafe, cut_off):
        assert report.as_dict()["hidden"] == report.hidden
        assert "see the problems" in report.hidden
        assert "learn nothing else" not in report.hidden
    assert "learns nothing else" in check(study(), NOW).hidden


def test_it_says_what_the_study_says_of_rows_and_masks() -> None:
    facts = check(study(weights="w", missing="drop", masks="seeded", bits=192), NOW).facts
    assert (facts["questions"][0]["asked"]["weights"], facts["missing"]) == ("w", "drop")
    assert (facts["masks"], facts["bits"]) == ("seeded", 192)
    assert facts["columns"]["age"] == {"kind": "number", "range": ["0", "120"], "step": "1"}
    assert set(facts["columns"]) == {"age", "w", "y"}


def test_cells_are_counted_where_there_are_some_with_weights_and_without() -> None:
    def needed(**changes: Any) -> object:
        return check(study(ranges=(), **changes), NOW).facts["rows_needed_level"]

    assert needed(min_rows_party=2) == needed(min_rows_party=2, weights="w") == 2
    assert needed(formula="y ~ age") == needed(weights="w") == 3, "coarser grids have cells too"
    solving = Question("solve", "", (("columns", ("a", "b")), ("response", "c")))
    assert needed(questions=(solving,)) is None


def test_a_party_without_links_is_one_problem_of_many() -> None:
    links = tuple(Link(a, b) for a, b in Network.cycle(["north", "east", "south"]).edges)
    found = problems(study(links=links))
    assert any("not strongly connected" in message for message in found)
    assert any("does not tolerate" in message for message in found)


def test_too_many_curious_parties() -> None:
    (found,) = problems(study(tau=3, network=Network.complete(list(NAMES))))
    assert "leaves at most one honest party" in found


def test_certificates_must_be_good_now() -> None:
    old = identity("north", made=EXPIRED, days=1).card
    early = identity("east", made=NOW + timedelta(days=5)).card
    found = problems(study(parties=(old, early, *study().parties[2:])))
    assert found == [
        'the certificate of "north" expired on 2000-01-02',
        'the certificate of "east" is not valid before 2025-06-05',
    ]
    assert check(study(), NOW).ok
    assert not check(study(), MADE - timedelta(days=2)).ok


def test_two_parties_at_one_address_or_with_one_key() -> None:
    north, east, *rest = study().parties
    moved = replace(east, address="NORTH.example.org:7443")
    assert problems(study(parties=(north, moved, *rest))) == [
        '"north" and "east" have the same address'
    ]
    from titan.study import certificates

    again = certificates.issue("east", identity("north")._key, MADE, 36_500)
    twin = Card("east", east.address, certificates.pem_of(again))
    assert problems(study(parties=(north, twin, *rest))) == ['"north" and "east" have the same key']


def test_choices_that_do_not_fit_the_network() -> None:
    (found,) = problems(study(rounds=2))
    assert "below the network's diameter" in found
    (found,) = problems(study(k=5))
    assert "outside 1..4" in found
    (found,) = problems(study(k=1, recovery="tree"))
    assert "no meaning for tree" in found


# -- warnings and words -----------------------------------------------------------------------


def warned(report: Report, words: str) -> bool:
    return any(words in warning for warning in report.warnings)


def test_it_says_whom_a_recovery_trusts() -> None:
    for recovery in ("tree", "topk"):
        report = check(study(recovery=recovery, relays="trusted"), NOW)
        assert warned(report, f"{recovery} trusts relays to compute")
        found = check(study(recovery=recovery), NOW)
        assert warned(found, f"with {recovery}, relays add up for others, and every sum is checked")
        assert not warned(found, "trusts relays")
        assert not warned(report, "flood shows")
    report = check(study(recovery="flood"), NOW)
    assert warned(report, "masked vectors are signed by their origin")
    assert not warned(report, "trusts relays to compute")


def test_it_says_where_vectors_are_too_large_to_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then a falsified sum is found out, and nobody is named."""
    assert not warned(check(study(recovery="tree"), NOW), "nobody is named")
    monkeypatch.setattr(checked, "MOST_OPENED", 1)
    assert warned(check(study(recovery="tree"), NOW), "it is found out, but nobody is named")
    for trusting in (study(recovery="tree", relays="trusted"), study(recovery="flood")):
        assert not warned(check(trusting, NOW), "nobody is named")


def test_it_says_that_two_parties_hide_nothing() -> None:
    report = check(study(names=("north", "east"), tau=0), NOW)
    assert report.ok
    assert warned(report, "two parties hide nothing")
    assert warned(report, "τ = 0")
    assert report.hidden.startswith("nothing")
    assert report.learned[-1].sentence.endswith("over the other party together")
    assert not check(study(names=("north", "east"), tau=1), NOW).ok
    assert not warned(check(study(), NOW), "hide nothing")
    assert not warned(check(study(), NOW), "τ = 0")


def test_it_warns_of_certificates_that_expire_soon() -> None:
    soon = identity("north", days=600).card
    it = study(parties=(soon, *study().parties[1:]))
    assert warned(check(it, soon.not_after - timedelta(days=29)), '"north" expires on 2025-08-23')
    assert not warned(check(it, soon.not_after - timedelta(days=31)), "expires")


def test_it_says_who_solves() -> None:
    assert warned(check(study(solver="west"), NOW), '"west" solves')


def test_it_says_exactly_what_is_learned() -> None:
    items = {item.what: item for item in check(study(), NOW).learned}
    assert {what: item.numbers for what, item in items.items()} == {
        "rows": 1, "cells": 1 + (3 + 9) + 2, "AᵀA": 6, "Aᵀb": 3, "bᵀb": 1, "fits": 0, "others": 0,
    }  # fmt: skip
    assert items["cells"].sentence == (
        "the rows in every cell of sex; how many parties have rows in those of sex; "
        "the rows and parties off coarser grids of age, y; "
        "how many parties have rows with different values of age, y"
    )
    assert "number of rows at that level" in items["AᵀA"].sentence
    assert "means, variances" in items["AᵀA"].sentence
    assert "standard errors" in items["fits"].sentence
    assert "other 3 parties" in items["others"].sentence
    less = {i.what: i for i in check(study(release="solution", formula="y ~ age - 1"), NOW).learned}
    assert "bᵀb" not in less
    assert "standard errors" not in less["fits"].sentence
    assert less["AᵀA"].sentence.endswith("one column")
    weighted = {item.what: item for item in check(study(weights="w"), NOW).learned}
    assert "weighted by w" in weighted["AᵀA"].sentence
    assert "number of rows at" not in weighted["AᵀA"].sentence
    assert "weighted" not in weighted["cells"].sentence, "rows are counted once"


def test_it_says_who_dials_whom() -> None:
    links = [Link(a, b, "pull" if a == "east" else "push") for a, b in study().network.edges]
    parties = {p["name"]: p for p in check(study(links=tuple(links)), NOW).facts["parties"]}
    assert parties["east"]["dials"] == []
    assert parties["east"]["is_dialled_by"] == ["north", "south"]
    assert parties["east"]["sends_to"] == ["south"]
    assert parties["south"]["dials"] == ["east", "west"]
    assert parties["south"]["is_dialled_by"] == []
    assert parties["south"]["receives_from"] == ["east"]
    assert parties["north"]["fingerprint"] == identity("north").card.fingerprint
