"""Invariant: no byte of a file of results changes unnoticed; errors are FileErrors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import titan
from titan.canonical import canonical, exact_text, read_exact
from titan.errors import FileError
from titan.leastsquares import Regression, fit_pooled
from titan.results import Results, decode, encode
from titan.results.results import Outcome

from ..leastsquares.systems import Problem


def small_fit() -> Regression:
    rows = [[Fraction(1), Fraction(i)] for i in range(5)]
    b = [Fraction(i * i, 3) for i in range(5)]
    return fit_pooled(Problem(("c", "x"), rows, b).pooled(bits=32), constant="c")


@pytest.fixture(scope="module")
def data() -> bytes:
    failed = titan.TitanError("none", hint="so")
    outcomes: dict[str, Outcome] = {"main": small_fit(), "other": failed}
    return encode(Results(outcomes))


def sealed(whole: dict[str, Any]) -> bytes:
    """As whoever can write the file could: with a digest that is right."""
    rest = {key: value for key, value in whole.items() if key != "sha256"}
    return canonical(rest | {"sha256": hashlib.sha256(canonical(rest)).hexdigest()})


def test_every_byte_changed_deleted_or_repeated_is_found(data: bytes) -> None:
    assert sealed(json.loads(data)) == data
    for at in range(len(data)):
        for byte in {data[at] ^ 1, data[at] ^ 32, (data[at] + 1) % 128, 0, 255} - {data[at]}:
            refused(data[:at] + bytes([byte]) + data[at + 1 :])
        if at == 0 or data[at] != data[at - 1]:
            refused(data[:at] + data[at + 1 :])
            refused(data[:at] + data[at : at + 1] + data[at:])
        refused(data[:at])
    refused(data + b"\n")
    refused(data + data)


def refused(data: bytes) -> None:
    with pytest.raises(FileError) as error:
        decode(data, "answer.json")
    assert '"answer.json"' in error.value.message
    assert error.value.hint


def test_another_order_or_spacing_of_the_same_values_is_refused(data: bytes) -> None:
    whole = json.loads(data)
    refused(json.dumps(whole, sort_keys=True).encode())
    refused(json.dumps(dict(reversed(whole.items())), separators=(",", ":")).encode())


def test_a_later_format_says_so(data: bytes) -> None:
    later = sealed({**json.loads(data), "format": 2, "more": []})
    with pytest.raises(FileError, match="it has format 2, this program reads 1") as error:
        decode(later)
    assert "version of TITAN" in error.value.hint


@pytest.mark.parametrize("format_", [0, -1, True, 1.0, "1", None])
def test_no_other_format_is_read(data: bytes, format_: Any) -> None:
    refused(sealed({**json.loads(data), "format": format_}))


@pytest.mark.parametrize(
    "wrong",
    [b"", b"{}", b"[]", b"null", b"1", b"\xff\xfe", b"[" * 100_000, b'{"format":1}', b"NaN"],
)
def test_what_is_no_file_of_results(wrong: bytes) -> None:
    refused(wrong)


def test_what_is_too_large_is_not_parsed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("titan.results.result_file._MOST_BYTES", len(data) - 1)
    with pytest.raises(FileError, match="more than"):
        decode(data)


# -- files whose digest is right and whose contents are not -------------------------------------

WRONG: list[Any] = [
    None, True, False, -1, 0, 2, 1.5, 10**30, -(10**30), "", "x", "zz", "0", "-1", "1/0", "2/4",
    "1p-0", "1p-99999999", [], {}, [0], [[]], {"a": 1}, ["1", "-1"],
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    if isinstance(value, list):
        for at in range(len(value)):
            yield from places(value[at], (*path, at))


def changed(value: Any, path: tuple[Any, ...], to: Any) -> Any:
    if not path:
        return to
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], to) if len(path) > 1 else to
    return copy


def test_what_is_accepted_encodes_to_itself_and_all_else_is_a_file_error(data: bytes) -> None:
    whole = json.loads(data)
    accepted = 0
    for path in places(whole):
        if not path or path[0] in ("sha256", "titan"):
            continue
        for wrong in WRONG:
            altered = sealed(changed(whole, path, wrong))
            try:
                results = decode(altered)
            except FileError:
                continue
            assert encode(results) == altered
            accepted += 1
    assert accepted > 50  # what was shown may say more, a minor bound may be another, …


def test_missing_and_unknown_fields_are_refused(data: bytes) -> None:
    whole = json.loads(data)
    for path in places(whole):
        found = whole
        for step in path:
            found = found[step]
        if not isinstance(found, dict) or "result" in path or path[-1:] in (("dropped",),):
            continue
        refused(sealed(changed(whole, (*path, "more"), 1)))
        for key in set(found) - {"sha256"}:
            less = {k: v for k, v in found.items() if k != key}
            refused(sealed(changed(whole, path, less)))


def test_coefficients_that_do_not_follow_from_the_state_are_refused(data: bytes) -> None:
    whole = json.loads(data)
    place = ("results", 0, "result", "params", "x")
    moved = whole["results"][0]["result"]["params"]["x"] * 1.01
    with pytest.raises(FileError, match="'x' does not follow from its state"):
        decode(sealed(changed(whole, place, moved)))
    deep = ("results", 0, "state", "moments", "rhs", 1)
    rhs = read_exact(whole["results"][0]["state"]["moments"]["rhs"][1])
    with pytest.raises(FileError):
        decode(sealed(changed(whole, deep, exact_text(rhs * 2))))


def test_a_state_without_an_answer_is_refused(data: bytes) -> None:
    whole = json.loads(data)
    gram = whole["results"][0]["state"]["moments"]["gram"]
    singular = [gram[0], f"{gram[0]} {gram[0]}"]
    refused(sealed(changed(whole, ("results", 0, "state", "moments", "gram"), singular)))


@pytest.mark.parametrize("digits", ["f" * 80_000, "1" + "0" * 16_384])
def test_a_denominator_of_absurd_size_is_refused(data: bytes, digits: str) -> None:
    """To solve again by it took more than 20 seconds."""
    place = ("results", 0, "state", "moments", "denominator")
    with pytest.raises(FileError, match="an integer has more than 65536 bits"):
        decode(sealed(changed(json.loads(data), place, digits)))


@pytest.mark.parametrize("number", ["f" * 80_000, "1/" + "f" * 80_000, "1p-999999"])
@pytest.mark.parametrize(
    "place", [("gram", 0), ("bb",), ("rhs", 0), ("gram_error",), ("diagonal_error", 0)]
)
def test_so_is_any_number_of_absurd_size(data: bytes, place: tuple[Any, ...], number: str) -> None:
    with pytest.raises(FileError, match=r"has more than 65536 bits|have its integers"):
        decode(
            sealed(changed(json.loads(data), ("results", 0, "state", "moments", *place), number))
        )


HUGE = "f" * 16_000


@pytest.mark.parametrize(
    ("kind", "place", "number"),
    [
        ("glm", ("alpha",), HUGE),
        ("glm", ("step", "weight"), HUGE),
        ("cox", ("alpha",), HUGE),
        ("cox", ("grid",), HUGE),
        ("description", ("columns", 0, "squares"), "-1"),
        ("description", ("columns", 0, "squares"), "0"),
        ("description", ("columns", 0, "total"), HUGE),
    ],
)
def test_what_could_not_be_shown_is_refused(kind: str, place: tuple[Any, ...], number: str) -> None:
    rows = {"t": [1, 2, 3, 4, 5, 6, 7, 8], "a": [1, 4, 2, 3, 1, 2, 5, 2], "e": [1, 0] * 4}
    made: dict[str, Any] = {
        "glm": lambda: titan.glm(rows, formula="e ~ a", family="binomial"),
        "cox": lambda: titan.cox(rows, time="t", event="e", columns=["a"]),
        "description": lambda: titan.describe(rows, columns=["a"]),
    }
    whole = json.loads(encode(made[kind]()))
    assert encode(decode(sealed(whole))) == sealed(whole)
    refused(sealed(changed(whole, ("results", 0, "state", *place), number)))


def test_columns_that_fill_the_range_of_floats_can_be_read_back() -> None:
    """Their products, centred, have the largest denominators there are."""
    rng = np.random.default_rng(0)
    table = {
        name: np.ldexp(rng.normal(size=99), rng.integers(-1000, 900, 99)) for name in ("a", "b")
    }
    y = rng.normal(size=99)
    fit = titan.fit({**table, "y": y}, formula="y ~ center(a) * center(b)")
    assert fit.moments.denominator.bit_length() > 10_000
    assert decode(encode(fit))[0].to_dict() == fit.to_dict()


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("meat", ["1" + "0" * 400, "0 1"], "larger than its residuals"),
        ("bits", 3, "larger than its residuals"),
        ("parties", 0, "not a valid file"),
    ],
)
def test_robust_errors_of_absurd_size_are_refused(field: str, value: Any, reason: str) -> None:
    """They would be beyond float64, and no fit has them."""
    table = {"y": [1.0, 2, 5, 4, 7], "a": [1.0, 2, 3, 4, 5]}
    whole = json.loads(encode(titan.fit(table, formula="y ~ a", cov_type="HC0")))
    assert encode(decode(sealed(whole))) == sealed(whole)
    with pytest.raises(FileError, match=reason):
        decode(sealed(changed(whole, ("results", 0, "state", "robust", field), value)))


def test_a_kind_that_is_not_known_here(data: bytes) -> None:
    with pytest.raises(FileError, match="'astrology': import the module that defines it"):
        decode(sealed(changed(json.loads(data), ("results", 0, "kind"), "astrology")))


def test_two_questions_with_one_name(data: bytes) -> None:
    with pytest.raises(FileError, match="same name"):
        decode(sealed(changed(json.loads(data), ("results", 1, "name"), "main")))
