"""A study has one form and one digest, and a file that says anything else is refused by its key."""

from __future__ import annotations

import time
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from tests.study.parties import identity
from tests.study.studies import NAMES, regression, study
from titan import Network
from titan.errors import DataError, FileError, InputError
from titan.joint.kinds import Question
from titan.joint.pooled_model import PooledModel
from titan.moments import Model
from titan.release import Category, Column, Dictionary, Flag, Number, Time
from titan.release.policy import Policy, lowered
from titan.study import Link, Study, manifest
from titan.study import fields as toml

# -- what it says -----------------------------------------------------------------------------


def test_a_study_reads_back_as_itself(tmp_path: Path) -> None:
    for it in (study(), full()):
        assert Study.parse(it.to_toml()) == it
        assert Study.parse(it.to_toml()).digest == it.digest
    study().save(tmp_path / "study.toml")
    assert Study.load(tmp_path / "study.toml") == study()
    with pytest.raises(FileError, match="exists already"):
        study().save(tmp_path / "study.toml")
    study(tau=0).save(tmp_path / "study.toml", force=True)
    assert Study.load(tmp_path / "study.toml").tau == 0


def full() -> Study:
    """Nothing left at its default."""
    links = [Link(a, b, "pull" if a == "north" else "push") for a, b in study().network.edges]
    return study(
        links=tuple(links), missing="drop", min_rows_party=5, min_rows_total=50,
        rows_per_parameter=4, bits=192, recovery="topk", masks="seeded", k=2, rounds=7,
        solver="west", columns=COLUMNS, questions=(
            regression(release="solution", weights="w"),
            regression("y ~ sex", cov_type="HC0", name="by sex"),
            Question("ridge", "", (("alphas", ("0.1", "1")), ("formula", "y ~ age"))),
            Question("solve", "", (("columns", ("a", "b")), ("response", "c"))),
        ),
    )  # fmt: skip


COLUMNS = Dictionary.of({
    "w": Number.read("0", "1", "0.01"),
    "y": Number.read("-.5", "1e2", "0.1", "mm"),
    "sex": Category(("f", "m")),
    "died": Flag(),
    "days": Time.read("0", "3650", "1", "days"),
})  # fmt: skip


def test_what_a_study_stands_for() -> None:
    it = full()
    assert it.network == Network.cycle(list(NAMES))
    assert it.network.parties == NAMES, "in the file's order"
    assert models(it)[0] == Model('y ~ age + C(sex, levels=["f", "m"])', weights="w")
    assert models(it)[1].names == ("Intercept", "sex[T.m]", "y")
    assert [question.name for question in it.questions] == ["q1", "by sex", "q3", "q4"]
    assert [name for name, _ in it.meeting.computations] == ["q1", "by sex", "q3", "q4"]
    assert len(it.plans) == len(it.meeting.sums) == 4
    assert (it.setting.parties, it.setting.columns) == (NAMES, it.columns)
    assert (it.setting.bits, it.setting.missing, it.setting.policy) == (192, "drop", it.release)
    assert it.card("south") == identity("south").card
    dials = {(link.sender, link.receiver): link.dialler for link in it.links}
    assert dials["north", "east"] == "east", "pull: the receiver dials"
    assert dials["east", "south"] == "east", "push: the sender dials"
    sums = it.settings
    assert (sums.bits, sums.tau, sums.recovery, sums.k) == (192, 1, "topk", 2)
    assert (sums.rounds, sums.masks) == (7, "seeded")
    with pytest.raises(InputError, match='no party "mallory"'):
        it.card("mallory")


def models(it: Study) -> list[Model]:
    """Those of its questions, which all have one."""
    found = [computation for _, computation in it.meeting.computations]
    return [each.model for each in found if isinstance(each, PooledModel) and each.model]


def test_the_fewest_rows() -> None:
    def needed(**changes: Any) -> int:
        return study(**changes).release.rows_needed(3, 4)

    assert needed() == 40, "ten of each party"
    assert needed(min_rows_total=55) == 55
    assert needed(min_rows_total=1, rows_per_parameter=100) == 300


def test_a_study_states_the_limits_that_its_parties_check() -> None:
    usual = Policy(10, 40, 3, parties_per_cell=3, precision=20)
    assert study().release == usual, "the library's defaults"
    policy = study(min_rows_party=5, min_rows_total=50, rows_per_parameter=20).release
    assert policy == Policy(5, 50, 20, parties_per_cell=3, precision=20)
    with pytest.raises(DataError, match="4 rows, and a party needs at least 5") as caught:
        policy.check_own(4, "north")
    assert "min_rows_party" in caught.value.hint
    assert "allow_small" not in caught.value.hint
    with pytest.raises(DataError, match="59 rows in all for 3 parameters, where at least 60"):
        policy.check_pooled(59, 3, 4)


