"""A study in words, for people who do not run it: what is asked, opened, checked and hidden."""

# Rule: nothing here knows a row, and nothing is promised that `preflight` does not say.

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, starmap, tee
from math import log10
from typing import Any

from titan.joint.computation import Computation
from titan.joint.explanations import explained
from titan.joint.kinds import Question
from titan.joint.meeting import stages_of
from titan.listing import listing
from titan.release.dictionary import in_words
from titan.release.policy import counted
from titan.report.page import Html, items, table, tag
from titan.study import Study
from titan.study.title import columns_asked

_STEPS = {
    0: ("counts", "each party checks the number of rows, and every count without its own rows"),
    1: ("what explains", "each party checks the leverage of each of its rows"),
    2: ("outcomes", "each party computes the same fit from them, or its next step"),
}
_LAST = "(the last one)"
_EXPLAINED = {
    "coarser grids": (
        "“Off coarser grids”: the number of rows, and of parties, with values that are not "
        "multiples of 2, 5, 10 or more steps, such as blood pressures that do not end in 0 or 5. "
        "It shows how finely values were written down, and whether many parties write them so: if "
        "only a few do, the last digits of the sums come from them alone."
    ),
    "e² a aᵀ": (
        "“e² a aᵀ”, for robust errors: each row's products of columns, multiplied by the square of "
        "e, which is how far that row's outcome is from what the fit expects, are added up over "
        "all rows. It shows where the fit is good and where it is poor, for all rows together."
    ),
    "leverage": (
        "“Leverage” is how much a single row decides the fit: at 1, that row alone decides a "
        "coefficient; at 1/3, the row is as well hidden as one among three."
    ),
}
"""Words that a board may not know, explained where they occur."""
NOT_HIDDEN = (
    "This does not protect against: a party that enters false rows; what the opened numbers "
    "themselves say about everyone together; other studies of the same people that a party's own "
    "record of studies, its ledger, does not know."
)
MASKED = "Only sums do, hidden behind random numbers that cancel only in the total of all parties"
_VETO = (
    "A party that refuses because of its rows enters random numbers instead: the study ends, and "
    "the others learn that someone refused, but not who or why."
)


def lowered_rules(facts: Mapping[str, Any]) -> Html:
    lowered = facts["lowered"]
    if not lowered:
        return tag(
            "p", f"Nothing is below what the policy “{facts['release']['policy']}” asks for."
        )
    said = items(each["said"] for each in lowered)
    return tag("div", "Below the default: less is protected than usual", said, kind="alarm")


# -- questions --------------------------------------------------------------------------------

_ASKED = {
    "regression": "how {response} depends on {columns}: least squares",
    "ridge": "how {response} depends on {columns}: least squares with penalties {alphas}",
    "describe": "what the rows are like: counts, means and standard deviations of {columns}",
    "average": "the average over the parties of {columns}",
    "glm": "how {response} depends on {columns}: {family}",
    "solve": "the solution of linear equations in {columns}, with the right side {response}",
    "cox": "how the hazard of {response} depends on {columns}: Cox's proportional hazards, with a "
    "baseline hazard for each party",
    "survival": "how long until {response}: survival curves (Kaplan-Meier), by {columns}",
}
_MEAN = "the mean of {response}"  # y ~ 1
_FAMILIES = {"binomial": "logistic regression", "poisson": "Poisson regression"}
_RELEASED = {"solution": ", the coefficients alone", "inference": " with standard errors"}


def question_in_words(question: Question, study: Study) -> Html:
    """Its name, what it asks, and how that is written."""
    said = tag("span", f": {asked_for(question, study)} ")
    return Html(tag("b", question.name) + said + tag("code", str(question)))


def asked_for(question: Question, study: Study) -> str:
    """What a question asks; empty for a kind that has no words here."""
    named, words = _named(question, study), _ASKED.get(question.kind)
    if words is None:
        return ""
    if not named["columns"]:  # y ~ 1, or no groups
        words = words.replace("how {response} depends on {columns}", _MEAN)
        words = words.removesuffix(", by {columns}")
    said = words.format(**named)
    if question.kind == "regression":
        said += _RELEASED[str(question.options.get("release", "inference"))]
    return said


def _named(question: Question, study: Study) -> dict[str, str]:
    columns, response = columns_asked(question, study.columns)
    alphas: Any = question.options.get("alphas", ())
    family = str(question.options.get("family", "binomial"))
    return {
        "columns": listing(columns, 12),
        "response": response,
        "alphas": listing(alphas),
        "family": _FAMILIES.get(family, family),
    }


def columns_in_words(columns: Mapping[str, Any]) -> Html:
    return tag("p", "Columns: ", "; ".join(starmap(in_words, columns.items())), kind="quiet")


# -- what is opened ---------------------------------------------------------------------------


def opened_in_steps(study: Study, made: int | None = None) -> Html:
    """The sums in their order, or the first that were made; those that open the same in one row."""
    heads = ("step", "every party then knows", "numbers", "before the next step")
    rows: list[tuple[str, ...]] = []
    for same, steps in groupby(_steps(study, made), _alike):
        (first, *_), (*_, last) = tee(steps)
        ends = zip(first[:2], last[:2], strict=True)
        number, name = (one if one == other else f"{one} to {other}" for one, other in ends)
        rows.append((f"{number}. {name}", *same[1:], last[-1]))
    return table(heads, rows, "steps")


