"""A study has one form and one digest, and a file that says anything else is refused by its key."""

from __future__ import annotations

import time
import tomllib
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.study.parties import identity
from tests.study.studies import NAMES, study
from titan import Network
from titan.errors import DataError, FileError, InputError
from titan.moments import Model
from titan.privacy.limits import Limits
from titan.study import Link, Range, Study
from titan.study import fields as toml

# -- what it says -----------------------------------------------------------------------------


def test_a_study_reads_back_as_itself(tmp_path: Path) -> None:
    for it in (study(), full()):
        assert Study.parse(it.to_toml()) == it
        assert Study.parse(it.to_toml()).digest == it.digest
    study().save(tmp_path / "study.toml")
    assert Study.load(tmp_path / "study.toml") == study()
    with pytest.raises(FileError, match="such a file already"):
        study().save(tmp_path / "study.toml")
    study(tau=0).save(tmp_path / "study.toml", force=True)
    assert Study.load(tmp_path / "study.toml").tau == 0


def full() -> Study:
    """Nothing left at its default."""
    links = [Link(a, b, "pull" if a == "north" else "push") for a, b in study().network.edges]
    return study(
        links=tuple(links), release="solution", weights="w", missing="drop", min_rows_party=5,
        min_rows_total=50, rows_per_parameter=4, bits=192, recovery="topk", masks="seeded", k=2,
        rounds=7, solver="west", ranges=(Range.read("w", "0", "1"), Range.read("y", "-.5", "1e2")),
    )  # fmt: skip


def test_what_a_study_stands_for() -> None:
    it = full()
    assert it.network == Network.cycle(list(NAMES))
    assert it.network.parties == NAMES, "in the file's order"
    assert it.model == Model('y ~ age + C(sex, levels=["f", "m"])', weights="w")
    assert it.parameters == 3
    assert it.card("south") == identity("south").card
    assert it.dialler(("north", "east")) == "east", "pull: the receiver dials"
    assert it.dialler(Link("east", "south")) == "east", "push: the sender dials"
    assert (it.sums.bits, it.sums.tau, it.sums.recovery, it.sums.k) == (192, 1, "topk", 2)
    assert (it.sums.rounds, it.sums.masks) == (7, "seeded")
    with pytest.raises(InputError, match="no link from 'east' to 'north'"):
        it.dialler(("east", "north"))
    with pytest.raises(InputError, match='no party "mallory"'):
        it.card("mallory")


def test_the_fewest_rows() -> None:
    assert study().rows_needed == 40, "ten of each party"
    assert study(min_rows_total=55).rows_needed == 55
    assert study(min_rows_total=1, rows_per_parameter=100).rows_needed == 300


def test_a_study_states_the_limits_that_its_parties_check() -> None:
    assert study().limits == Limits(10, 40, 3), "the library's defaults"
    limits = study(min_rows_party=5, min_rows_total=50, rows_per_parameter=20).limits
    assert limits == Limits(5, 50, 20)
    with pytest.raises(DataError, match="4 rows, and a party needs at least 5") as caught:
        limits.check_own(4, "north")
    assert "min_rows_party" in caught.value.hint
    assert "allow_small" not in caught.value.hint
    with pytest.raises(DataError, match="59 rows in all for 3 parameters, where at least 60"):
        limits.check_pooled(59, study().parameters, 4)


def test_ranges_are_exact() -> None:
    it = Range.read("x", "0.1", "1e2")
    assert (it.low, it.high, it.as_list()) == (Fraction(1, 10), Fraction(100), ["0.1", "100"])
    assert Fraction(1, 10) in it
    assert Fraction(0.1) in it, "the double is a little more than a tenth"
    assert Fraction(1, 10) - Fraction(1, 10**30) not in it


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20))
def test_decimal_text_has_one_form(number: Any) -> None:
    text = str(number)
    assume(abs(number.as_tuple().exponent) <= 308)
    once = Range.read("x", text, text)
    assert once.low == Fraction(number)
    assert Range.read("x", *once.as_list()) == once


@pytest.mark.parametrize(
    "end",
    [
        "",
        "x",
        "1/3",
        "nan",
        "inf",
        "1_0",
        " 1",
        "1e309",
        "1" * 401,
        "1." + "1" * 95 + "e-308",
        "٣",
        True,
        1.5,
        None,
        [],
    ],
)
def test_ends_that_are_no_numbers(end: Any) -> None:
    with pytest.raises(InputError, match='range of "x" has an end'):
        Range.read("x", end, "1e308")