# -- the digest -------------------------------------------------------------------------------


def test_a_policy_fills_in_what_is_left_open() -> None:
    strict = study(policy="safe-outputs").release
    assert (strict.rows_per_cell, strict.residual_df, strict.rows_per_party) == (10, 10, 10)
    assert lowered(strict) == lowered(study().release) == []
    stricter = study(policy="safe-outputs", min_cell=12, cells="local")
    assert (stricter.release.rows_per_cell, stricter.release.cells) == (12, "local")
    laxer = study(min_rows_party=2, precision="exact").release
    assert laxer.precision is None
    assert [(it["rule"], it["value"], it["default"]) for it in lowered(laxer)] == [
        ("rows_per_party", 2, 10), ("rows_per_cell", 2, 3), ("precision", "exact", 20),
    ]  # fmt: skip
    with pytest.raises(InputError, match="policy is 'lenient'") as caught:
        study(policy="lenient")
    assert caught.value.hint == "one of titan, safe-outputs"
    for wrong in (7, 65, "double", 20.0, True):
        with pytest.raises(InputError, match="precision is"):
            study(precision=wrong)


def test_the_digest_is_known() -> None:
    """A digest of fixed content: if this fails, studies made before have another identity."""
    import hashlib
    import json

    content = {
        "titan-study": 3, "title": "A trial of care", "tau": 1, "missing": "refuse",
        "questions": [{
            "name": "q1", "kind": "regression",
            "asked": {"formula": 'y ~ 1 + age + C(sex, levels=["f", "m"])'},
        }],
        "release": {
            "policy": "titan", "min_rows_party": 10, "min_rows_total": 40, "rows_per_parameter": 3,
            "min_cell": 3, "min_cell_parties": 3, "min_residual_df": 0, "cells": "pooled",
                "precision": 20,
        },
        "bits": 128, "recovery": "auto", "masks": "sent", "relays": "checked",
        "k": None, "rounds": None, "solver": None, "columns": {
            "age": {"kind": "number", "range": ["0", "120"], "step": "1"},
            "y": {"kind": "number", "range": ["-10000", "10000"], "step": "1"},
        },
        "parties": [[n, f"{n}.example.org:7443", identity(n).card.fingerprint] for n in NAMES],
        "links": [["east", "south", "push"], ["north", "east", "push"],
                  ["south", "west", "push"], ["west", "north", "push"]],
    }  # fmt: skip
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert study().digest == hashlib.sha256(text.encode()).hexdigest()


def test_the_digest_does_not_hang_on_how_it_is_written() -> None:
    text = study().to_toml()
    document = tomllib.loads(text)
    backwards = {key: document[key] for key in reversed(document)}
    backwards["links"] = list(reversed(document["links"]))
    for link in backwards["links"]:
        del link["dial"]  # the default
    del backwards["release"]["min_rows_total"], backwards["bits"], backwards["missing"]
    (question,) = backwards["questions"]
    del question["name"]
    question |= {"release": "inference", "cov_type": "nonrobust"}  # the defaults
    question["formula"] = "y~age+  C(sex,levels=['f','m'])"
    backwards["columns"]["age"]["range"] = [0, "1.20e2"]
    others = [
        "# a remark\n" + text.replace(" = ", "  =  "),
        text.replace("\n", "\r\n"),
        text.replace("north.example.org", "NORTH.example.org"),
        tomli_w.dumps(backwards),
    ]
    assert {Study.parse(other).digest for other in others} == {study().digest}


CHANGES: dict[str, Any] = {
    "title": "Another", "tau": 0, "missing": "drop",
    "columns": Dictionary.of({"age": Flag(), "y": Flag()}),
    "questions": (regression("y ~ age"),), "min_rows_party": 11, "min_rows_total": 41,
    "rows_per_parameter": 2, "policy": "safe-outputs", "min_cell": 4, "min_cell_parties": 4,
    "min_residual_df": 5, "cells": "local", "precision": "exact", "bits": 64, "recovery": "flood",
    "masks": "seeded", "relays": "trusted",
    "k": 1, "rounds": 9, "solver": "north", "latency_ms": 20, "bandwidth_mbit": 100,
    "links": (*study().links[:-1], replace(study().links[-1], dial="pull")),
    "parties": (identity("north", again=1).card, *study().parties[1:]),
}  # fmt: skip


