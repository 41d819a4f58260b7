"""Questions and columns in the words of the command line.

    kind[: first option][; key=value]…      regression: y ~ age + sex; cov_type=HC0; name=main
    several values with commas between      describe: age, bmi, sex
    two options first, with a comma         survival: months, died; by=arm; grid=6
    what a column is                        --range age=0:120 --step age=1 --unit age=years
                                            --levels sex=f,m   --flag died

What stands in quotes is not divided.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from titan.errors import InputError
from titan.joint.cox_asked import formula_asked
from titan.joint.glm_question import offset_of
from titan.joint.kinds import TEXT, Kind, Question, Value, kind_named, read_written
from titan.joint.survival import as_asked
from titan.listing import QUOTES, divided, listing
from titan.moments import Model, Source
from titan.moments.centring import uncentred
from titan.moments.formula import ANY_LEVELS, without_levels
from titan.release import Category, Column, Dictionary, Flag, Number, Time
from titan.release.draft import draft
from titan.study.row_digests import RowKey

Said = TypeVar("Said")
_SPOKEN = {"alpha": "alphas", "column": "columns"}
_EXAMPLE = "such as 'regression: y ~ age + sex; cov_type=HC0; name=main'"


# -- questions --------------------------------------------------------------------------------


def read_question(text: str) -> Question:
    """What --ask says, not yet settled by a study; an error quotes it."""
    head, *rest = divided(text, ";")
    name, colon, first = (part.strip() for part in head.partition(":"))
    with _quoting(f"--ask {text!r}", "ask"):
        kind = kind_named(name)
        if colon and not kind.first:
            raise InputError(f"a {kind.name} question has nothing after a colon", hint=_EXAMPLE)
        asked = _first(kind, first) if colon else {}
        for piece in rest:
            key, value = _option(kind, piece)
            if key in asked:
                raise InputError(f"{key} is given twice", hint="give it once")
            asked[key] = value
        asked = dict(kind.spoken(asked))
    called = asked.pop("name", "")
    return Question(kind.name, str(called), tuple(asked.items()))


def _first(kind: Kind, text: str) -> dict[str, Value]:
    """What stands before the first semicolon: one option, or two with a comma between."""
    if not kind.second:
        return {kind.first: _value(kind, kind.first, text)}
    names = [_unquoted(name.strip()) for name in divided(text, ",")]
    if len(names) != 2 or not all(names):
        raise InputError(
            f"a {kind.name} question begins with its {kind.first} and its {kind.second}",
            hint=f"{kind.name}: {kind.first.upper()}, {kind.second.upper()}; …",
        )
    return dict(zip((kind.first, kind.second), names, strict=True))


def _option(kind: Kind, piece: str) -> tuple[str, Value]:
    key, equals, text = (part.strip() for part in piece.partition("="))
    if not equals:
        raise InputError(f"{piece.strip()!r} is not key=value", hint=_EXAMPLE)
    key = _SPOKEN[key] if _SPOKEN.get(key) in kind.options else key
    if key != "name" and key not in kind.options:
        raise InputError(
            f"a {kind.name} question has no option {key!r}",
            hint=f"it has {listing([*kind.options, 'name'])}",
        )
    return key, _value(kind, key, text)


def _value(kind: Kind, key: str, text: str) -> Value:
    if not text:
        raise InputError(f"{key} is empty", hint=_EXAMPLE)
    if kind.options.get(key, TEXT) == TEXT:
        return text
    items = tuple(_unquoted(item.strip()) for item in divided(text, ","))
    if not all(items):
        raise InputError(f"{key} has an empty item", hint="one comma between two")
    return items


def _unquoted(text: str) -> str:
    whole = len(text) > 1 and text[0] == text[-1] and text[0] in QUOTES
    return text[1:-1] if whole else text


def earlier_models(asked: Iterable[str], today: Collection[str], key: RowKey) -> list[Model]:
    """The models of questions as a ledger has them, but for those that are asked today as well."""
    levels = {name: c["levels"] for name, c in key.columns.items() if "levels" in c}
    found = []
    for text in asked:
        kind, _, rest = text.partition(": ")
        first, *options = (piece.strip() for piece in divided(rest, ";"))
        if text in today:
            continue
        if kind == "solve":
            said = _options(options)
            names = [read_written(name.strip()) for name in divided(first, ",")]
            found.append(Model.from_columns(said["response"], names, intercept=False))
        elif "formula" in kind_named(kind).options:
            said = _options(options)
            offset = offset_of(said.get("offset"), said.get("exposure"))
            weights, time = said.get("weights"), said.get("time")
            summed = uncentred(formula_asked(said | {"formula": first}), levels)[0]
            found.append(Model(summed, weights=weights, offset=offset, time=time, levels=levels))
    return found


def _options(said: Iterable[str]) -> dict[str, str]:
    pairs = (option.partition(" ") for option in said)
    return {key: read_written(value) for key, _, value in pairs}


# -- columns ----------------------------------------------------------------------------------


NOT_A_RANGE = "not a range"


def read_columns(
    *,
    ranges: Iterable[str] = (),
    steps: Iterable[str] = (),
    levels: Iterable[str] = (),
    flags: Iterable[str] = (),
    units: Iterable[str] = (),
) -> dict[str, Column]:
    """What the options say of columns, in the order of --range, --levels, --flag."""
    step = _collect({}, "step", steps, lambda text: _pair(text, "age=1"))
    unit = _collect({}, "unit", units, lambda text: _pair(text, "age=years"))
    found: dict[str, Column] = {}
    _collect(found, "range", ranges, lambda text: _number(text, step, unit))
    _collect(found, "levels", levels, _category)
    _collect(found, "flag", flags, _flag)
    for option, values in (("step", step), ("unit", unit)):
        for name, value in values.items():
            if not isinstance(found.get(name), Number):
                raise InputError(
                    f"--{option} {name}={value}: the range of {name!r} is missing",
                    hint=f"--range {name}=0:120",
                    choice=option,
                )
    return found


def _collect(
    found: dict[str, Said],
    option: str,
    texts: Iterable[str],
    read: Callable[[str], tuple[str, Said]],
) -> dict[str, Said]:
    """What the texts of an option say, by column, beside what was found before."""
    for text in texts:
        with _quoting(f"--{option} {text}", option):
            name, value = read(text)
            if name in found:
                raise InputError(f"{name!r} is described twice", hint="once for each column")
        found[name] = value
    return found


def _number(text: str, steps: Mapping[str, str], units: Mapping[str, str]) -> tuple[str, Number]:
    name, equals, ends = text.rpartition("=")
    low, colon, high = ends.partition(":")
    if not (name and equals and colon):
        raise InputError(NOT_A_RANGE, hint="write it as age=0:120")
    return name, Number.read(low, high, steps.get(name), units.get(name, ""))


def _category(text: str) -> tuple[str, Category]:
    name, said = _pair(text, "sex=f,m")
    return name, Category(tuple(_unquoted(level.strip()) for level in divided(said, ",")))


def _flag(text: str) -> tuple[str, Flag]:
    if not text.strip():
        raise InputError("not the name of a column", hint="write it as died")
    return text.strip(), Flag()


def _pair(text: str, example: str) -> tuple[str, str]:
    name, equals, said = (part.strip() for part in text.partition("="))
    if not (name and equals and said):
        raise InputError("not name=value", hint=f"write it as {example}")
    return name, said


@contextmanager
def _quoting(said: str, option: str) -> Iterator[None]:
    """Errors that quote what was said, and by which option."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{said}: {error.message}", hint=error.hint, choice=option) from None


