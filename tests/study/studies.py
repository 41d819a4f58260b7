"""Studies for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tests.study.parties import identity
from titan import Network
from titan.errors import InputError
from titan.joint.kinds import Question
from titan.moments import Model
from titan.release import Dictionary, Number
from titan.study import Link, Study

NAMES = ("north", "east", "south", "west")
FORMULA = 'y ~ age + C(sex, levels=["f", "m"])'


def study(names: tuple[str, ...] = NAMES, network: Network | None = None, **changes: Any) -> Study:
    """Four parties on a cycle who ask for one regression, unless told otherwise.

    `formula`, `weights`, `release` and `cov_type` are those of the regression; `ranges` are those
    of the dictionary's numbers.
    """
    net = Network.cycle(list(names)) if network is None else network
    content: dict[str, Any] = {
        "title": "A trial of care",
        "tau": 1,
        "parties": tuple(identity(name).card for name in names),
        "links": tuple(Link(a, b) for a, b in net.edges),
    }
    return Study(**{**content, **asked({"ranges": {"age": ("0", "120")}, **changes})})


def asked(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a Study, where a regression and ranges may be said in short."""
    given = dict(content)
    options = {
        key: given.pop(key) for key in ("formula", "weights", "release", "cov_type") if key in given
    }
    said = dict(given.pop("ranges", {}))
    ranges = {c: Number.read(low, high, "1") for c, (low, high) in said.items()}
    given.setdefault("questions", (regression(**options),))
    given.setdefault("columns", Dictionary.of(ranges))
    given["columns"] = described(given["columns"], given["questions"])
    return given


def described(columns: Dictionary, questions: Sequence[Question]) -> Dictionary:
    """With all that the questions read: whole numbers, unless something else is said."""
    found = dict(columns)
    for question in questions:
        options = question.options
        read = [*options.get("columns", ()), options.get("response", "")]
        with suppress(InputError, KeyError):  # which the study itself will say
            weights: Any = options.get("weights")
            model = Model(str(options["formula"]), weights=weights, levels=columns.levels())
            read += model.number_columns
        for name in filter(None, read):
            found.setdefault(name, Number.read("-10000", "10000", "1"))
    return Dictionary.of(found)


def regression(formula: str = FORMULA, *, name: str = "", **options: str) -> Question:
    return Question("regression", name, (("formula", formula), *options.items()))