def _alike(step: tuple[str, ...]) -> tuple[str, ...]:
    """A step with a place of its own stands alone; of others what they open counts."""
    named = step[1] if step[1] in dict(_STEPS.values()) else ""
    return named, *step[2:4]


def _steps(study: Study, made: int | None) -> Iterator[tuple[str, ...]]:
    """Number and name of each; what it tells, how many numbers, what is done then."""
    stages = study.meeting.stages[:made]
    for at, stage in enumerate(stages):
        name, then = _STEPS.get(stage, (study.meeting.sums[at].name, ""))
        then = _LAST if at + 1 == len(stages) else then
        told = [
            f"{question}: {'; '.join(said)}"
            for question, computation in study.meeting.computations
            if (said := list(_told(computation, stage)))
        ]
        entries = str(study.meeting.sums[at].entries - 1)  # without that of the veto
        yield str(at + 1), name, items(told), entries, then


def explained_words(opened: Html) -> Html:
    return items(said for words, said in _EXPLAINED.items() if words in opened)


def _told(computation: Computation[Any, Any, Any], stage: int) -> Iterator[str]:
    """What its sum at this stage tells: as many of its items as fill the sum."""
    said = [item for item in explained(computation).items if item.numbers]
    for at, sum_ in zip(stages_of(computation), computation.sums, strict=True):
        here, left = [], sum_.entries
        while said and said[0].numbers <= left:
            left -= said[0].numbers
            here.append(said.pop(0).sentence)
        if at == stage:
            yield from here if not left else [sum_.opens]


def precision_in_words(
    study: Study, facts: Mapping[str, Any], shares: Sequence[Mapping[str, Any]]
) -> Iterator[Html]:
    """What follows from the sums, how precise they are, and how much they tell."""
    yield tag("p", "From this, everyone can compute:")
    yield items(item.said.replace("by computing: ", "") for item in _computed(study))
    bits = study.precision
    made = "taken EXACTLY"
    if bits != "exact":
        made = f"rounded to {bits} bits (about {round(bits * log10(2))} digits)"
    yield tag(
        "p",
        "Precision: columns of the data enter sums exactly, in the steps named above; columns made "
        f"by a formula (logarithms, powers, products) are {made}; robust errors are rounded to "
        "24 bits (about 7 digits).",
    )
    yield tag("p", "How much is opened, in bits (one bit answers one question with yes or no):")
    yield items(f"{each['name']}: {_how_much(each['opened'])}" for each in facts["questions"])
    if shares:
        yield tag("p", _budget(shares))


def _budget(shares: Sequence[Mapping[str, Any]]) -> str:
    """From how many rows on, since what formulas make of columns tells much of few rows."""
    if any(each["least_rows"] is None for each in shares):
        return "Too many columns are made from the same ones: this is refused whatever the rows."
    rows = max(each["least_rows"] * each["cells"] for each in shares)
    return (
        "What columns made by formulas, and the steps of a GLM, reveal about single values is at "
        "most three tenths of what the rows hold about them: with fewer than about "
        f"{rows} rows in all, this study is refused."
    )


def _how_much(opened: Mapping[str, Any]) -> str:
    from titan.study.preflight import MORE_THAN_ROWS

    held, rows = opened["rows_bits"], opened["rows"]
    said = f"{opened['numbers']} numbers with {opened['bits']} bits in all"
    if held is None:
        return said
    more = f" ({MORE_THAN_ROWS})" if opened["bits"] > held else ""
    return f"{said}; {counted(rows)}, the fewest that are allowed, hold {held}{more}"


def _computed(study: Study) -> list[Any]:
    from titan.study.preflight import learned

    return [item for item in learned(study) if not item.numbers]


# -- rules ------------------------------------------------------------------------------------


def rules_in_words(study: Study, facts: Mapping[str, Any]) -> Iterator[str]:
    k, total = study.min_cell, facts["rows_needed_total"]
    left = study.min_residual_df
    beyond = f"; at least {counted(left)} more than parameters (residual degrees of freedom)"
    yield (
        f"Policy “{study.policy}”: at least {counted(study.min_rows_party)} from each party, "
        f"{total} in all, {study.rows_per_parameter} for each parameter{beyond if left else ''}."
    )
    if k and facts["rows_needed_level"] is None:
        yield f"If there is a model, no row has a leverage above 1/{k}."
    elif k:
        local = " No small count is opened at all: a party's own count is 0 or at least that."
        yield (
            "Cells (people with the same categories) that occur have at least "
            f"{counted(k)}, even without any one party's. Those that are summed over have rows "
            f"from at least {study.min_cell_parties} parties. No row has a leverage above 1/{k}."
            f"{local if study.cells == 'local' else ''}"
        )
    else:
        yield "Cells of any size and rows of any leverage may be opened."
    gaps = {"refuse": "are refused", "drop": "are left out"}[study.missing]
    yield f"Values outside their range are refused by their owner; rows with gaps {gaps}."
    yield (
        "Each party's ledger refuses a study whose answer, subtracted from an earlier one, would "
        "show a few rows or a single party."
    )
    yield _VETO