# -- which columns ----------------------------------------------------------------------------


def names_columns(question: Question) -> bool:
    """Whether it speaks of columns by their names, not in a formula: these must be described."""
    return "columns" in kind_named(question.kind).options


def columns_named(question: Question, names: Sequence[str]) -> Sequence[str]:
    """Those that it reads, of the data's columns `names`; all, where it names none."""
    options = question.options
    if "columns" not in options:
        return names
    response = [options["response"]] if "response" in options else []
    return [str(name) for name in (*options["columns"], *response)]


def numbers_named(
    question: Question, names: Sequence[str], said: Mapping[str, Column]
) -> Sequence[str]:
    """The data's columns that the formula of a question reads as numbers."""
    model = _model(question, said)
    return [] if model is None else [name for name in model.number_columns if name in names]


def columns_in_formula(question: Question, said: Mapping[str, Column]) -> Sequence[str]:
    """All that its formula reads, where it has one; or that it names one by one."""
    model = _model(question, said)
    return named_apart(question) if model is None else model.columns_needed


def named_apart(question: Question) -> tuple[str, ...]:
    """The columns of a question about survival: its time, its event, its groups."""
    options: dict[str, Any] = question.options
    if "time" not in kind_named(question.kind).options:
        return ()
    said = [options[option] for option in ("time", "event") if option in options]
    return (*said, *options.get("by", ()))