def test_a_fraction_that_is_no_decimal() -> None:
    with pytest.raises(InputError, match='range of "x" has an end'):
        Range("x", Fraction(1, 3), Fraction(1))


# -- the digest -------------------------------------------------------------------------------


def test_the_digest_is_known() -> None:
    """A digest of fixed content: if this fails, studies made before have another identity."""
    import hashlib
    import json

    content = {
        "titan-study": 1, "title": "A trial of care", "tau": 1, "release": "inference",
        "formula": 'y ~ 1 + age + C(sex, levels=["f", "m"])', "weights": None,
        "missing": "refuse", "min_rows_party": 10, "min_rows_total": 40, "rows_per_parameter": 3,
        "bits": 128, "recovery": "auto", "masks": "sent", "k": None, "rounds": None,
        "solver": None, "ranges": {"age": ["0", "120"]},
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
    del backwards["min_rows_total"], backwards["bits"], backwards["model"]["missing"]
    backwards["model"]["formula"] = "y~age+  C(sex,levels=['f','m'])"
    backwards["model"]["ranges"]["age"] = [0, "1.20e2"]
    others = [
        "# a remark\n" + text.replace(" = ", "  =  "),
        text.replace("\n", "\r\n"),
        text.replace("north.example.org", "NORTH.example.org"),
        tomli_w.dumps(backwards),
    ]
    assert {Study.parse(other).digest for other in others} == {study().digest}


CHANGES: dict[str, Any] = {
    "title": "Another", "formula": "y ~ age", "tau": 0, "release": "solution", "weights": "w",
    "missing": "drop", "ranges": (), "min_rows_party": 11, "min_rows_total": 41,
    "rows_per_parameter": 2, "bits": 64, "recovery": "flood", "masks": "seeded", "k": 1,
    "rounds": 9, "solver": "north",
    "links": (*study().links[:-1], replace(study().links[-1], dial="pull")),
    "parties": (identity("north", again=1).card, *study().parties[1:]),
}  # fmt: skip


@pytest.mark.parametrize("field", [field.name for field in fields(Study)])
def test_the_digest_hangs_on_everything_else(field: str) -> None:
    assert replace(study(), **{field: CHANGES[field]}).digest != study().digest


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
    """The file with some keys set; a path such as model__formula goes into a table."""
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


BAD: dict[str, dict[str, Any]] = {
    "colour is not known here": {"colour": "red"},
    "model.colour is not known here": {"model__colour": 1},
    "parties[2].colour is not known here": {"parties__1__colour": 1},
    "links[4].colour is not known here": {"links__3__colour": 1},
    "format is missing": {"format": None},
    "format is not one this program reads": {"format": 2},
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
    "min_rows_party is not a number": {"min_rows_party": 0},
    "min_rows_total is not a number": {"min_rows_total": 0},
    "rows_per_parameter is not a number": {"rows_per_parameter": 0},
    "release is 'everything'": {"release": "everything"},
    "recovery is 'magic'": {"recovery": "magic"},
    "masks is 'none'": {"masks": "none"},
    "missing is 'guess'": {"model__missing": "guess"},
    "solver is 'mallory', who is no party": {"solver": "mallory"},
    "model is missing": {"model": None},
    "model is a list": {"model": []},
    "model.formula is missing": {"model__formula": None},
    "model.formula: formula, character 1": {"model__formula": "__import__('os').system('x') ~ 1"},
    "model.formula: formula, character 10": {"model__formula": "y ~ C(sex)"},
    "model.formula: a formula of": {"model__formula": "y ~ " + "a + " * 60_000 + "b"},
    "model.formula has": {"model__formula": "y" * (1 << 20) + "y"},
    "model.weights is not one line": {"model__weights": "w\n"},
    "model.ranges.age is not a list of two ends": {"model__ranges__age": ["0"]},
    "model.ranges.age cannot be used: the range": {"model__ranges__age": ["0", "x"]},
    "model.ranges.age cannot be used: the range of \"age\" is empty":
        {"model__ranges__age": ["1", "0"]},
    "model.ranges: 'shoe' is no column": {"model__ranges__shoe": ["0", "1"]},
    "model.ranges: 'sex' is no column": {"model__ranges__sex": ["0", "1"]},
    "parties is missing": {"parties": None},
    "parties is text": {"parties": "north"},
    "parties: 0 of them": {"parties": []},
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
    with pytest.raises(InputError, match="a column has two ranges"):
        study(ranges=(Range.read("age", "0", "1"), Range.read("age", "0", "2")))


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
    assert Study.parse(study(formula=formula, ranges=()).to_toml()).parameters > 100


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