@pytest.mark.parametrize("field", [field.name for field in fields(Study)])
def test_the_digest_hangs_on_everything_else(field: str) -> None:
    assert replace(study(), **{field: CHANGES[field]}).digest != study().digest


def test_the_digest_hangs_on_what_is_asked_and_in_which_order() -> None:
    two = (regression("y ~ age"), regression("y ~ 1"))
    asked = [
        (regression(release="solution"),), (regression(weights="w"),), (regression(),),
        (regression(cov_type="HC0"),), (regression(name="main"),), two, tuple(reversed(two)),
    ]  # fmt: skip
    described: list[Column] = [
        Number.read("0", "120", "0.5"),
        Number.read("0", "120", "1", unit="years"),
        Flag(),
    ]
    digests = [study(questions=each).digest for each in asked]
    digests += [study(columns=Dictionary.of({"age": each})).digest for each in described]
    assert len(set(digests)) == len(digests)


def test_the_digest_hangs_on_addresses_and_on_the_order_that_numbers_the_parties() -> None:
    moved = replace(study().parties[0], address="elsewhere:1")
    turned = (*study().parties[1:], study().parties[0])
    digests = {
        study(parties=(moved, *study().parties[1:])).digest,
        study(parties=turned).digest,
        study(links=study().links[:-1]).digest,
        study().digest,
    }
    assert len(digests) == 4


# -- refusals ---------------------------------------------------------------------------------


def edited(**changes: Any) -> str:
    """The file with some keys set; a path such as columns__age goes into a table."""
    document = tomllib.loads(study().to_toml())
    for path, value in changes.items():
        *tables, last = path.split("__")
        key: Any = int(last) if last.isdecimal() else last
        table: Any = document
        for name in tables:
            table = table[int(name) if name.isdecimal() else name]
        if value is None:
            del table[key]
        else:
            table[key] = value
    return tomli_w.dumps(document)


