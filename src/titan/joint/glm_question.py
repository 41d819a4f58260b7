"""Logistic and Poisson regression as a question of a study: on its grid, by its rules."""

from __future__ import annotations

from fractions import Fraction

from titan.decimals import decimal, decimal_text
from titan.errors import InputError, PlanError
from titan.generalised.families import FamilyName, family_named
from titan.generalised.steps import EXACT, MIDDLE
from titan.joint.equations import Given
from titan.joint.glm import GeneralisedLinear
from titan.joint.glm_rows import Ends, Ranges
from titan.joint.kinds import TEXT, Asked, Setting, kind
from titan.moments import Model
from titan.moments.expressions import quoted
from titan.release import Dictionary
from titan.release.made import MadeColumns
from titan.release.model_cells import cells_of
from titan.release.sizes import INDICATOR, Size, expression_size, size_of, sizes
from titan.release.step_budget import LEAST_BITS, StepBudget
from titan.ring.whole import as_whole

PRECISIONS = MIDDLE, 40
"""Bits that may be asked for, from … to; or "exact"."""
_OPTIONS = ("formula", "family", "offset", "exposure", "weights", "alpha", "precision")


def offset_of(offset: object, exposure: object) -> str | None:
    """Both as one expression."""
    if offset is not None and exposure is not None:
        raise InputError(
            "both an offset and an exposure",
            hint="offset = log(exposure): one is enough",
            choice="exposure",
        )
    for what, text in (("offset", offset), ("exposure", exposure)):
        if text is not None and not isinstance(text, str):
            raise InputError(
                f"{what} is {type(text).__name__}, not the name of a column",
                hint=f'{what}="days"',
            )
    if exposure is not None:
        return f"log({quoted(str(exposure))})"
    return None if offset is None else str(offset)


def bits_of(precision: object) -> int:
    least, most = PRECISIONS
    if precision == "exact":
        return EXACT
    whole = as_whole(precision)
    if whole is None or not least <= whole <= most:
        hint = f'from {least} to {most} bits, or "exact"'
        raise PlanError(f"precision={precision!r}", hint=hint, choice="precision")
    return whole


def _model(asked: Asked, columns: Dictionary) -> Model:
    texts = {key: str(asked[key]) for key in ("offset", "exposure", "weights") if key in asked}
    offset = offset_of(texts.get("offset"), texts.get("exposure"))
    return columns.model(str(asked["formula"]), weights=texts.get("weights"), offset=offset)


def precision_asked(asked: Asked) -> int:
    """A study does not open sums exactly: full precision would tell more than the answer needs. It
    may agree on less than is usual, where a party has most of the rows."""
    text, least, most = str(asked.get("precision", MIDDLE)), LEAST_BITS, PRECISIONS[1]
    if not text.isdecimal() or not least <= int(text[:9]) <= most:
        raise InputError(f"precision is {text[:40]!r}", hint=f"from {least} to {most} bits")
    return int(text)


def alpha_asked(asked: Asked) -> Fraction:
    text = str(asked.get("alpha", "0"))
    try:
        found = decimal(text, most_exponent=300)
    except ValueError as error:
        raise InputError(f"alpha is {text[:40]!r}: {error}", hint="such as 0.5") from None
    if found < 0:
        raise InputError(f"alpha is {text[:40]}", hint="0 or more")
    return found


def _settle(asked: Asked, columns: Dictionary) -> Asked:
    """The formula in its one form, and only choices that are not the usual ones."""
    family = family_named(asked.get("family", "binomial"))
    model = _model(asked, columns)
    if all(size_of(name, columns) for name in model.number_columns):
        _check_outcome(family, sizes(model, columns)[-1], model)
        if model.offset_factor is not None:
            expression_size(model.offset_factor.expression, columns, model.offset or "")
    settled = dict(asked) | {"formula": model.formula, "family": family}
    settled.pop("exposure", None)
    if model.offset is not None:
        settled["offset"] = model.offset
    settled["alpha"], settled["precision"] = (
        decimal_text(alpha_asked(asked)),
        str(precision_asked(asked)),
    )
    usual = {"alpha": "0", "precision": str(MIDDLE)}
    return {name: value for name, value in settled.items() if usual.get(name) != value}


def _check_outcome(family: FamilyName, size: Size, model: Model) -> None:
    low, high, name = size.low, size.high, model.names[-1]
    whole = size.unit.denominator == 1
    if family == "binomial" and not (low >= 0 and high <= 1 and whole):
        raise InputError(
            f"the outcome {name} is not 0 or 1 by the dictionary", hint=f"--flag {name}"
        )
    if family == "poisson" and not (low >= 0 and whole):
        raise InputError(
            f"the outcome {name} is not a count by the dictionary",
            hint=f"--range {name}=0:100 --step {name}=1",
        )


@kind(
    "glm",
    options=dict.fromkeys(_OPTIONS, TEXT),
    first="formula",
    required=("formula",),
    settle=_settle,
)
def glm(asked: Asked, setting: Setting) -> GeneralisedLinear:
    """Logistic or Poisson regression, with a proof."""
    known, policy, parties = setting.columns, setting.policy, len(setting.parties)
    family = family_named(asked.get("family", "binomial"))
    model = _model(asked, known)
    made = MadeColumns.of(model, known, policy.precision)
    weights = size_of(model.weights, known) if model.weights else INDICATOR
    assert weights is not None  # noqa: S101 - described, as all that the model reads
    cells = cells_of(model, known, squared=True, events=family == "poisson", steps=True)
    return GeneralisedLinear(
        Given(model.names, made.sizes, "solution", weights, cells, parties),
        parties,
        policy,
        model,
        setting.missing,
        known.place,
        made.rounding,
        setting.tau,
        family=family,
        bits=precision_asked(asked),
        alpha=alpha_asked(asked),
        ranges=ranges_of(model, made.sizes, weights, known),
        told=StepBudget(model, made.rounding, known, family) if policy.rows_per_cell else None,
    )


def ranges_of(model: Model, found: tuple[Size, ...], weights: Size, known: Dictionary) -> Ranges:
    *columns, response = (_ends(size) for size in found)
    offset = (Fraction(0), Fraction(0))
    if model.offset_factor is not None:
        offset = _ends(expression_size(model.offset_factor.expression, known, model.offset or ""))
    one = (Fraction(1), Fraction(1))
    return Ranges(tuple(columns), response, _ends(weights) if model.weights else one, offset)


def _ends(size: Size) -> Ends:
    return size.low, size.high
