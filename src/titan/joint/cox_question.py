"""Cox's proportional hazards as a question of a study: on its grid, by its rules."""

from __future__ import annotations

from titan.decimals import decimal_text
from titan.generalised.risk_sets import ties_named
from titan.generalised.steps import MIDDLE
from titan.joint.cox import ProportionalHazards
from titan.joint.cox_asked import grid_asked, model_asked, right_side, spoken
from titan.joint.cox_rows import TimeGrid
from titan.joint.equations import Given
from titan.joint.glm_question import alpha_asked, precision_asked, ranges_of
from titan.joint.kinds import TEXT, Asked, Setting, kind
from titan.moments import Model
from titan.release import Dictionary, Number
from titan.release.made import MadeColumns
from titan.release.model_cells import cells_of
from titan.release.risk_set_counts import RiskSetCounts
from titan.release.sizes import INDICATOR, size_of, sizes
from titan.release.step_budget import StepBudget

_OPTIONS = ("formula", "time", "event", "grid", "ties", "alpha", "precision")


def _settle(asked: Asked, columns: Dictionary) -> Asked:
    """The formula in its one form, and only choices that are not the usual ones."""
    times, model = grid_asked(asked, columns), model_asked(asked, columns.model)
    if all(size_of(name, columns) for name in model.number_columns):
        sizes(model, columns)  # every function has a value, wherever a row may lie
    settled = dict(asked) | {
        "formula": right_side(model),
        "grid": decimal_text(times.grid),
        "ties": ties_named(asked.get("ties", "efron")),
        "alpha": decimal_text(alpha_asked(asked)),
        "precision": str(precision_asked(asked)),
    }
    usual = {"ties": "efron", "alpha": "0", "precision": str(MIDDLE)}
    return {name: value for name, value in settled.items() if usual.get(name) != value}


@kind(
    "cox",
    options=dict.fromkeys(_OPTIONS, TEXT),
    first="formula",
    required=("formula", "time", "event"),
    settle=_settle,
    spoken=spoken,
)
def cox(asked: Asked, setting: Setting) -> ProportionalHazards:
    """Hazard ratios, with a proof; every party has a baseline hazard of its own."""
    known, policy, parties = setting.columns, setting.policy, len(setting.parties)
    model = model_asked(asked, known.model)
    made, times = MadeColumns.of(model, known, policy.precision), grid_asked(asked, known)
    return ProportionalHazards(
        Given(
            model.names,
            made.sizes,
            "solution",
            INDICATOR,
            RiskSetCounts.beside(
                cells_of(model, known, squared=True, steps=True), model.names[1:-1]
            ),
            parties,
        ),
        parties,
        policy,
        model,
        setting.missing,
        known.place,
        made.rounding,
        setting.tau,
        bits=precision_asked(asked),
        alpha=alpha_asked(asked),
        ranges=ranges_of(model, made.sizes[1:], INDICATOR, known),
        told=_told(model, made, setting, times) if policy.rows_per_cell else None,
        times=times,
        ties=ties_named(asked.get("ties", "efron")),
    )


def _told(model: Model, made: MadeColumns, setting: Setting, times: TimeGrid) -> StepBudget:
    """What steps may tell of a table of the model's numbers and the time."""
    column = setting.columns[times.time]
    assert isinstance(column, Number)  # noqa: S101 - as `grid_asked` saw
    intervals, parties = max(1, -int(-column.high // times.grid)), len(setting.parties)
    return StepBudget(
        model, made.rounding, setting.columns, "cox",
        time=times.time, intervals=intervals, parties=parties,
    )  # fmt: skip