def as_times(columns: Mapping[str, Column], questions: Iterable[Question]) -> dict[str, Column]:
    """The same, where numbers that questions take for a time are said to be one."""
    found, times = dict(columns), {named_apart(question)[:1] for question in questions}
    for (name,) in filter(None, times):
        column = found.get(name)
        if isinstance(column, Number) and column.step is not None:
            found[name] = Time(column.low, column.high, column.step, column.unit)
    return found


def _model(question: Question, said: Mapping[str, Column]) -> Model | None:
    options: dict[str, Any] = question.options
    if "formula" not in options:
        return None
    levels = dict.fromkeys(categories_named(question), ANY_LEVELS) | Dictionary.of(said).levels()
    offset = offset_of(options.get("offset"), options.get("exposure"))
    weights, time = options.get("weights"), options.get("time")
    summed = uncentred(formula_asked(options), levels)[0]
    return Model(summed, weights=weights, offset=offset, time=time, levels=levels)


def categories_named(question: Question) -> list[str]:
    """The columns in C(name) of its formula, which does not state their levels."""
    return without_levels(str(question.options.get("formula", "")))


def drafted(
    source: Source, questions: Sequence[Question], said: Mapping[str, Column], *, but: str = ""
) -> Dictionary:
    """What the rows' columns seem to be: of those that questions read, what is not said already.

    One column, `but`, is not theirs to read.
    """
    names = [name for name in source.column_names if name != but]
    naming = [question for question in questions if names_columns(question)]
    needed = {name for question in naming for name in columns_named(question, names)}
    categories = {name for question in questions for name in categories_named(question)}
    for question in questions:
        needed |= set(numbers_named(question, source.column_names, said))
    needed |= categories & set(source.column_names)
    needed |= {name for question in questions for name in named_apart(question)}
    missing = [name for name in source.column_names if name in needed - set(said)]
    missing += sorted(needed - set(said) - set(missing))  # which the source will refuse
    lenient = any("columns" not in question.options for question in naming)
    found = draft([source], missing, categories=categories, lenient=lenient)
    for question in questions:
        if asked := named_apart(question)[:2]:
            found = Dictionary.of(as_asked(found, *asked))
    return found


def with_columns(question: Question, names: Sequence[str], columns: Dictionary) -> Question:
    """The same question with its columns spelt out, where it names none.

    A linear system takes the last column, or the response that was named, as b and the others as A;
    an average takes the numbers, a description every column.
    """
    options: dict[str, Any] = question.options
    if not names_columns(question) or "columns" in options:
        return question
    described = [name for name in names if name in columns]
    if question.kind != "describe":
        described = [name for name in described if isinstance(columns[name], Number)]
    if "response" in kind_named(question.kind).options:
        options["response"] = options.get("response", described[-1] if described else "b")
        described = [name for name in described if name != options["response"]]
    if not described:
        return question
    return Question(question.kind, question.name, (*options.items(), ("columns", tuple(described))))