QUESTION = {"kind": "regression", "formula": "y ~ age"}
BAD: dict[str, dict[str, Any]] = {
    "colour is not known here": {"colour": "red"},
    "columns.age.colour is not known here": {"columns__age__colour": 1},
    "questions[1]: a regression question has no option 'colour'":
        {"questions__0__colour": "red"},
    "parties[2].colour is not known here": {"parties__1__colour": 1},
    "links[4].colour is not known here": {"links__3__colour": 1},
    "format is missing": {"format": None},
    "format is not one this program reads": {"format": 1},
    "title is missing": {"title": None},
    "title is not one line of visible text": {"title": "a\x1b[2Jb"},
    "title is not one line": {"title": ""},
    "tau is missing": {"tau": None},
    "tau is text": {"tau": "1"},
    "tau is true or false": {"tau": True},
    "tau is a number, where": {"tau": 1.0},
    "tau is not a number that is allowed": {"tau": -1},
    "bits is not a number that is allowed": {"bits": 10**9},
    "bits is not a number": {"bits": 7},
    "rounds is not a number": {"rounds": 10**9},
    "k is not a number": {"k": 0},
    "min_rows_party is not a number": {"release__min_rows_party": 0},
    "min_rows_total is not a number": {"release__min_rows_total": 0},
    "rows_per_parameter is not a number": {"release__rows_per_parameter": 0},
    "min_cell is not a number": {"release__min_cell": -1},
    "min_residual_df is not a number": {"release__min_residual_df": -1},
    "release.min_cell is text": {"release__min_cell": "3"},
    "release.colour is not known here": {"release__colour": "red"},
    "policy is 'lenient'": {"release__policy": "lenient"},
    "cells is 'none'": {"release__cells": "none"},
    "precision is 'double'": {"release__precision": "double"},
    "recovery is 'magic'": {"recovery": "magic"},
    "masks is 'none'": {"masks": "none"},
    "missing is 'guess'": {"missing": "guess"},
    "solver is 'mallory', who is not a party": {"solver": "mallory"},
    "columns is a list": {"columns": []},
    "columns.age is text": {"columns__age": "number"},
    "columns.age.kind is missing": {"columns__age__kind": None},
    "columns.age.kind is 'colour'": {"columns__age__kind": "colour"},
    "columns.age.range is missing": {"columns__age__range": None},
    "columns.age.range is text": {"columns__age__range": "0 to 120"},
    "columns.age.range is not a list of two ends": {"columns__age__range": ["0"]},
    "columns.age cannot be used: its range has an end": {"columns__age__range": ["0", "x"]},
    "columns.age cannot be used: its range is empty": {"columns__age__range": ["1", "0"]},
    "columns.age cannot be used: its step does not divide": {"columns__age__step": "0.7"},
    "columns.age cannot be used: its step is not a decimal": {"columns__age__step": True},
    "columns.age cannot be used: its step is not above": {"columns__age__step": "-1"},
    "columns.age cannot be used: a time needs a step":
        {"columns__age__kind": "time", "columns__age__step": None},
    "questions[1]: the data dictionary does not say what 'age' is": {"columns__age": None},
    "questions[1]: the data dictionary does not say the step of 'age'":
        {"columns__age__step": None},
    "columns.age cannot be used: its unit is not one line": {"columns__age__unit": "a\nb"},
    "columns.age.unit is a whole number": {"columns__age__unit": 1},
    "columns.age.range is not known here": {"columns__age__kind": "flag"},
    "columns.sex.levels is missing": {"columns__sex": {"kind": "category"}},
    "columns.sex.levels[2] is a whole number":
        {"columns__sex": {"kind": "category", "levels": ["f", 1]}},
    "columns.sex cannot be used: two of its levels are 'f'":
        {"columns__sex": {"kind": "category", "levels": ["f", "m", "f"]}},
    "columns.sex cannot be used: it has 0 levels":
        {"columns__sex": {"kind": "category", "levels": []}},
    "columns: the name ' age' is not one line": {"columns__ age": {"kind": "flag"}},
    "questions is missing": {"questions": None},
    "questions is a table": {"questions": {"kind": "regression"}},
    "questions: there are 0": {"questions": []},
    "questions has 101 items": {"questions": [{"kind": "solve"}] * 101},
    "questions[1].kind is missing": {"questions__0__kind": None},
    "questions[1].kind: there is no question of kind 'guess'": {"questions__0__kind": "guess"},
    "questions[2].kind: there is no question of kind ''": {"questions": [QUESTION, {"kind": ""}]},
    "questions[2].name: another question is called 'main'":
        {"questions": [QUESTION | {"name": "main"}] * 2},
    "questions[2].name: another question is called 'q2'":
        {"questions": [QUESTION | {"name": "q2"}, QUESTION]},
    "questions[1].name is not one line": {"questions__0__name": "a\nb"},
    "questions[1].name is a whole number": {"questions__0__name": 1},
    "questions[1].release is true or false": {"questions__0__release": True},
    "questions[1]: release is 'everything'": {"questions__0__release": "everything"},
    "questions[1]: cov_type is 'cluster'": {"questions__0__cov_type": "cluster"},
    "questions[1]: a regression question does not say its formula":
        {"questions__0__formula": None},
    "questions[1]: 'formula' of a regression question is not one text":
        {"questions__0__formula": ["y ~ a"]},
    "questions[1].weights is not one line": {"questions__0__weights": "w\n"},
    "questions[1].formula: formula, character 1":
        {"questions__0__formula": "__import__('os').system('x') ~ 1"},
    "questions[1].formula: formula, character 10": {"questions__0__formula": "y ~ C(sex)"},
    "questions[1].formula: a formula of": {"questions__0__formula": "y ~ " + "a + " * 60_000 + "b"},
    "questions[1].formula has": {"questions__0__formula": "y" * (1 << 20) + "y"},
    "questions[1].formula: formula, character 38: found ']', before which the levels of 'sex'":
        {"columns__sex": {"kind": "category", "levels": ["f", "m", "d"]}},
    "questions[1].formula: levels of 'sex', which is a flag in the dictionary":
        {"columns__sex": {"kind": "flag"}},
    "questions[2]: 'sex': a category in the dictionary": {
        "columns__sex": {"kind": "category", "levels": ["f", "m"]},
        "questions": [QUESTION, {"kind": "solve", "columns": ["age", "sex"], "response": "y"}],
    },
    "parties is missing": {"parties": None},
    "parties is text": {"parties": "north"},
    "parties: there are 0": {"parties": []},
    "parties[1] is a whole number": {"parties": [1]},
    "parties has 10001 items": {"parties": [1] * 10_001},
    "parties[1].name is a whole number": {"parties__0__name": 1},
    "parties[1].certificate was not made for": {"parties__0__name": "middle"},
    "parties[1].address 'north' cannot be used": {"parties__0__address": "north"},
    "parties[1].certificate is not one certificate": {"parties__0__certificate": "x"},
    "links: there is no party \"mallory\"": {"links__0__from": "mallory"},
    "links: party \"south\" is linked with itself": {"links__0__from": "south"},
    "links: the link": {"links__0": {"from": "north", "to": "east"}},
    "links.dial is 'shout'": {"links__0__dial": "shout"},
}  # fmt: skip


