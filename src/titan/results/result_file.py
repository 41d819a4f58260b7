"""The file of results, `result.json`: see docs/results.md.

One line of canonical JSON (sorted keys, no spaces, ASCII, nothing that is not finite):

    {"cost":…,"format":1,"parties":…,"results":[…],"run":…,"sha256":"hex","study":…,"titan":"0.1.0"}

    results   {name, kind, result, state, summary, cost} of a question that was answered,
              {name, error: {type, message, hint}} of one that was not
    sha256    of the canonical bytes of everything else
    study, run, parties, cost   of a real run; otherwise null

`result` is what was shown, for any program to read; `state` rebuilds the object, exactly. What is
rebuilt is computed from the state, not taken from `result`: on another machine a number may differ
in its last digit where it came through that machine's BLAS, never by more than its proven bound,
and the file is refused where the coefficients differ by more.

A file has one valid form: what is accepted was written like this, byte by byte. The digest finds
accidents, not forgers: whoever can write the file can write its digest. (That of a run stands in
the signed transcript.)
"""

# Rule 1: sizes are bounded before anything is parsed; nothing in a file is executed.
# Rule 2: unknown fields are refused, except in `result`, where later versions may add some.
# Rule 3: a record of messages is never written.

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

import titan.errors
from titan import canonical as fields
from titan import files
from titan.canonical import canonical
from titan.errors import FileError, InputError, ReleaseError, TitanError
from titan.listing import printable, told_of
from titan.results.result import Result, kind_of_result
from titan.results.results import QuestionOutcome, Results

FORMAT = 1
NAME = "result.json"
"""What the file is called in the folder of a run."""

_MOST_BYTES = 1 << 27
_TOP = {"format", "titan", "results", "study", "run", "parties", "cost", "sha256"}
_ANSWERED = {"name", "kind", "result", "state", "summary", "cost"}
_ERRORS = (
    "RankError", "VetoError", "ReleaseError", "DataError", "NumberError", "InputError",
    "TitanError",
)  # fmt: skip
"""What a question may have failed by; other errors are kept as the nearest of these."""


# -- writing ----------------------------------------------------------------------------------


def encode(results: Result | Results) -> bytes:
    """The file's bytes."""
    if not isinstance(results, Results):
        results = Results([results])
    whole: dict[str, Any] = {
        "format": FORMAT,
        "titan": titan.__version__,
        "results": [_entry(entry) for entry in results.entries],
        "study": results.study,
        "run": results.run,
        "parties": None if results.parties is None else list(results.parties),
        "cost": _cost(results.cost),
    }
    return sealed(whole)


def sealed(whole: dict[str, Any]) -> bytes:
    """With the digest of everything else."""
    rest = {key: value for key, value in whole.items() if key != "sha256"}
    return canonical(rest | {"sha256": hashlib.sha256(canonical(rest)).hexdigest()})


def _entry(entry: QuestionOutcome) -> dict[str, Any]:
    outcome = entry.outcome
    if isinstance(outcome, TitanError):
        kind = next(c.__name__ for c in type(outcome).__mro__ if c.__name__ in _ERRORS)
        told = {"message": _shown(outcome.message), "hint": _shown(outcome.hint)}
        refused = {"refused": outcome.refused()} if isinstance(outcome, ReleaseError) else {}
        return {"name": entry.name, "error": told | refused | {"type": kind}}
    return {
        "name": entry.name,
        "kind": outcome.kind,
        "result": fields.finite(entry.to_dict()),
        "state": outcome.to_state(),
        "summary": None if entry.printed is None else _shown(entry.printed),
        "cost": _cost(outcome.cost),
    }


def _cost(cost: Any) -> dict[str, Any] | None:
    return None if cost is None else dict(cost.as_dict() if hasattr(cost, "as_dict") else cost)


def _shown(text: str) -> str:
    return printable(text, keep="\n")


def save(results: Result | Results, path: str | PathLike[str]) -> None:
    """Write the file in one step, with mode 600; an older one at this place is replaced."""
    place = checked_path(path)
    place = place / NAME if place.is_dir() else place
    files.write(place, encode(results), mode=0o600, force=True)


def checked_path(path: str | PathLike[str]) -> Path:
    try:
        return Path(path)
    except TypeError:
        hint = "give the name of a file or folder"
        raise InputError(f"{type(path).__name__} is not a path", hint=hint) from None


# -- reading ----------------------------------------------------------------------------------


def read_file(place: Path) -> bytes:
    """A file's bytes, as far as results can be that long."""
    try:
        with place.open("rb") as file:
            return file.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "it is not the name of a file").lower()
        hint = f"give a file that a result's save() wrote, or a folder with {NAME}"
        raise FileError(f'"{place}" cannot be read: {reason}', hint=hint) from None


