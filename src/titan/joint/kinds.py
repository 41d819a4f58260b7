"""What a study can ask: every kind of question, and the computation that answers it.

A kind registers itself by its name, so that a study, the command line, preflight and the party's
process need not know it:

    @kind("histogram", options={"column": TEXT, "edges": TEXTS}, first="column")
    def histogram(asked: Asked, setting: Setting) -> Computation: ...
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from titan.errors import InputError
from titan.joint.computation import Computation
from titan.listing import divided
from titan.moments.rows import Missing
from titan.release import Dictionary
from titan.release.policy import Policy

Value = str | tuple[str, ...]
Asked = Mapping[str, Value]
"""What was asked, option by option."""
TEXT: Literal["text"] = "text"
TEXTS: Literal["texts"] = "texts"
Shape = Literal["text", "texts"]


@dataclass(frozen=True)
class Setting:
    """What a question is asked in: everything else that the parties agreed on and it may need."""

    parties: tuple[str, ...]
    columns: Dictionary
    policy: Policy
    bits: int = 128
    missing: Missing = "refuse"
    tau: int = 0


Build = Callable[[Asked, Setting], Computation[Any, Any, Any]]


@dataclass(frozen=True)
class Kind:
    """A kind of question."""

    name: str
    options: Mapping[str, Shape]
    """The options there are: one text each, or several."""
    first: str
    """The option that stands before the first semicolon of --ask; empty if there is none."""
    second: str
    """One more there, after a comma; empty if there is none."""
    required: tuple[str, ...]
    build: Build
    settle: Callable[[Asked, Dictionary], Asked]
    """The same question in its one form: equal questions give equal digests."""
    spoken: Callable[[Asked], Mapping[str, Value]] = dict
    """The same with every option by itself, where several can be put into one text."""


KINDS: dict[str, Kind] = {}


def kind(
    name: str,
    *,
    options: Mapping[str, Shape],
    first: str = "",
    second: str = "",
    required: tuple[str, ...] = (),
    settle: Callable[[Asked, Dictionary], Asked] = lambda asked, columns: asked,
    spoken: Callable[[Asked], Mapping[str, Value]] = dict,
) -> Callable[[Build], Build]:
    """Register the function that makes a question's computation."""

    def register(build: Build) -> Build:
        KINDS[name] = Kind(name, options, first, second, required, build, settle, spoken)
        return build

    return register


def kind_named(name: str) -> Kind:
    from titan.joint import (  # noqa: F401 - they register
        average_question,
        cox_question,
        describe,
        glm_question,
        questions,
        survival,
    )

    found = KINDS.get(name)
    if found is None:
        raise InputError(
            f"there is no question of kind {name!a}",
            hint=f"there are {', '.join(sorted(KINDS))}; a colon follows, as in 'describe: age'",
        )
    return found


@dataclass(frozen=True)
class Question:
    """One question of a study, checked as far as its kind says how."""

    kind: str
    name: str
    asked: tuple[tuple[str, Value], ...]

    @classmethod
    def of(cls, kind: str, name: str, asked: Asked, columns: Dictionary) -> Question:
        """In its one form; InputError where the kind or an option is not known."""
        found = kind_named(kind)
        asked = found.spoken(asked)
        for option, value in asked.items():
            shape = found.options.get(option)
            if shape is None:
                raise InputError(
                    f"a {kind} question has no option {option!a}",
                    hint=f"it has {', '.join(found.options) or 'none'}",
                )
            if (shape == TEXT) != isinstance(value, str):
                raise InputError(f"{option!r} of a {kind} question is not {_SHAPES[shape]}")
        missing = sorted(set(found.required) - set(asked))
        if missing:
            raise InputError(
                f"a {kind} question does not say its {' and '.join(missing)}",
                hint=f"its options are {', '.join(found.options)}",
            )
        settled = found.settle(asked, columns)
        return cls(kind, name, tuple(sorted(settled.items())))

    @property
    def options(self) -> dict[str, Value]:
        return dict(self.asked)

    def content(self) -> dict[str, Any]:
        """For JSON."""
        plain = {option: v if isinstance(v, str) else list(v) for option, v in self.asked}
        return {"name": self.name, "kind": self.kind, "asked": plain}

    def computation(self, setting: Setting) -> Computation[Any, Any, Any]:
        return KINDS[self.kind].build(self.options, setting)

    def __str__(self) -> str:
        """In one line: what comes first, then the other options."""
        said = {
            option: written(v)
            if isinstance(v, str)
            else ", ".join(written(each, ";,") for each in v)
            for option, v in self.asked
        }
        kind = KINDS[self.kind]
        first = [said.pop(option) for option in (kind.first, kind.second) if option in said]
        told = [", ".join(first)] if first else []
        told += [f"{option} {value}" for option, value in said.items()]
        return f"{self.kind}: {'; '.join(told)}" if told else self.kind


def written(value: str, ends: str = ";") -> str:
    """As it stands among others with these between: in quotes where it would not end there."""
    plain = all(divided(f"{value}{end}", end) == [value, ""] for end in ends)
    if plain and not value.startswith('"'):
        return value
    return json.dumps(value, ensure_ascii=False).replace('\\"', "\\u0022")


def read_written(text: str) -> str:
    """The inverse of `written`; what earlier programs have written is as it is."""
    try:
        return str(json.loads(text)) if text.startswith('"') else text
    except ValueError:
        return text


_SHAPES = {TEXT: "one text", TEXTS: "a list of texts"}