@pytest.mark.parametrize("message", BAD)
def test_a_bad_study_is_refused_by_file_and_key(message: str) -> None:
    with pytest.raises(FileError) as found:
        Study.parse(edited(**BAD[message]), "study.toml")
    assert found.value.message.startswith("study.toml: " + message)


def test_two_parties_of_one_name_are_refused() -> None:
    north = study().parties[0]
    upper = identity("North").card
    for twin in (north, upper):
        with pytest.raises(InputError, match="parties: two have the same name"):
            study(parties=(*study().parties[:3], twin))


def test_sums_are_numbered_in_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(study(questions=(regression(), regression())).plans) == 3, "they travel together"
    monkeypatch.setattr(manifest, "MOST_SUMS", 2)
    with pytest.raises(InputError, match="questions: 3 sums, one after another"):
        study()


# -- hostile text -----------------------------------------------------------------------------

HOSTILE = {
    "deep keys": "a." * 400_000 + "a = 1",
    "deep quoted keys": '"a".' * 200_000 + "a = 1",
    "deep keys after a quote": "x = '\"' \n" + "a." * 400_000 + "a = 1",
    "deep inline": "x = {" + "a." * 400_000 + "a = 1}",
    "deep table": "[" + "a." * 400_000 + "a]",
    "deep lists": "x = " + "[" * 400_000,
    "deep tables": "x = " + "{a = " * 100_000,
    "long number": "x = " + "9" * 400_000,
    "long exponent": "x = 1e" + "9" * 400_000,
    "escaped quotes": 'x = "' + '\\"' * 400_000,
    "quotes": 'x = "' + '"' * 400_000,
    "null": "x = \0",
    "surrogate": 'x = "\\ud800"',
    "nothing": "",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_text_is_refused_soon(what: str) -> None:
    """The parser needs hours for the deep keys; processor time, so that a busy machine is fine."""
    before = time.process_time()
    with pytest.raises(FileError, match=r"study\.toml"):
        Study.parse(HOSTILE[what], "study.toml")
    assert time.process_time() - before < 10


def test_a_category_of_many_levels_is_read_soon() -> None:
    """Its 40 million products are counted, not listed."""
    levels = tuple(f"level {n}" for n in range(9000))
    columns = Dictionary.of({"s": Category(levels), "y": Number.read("0", "1", "1")})
    before = time.process_time()
    it = study(questions=(regression("y ~ s"),), columns=columns)
    assert Study.parse(it.to_toml()) == it
    counts, regressors, response = (each.entries - 1 for each in it.meeting.sums)
    several = -(-(9000 + 2) // (40 // 3))  # counts of up to 4 parties take 3 bits of 40
    levels_and_outcome = 8999 + 1 + 8999  # with the rows, those of the first level follow
    assert counts == 1 + levels_and_outcome + several
    assert (regressors, response) == (9000 * 9001 // 2, 9001)
    assert time.process_time() - before < 10


def test_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileError, match="more than 100 characters"):
        toml.parse("#" * 101, "x", most=100)
    path = tmp_path / "x"
    path.write_bytes(b"#" * 101)
    with pytest.raises(FileError, match="more than 100 bytes"):
        toml.read_text(path, most=100)
    with pytest.raises(FileError, match="no such file"):
        Study.load(tmp_path / "absent.toml")


def test_many_dots_inside_text_are_fine() -> None:
    formula = "y ~ " + " + ".join(f"I(0.{n} * a)" for n in range(1, 150))
    (model,) = models(Study.parse(study(formula=formula, ranges=()).to_toml()))
    assert len(model.names) > 100


@given(st.data())
def test_a_changed_file_is_refused_or_read_strictly(data: st.DataObject) -> None:
    """Whatever happens to the text: our own error, or a study that writes and reads as itself."""
    text = study().to_toml()
    at = data.draw(st.integers(0, len(text) - 1))
    cut = data.draw(st.integers(0, 3))
    new = data.draw(st.text(alphabet='"=[]{}.,#\n 01aé\x00\\', max_size=3))
    changed = text[:at] + new + text[at + cut :]
    try:
        found = Study.parse(changed, "study.toml")
    except FileError:
        with pytest.raises(FileError, match=r"^study\.toml"):
            Study.parse(changed, "study.toml")
    else:
        assert Study.parse(found.to_toml()) == found
