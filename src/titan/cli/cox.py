"""titan cox: proportional hazards of all parties' rows together, stratified by party."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from titan.cli import options, tables
from titan.cli.family_options import precision_given
from titan.cli.output import check_save, give
from titan.errors import UsageError

if TYPE_CHECKING:
    from titan.generalised.cox_result import Cox
    from titan.network import Network


@options.grouped
def command(
    files: tables.Files,
    *,
    formula: Annotated[
        str, Option(help='What explains the hazard: \'age + C(sex, levels=["f", "m"])\'.')
    ],
    time: tables.Time = None,
    event: tables.Event = None,
    grid: Annotated[
        str | None,
        Option(
            help="Times are rounded up to its multiples. [default: their step]",
            rich_help_panel=options.MORE,
        ),
    ] = None,
    ties: Annotated[
        str,
        Option(help="Events at the same time: efron or breslow.", rich_help_panel=options.MORE),
    ] = "efron",
    alpha: Annotated[
        float | None,
        Option(help="Penalise by half of this times the squares.", rich_help_panel=options.MORE),
    ] = None,
    precision: Annotated[
        str | None,
        Option(
            metavar="BITS|exact",
            help="Of the last step's sums. [default: 24]",
            rich_help_panel=options.MORE,
        ),
    ] = None,
    party: tables.Party = None,
    missing: options.Missing = "refuse",
    csv: options.Csv,
    network: options.NetworkName = None,
    tau: options.Tau = None,
    sums: options.SumChoices,
    engine: options.Engine = None,
    allow_small: options.AllowSmall = False,
    save: options.Save = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Cox's proportional hazards: hazard ratios, each party with its own baseline.

    The answer comes with a proof that the estimate exists and how near it is; without a proof there
    is no answer. An event counts if at least 3 rows of its party are at risk (--allow-small).
    Instead of --time and --event you can write the formula as Surv(months, died) ~ age.

    \b
    Example:
      titan cox north.csv east.csv south.csv --formula "age + arm" \\
        --time months --event died
      titan cox trial.csv --party hospital --grid 6 --tau 1 \\
        --formula "Surv(months, died) ~ age"
    """
    from titan.hazards import cox
    from titan.joint.cox_asked import spoken

    check_save(save, files, force)
    said = spoken(options.given(formula=formula, time=time, event=event))
    for name in ("time", "event"):
        if name not in said:
            raise UsageError(
                f"--{name} is missing: {name}=None is not the name of a column",
                hint='--time months --event died, or --formula "Surv(months, died) ~ age"',
            )
    asked: dict[str, Any] = {"formula": formula, "time": time, "event": event, "grid": grid}
    asked |= {"ties": ties, "alpha": alpha, "missing": missing, **precision_given(precision)}
    choices = sums.given(tau=tau, engine=engine)
    method = partial(cox, **asked)
    net, out = tables.ask(method, files, party, network, choices, allow_small=allow_small, csv=csv)
    give(options.answer(out, net), lambda: _print(out, net, tau), json=json, save=save)


def _print(out: Cox, net: Network | None, tau: int | None) -> None:
    print(out.summary())
    learned = f"rows and events, pooled AᵀA, the score and Hessian of {out.iterations} steps"
    tables.say_learned(out, net, tau, learned)