def decode(data: bytes, name: str = NAME) -> Results:
    """The inverse of `encode`; FileError, naming the file, for all other bytes."""
    hint = "it was altered, or is not a result of TITAN: copy it again from where it was made"
    try:
        whole = fields.parsed(data, _MOST_BYTES)
        if type(whole.get("format")) is int and whole["format"] > FORMAT:
            hint = "read it with the version of TITAN that wrote it, or a later one"
            raise ValueError(f"it has format {whole['format']}, this program reads {FORMAT}")
        fields.keys(whole, _TOP)
        if sealed(whole) != data:
            raise ValueError("it is not as TITAN wrote it")
        if type(whole["format"]) is not int or whole["format"] != FORMAT:
            raise ValueError(f"its format is {whole['format']!r}, where {FORMAT} was expected")
        return _results(whole)
    except TitanError as error:  # also a ValueError, some of them
        reason = error.message
    except ValueError as error:
        reason = str(error)
    except ArithmeticError:
        reason = "its numbers are out of range"
    raise FileError(f'"{name}" is not a valid file of results: {told_of(reason)}', hint=hint)


def _results(whole: dict[str, Any]) -> Results:
    fields.text(whole["titan"])
    study, run, parties = whole["study"], whole["run"], whole["parties"]
    return Results(
        [_read_entry(entry) for entry in fields.listed(whole["results"])],
        study=None if study is None else fields.hexadecimal(study),
        run=None if run is None else fields.whole(run),
        parties=None if parties is None else fields.names(parties),
        cost=None if whole["cost"] is None else fields.mapping(whole["cost"]),
    )


def _read_entry(entry: object) -> QuestionOutcome:
    name = fields.text(fields.mapping(entry).get("name"))
    if not name.isprintable():
        raise ValueError("a question's name does not print")
    if "error" in fields.mapping(entry):
        return QuestionOutcome(name, _read_error(fields.keys(entry, {"name", "error"})["error"]))
    found = fields.keys(entry, _ANSWERED)
    kind = kind_of_result(fields.text(found["kind"]))
    if kind is None:
        raise ValueError(
            f"its result {name!r} is of a kind that is not known here, {found['kind']!r}: "
            "import the module that defines it first"
        )
    shown = fields.mapping(found["result"])
    result = kind.from_state(found["state"], _read_cost(found["cost"]))
    _compare(result, shown)
    printed = found["summary"]
    return QuestionOutcome(name, result, None if printed is None else _read_printed(printed), shown)


def _read_error(error: object) -> TitanError:
    named = isinstance(error, Mapping) and "refused" in error
    found = fields.keys(error, {"type", "message", "hint"} | ({"refused"} if named else set()))
    if found["type"] not in _ERRORS:
        raise ValueError("an error is of a type that is not known")
    kind: type[TitanError] = getattr(titan.errors, found["type"])
    if named != issubclass(kind, ReleaseError):
        raise ValueError("an error does not say what was refused, or says so without reason")
    read: Any = kind(_read_printed(found["message"]), hint=_read_printed(found["hint"]))
    if named:
        for key, value in fields.keys(found["refused"], {"rule", "question", "cell"}).items():
            setattr(read, key, "" if value is None else _read_printed(value))
    return cast("TitanError", read)


def _read_printed(text: object) -> str:
    if not isinstance(text, str) or _shown(text) != text:
        raise ValueError("a text does not print")
    return text


def _read_cost(cost: object) -> Any:
    from titan.protocol.cost import Cost

    if cost is None:
        return None
    try:
        read = Cost.from_dict(fields.mapping(cost))
        if canonical(read.as_dict()) == canonical(cost):
            return read
    except (TypeError, AttributeError, OverflowError):
        pass
    raise ValueError("its cost does not have the right fields")


def _compare(result: Result, shown: Mapping[str, Any]) -> None:
    """Two enclosures of one truth meet: that of the coefficients shown, and that of the state."""
    params, bounds = shown.get("params"), shown.get("error_bound")
    rebuilt, proven = getattr(result, "params", None), getattr(result, "error_bound", None)
    if not isinstance(rebuilt, Mapping) or None in (params, bounds) or proven is None:
        return
    params, bounds = fields.keys(params, rebuilt), fields.keys(bounds, rebuilt)
    for (name, x), bound in zip(rebuilt.items(), np.asarray(proven).tolist(), strict=True):
        if not _meet(x, bound, params[name], bounds[name]):
            raise ValueError(f"its coefficient of {name!r} does not follow from its state")


def _meet(x: float, bound: float, told: object, within: object) -> bool:
    if told is None or within is None or math.isinf(bound):  # infinities are told as None
        return (told is None) == math.isinf(x)
    away = abs(Fraction(x) - Fraction(fields.read_float(told)))
    return away <= Fraction(bound) + Fraction(fields.read_float(within))
