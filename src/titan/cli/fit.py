"""titan fit: regression on all parties' rows together, or on one file of any length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from titan.cli import inputs, networks, options
from titan.cli.family_options import Generalised
from titan.cli.output import check_save, give, show_wrapped, waiting
from titan.cli.rows_options import RowsFrom
from titan.errors import FileError, InputError, UsageError

if TYPE_CHECKING:
    from titan.generalised.result import GLM
    from titan.leastsquares import Regression, Ridge
    from titan.moments import Model, Moments, Source
    from titan.network import Network
    from titan.release.policy import Policy

    Part = Source | Moments
    Answer = Regression | Ridge | GLM


@options.grouped
def command(
    files: Annotated[
        list[Path] | None,
        Argument(
            metavar="FILE...",
            help="One CSV, Parquet or moments file per party (or a folder, or a pattern in "
            "quotes); one alone needs no network.",
        ),
    ] = None,
    *,
    modelled: options.Modelled,
    generalised: Generalised,
    party: Annotated[
        str | None, Option(help="Divide one file among parties by this column.")
    ] = None,
    missing: options.Missing = "refuse",
    cov_type: Annotated[
        str,
        Option(
            help="Standard errors: nonrobust, HC0 to HC3, or cluster (by party).",
            rich_help_panel=options.MODEL,
        ),
    ] = "nonrobust",
    ridge: Annotated[
        float | None,
        Option(
            help="Penalise coefficients by this times their squares.",
            rich_help_panel=options.MODEL,
        ),
    ] = None,
    decimal: options.Decimal = False,
    where: RowsFrom,
    csv: options.Csv,
    network: options.NetworkName = None,
    tau: options.Tau = None,
    sums: options.SumChoices,
    engine: options.Engine = None,
    solver: options.Solver = None,
    allow_small: options.AllowSmall = False,
    save: options.Save = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Fit a regression to all parties' rows together; nobody shows a row.

    A party has the name of its file. Decimal text is read exactly, and every digit that is printed
    is proven. A single FILE is read in batches, so it may be larger than memory. Files made by
    `titan moments` need no formula; if there is one, it chooses among their columns. Too few rows
    of a party, in all or for the model are refused (--allow-small).

    \b
    Example:
      titan fit north.csv east.csv south.csv --formula "y ~ a + b" --tau 1
      titan fit heart.csv --party hospital --formula "thalach ~ age" --tau 1
      titan fit heart.csv --party hospital --formula "exang ~ age" \\
        --family binomial
      titan fit huge.parquet --formula "y ~ poly(x, 3, raw=True)" --json
      titan fit --sql "select * from visits" --from duckdb:big.db \\
        --formula "y ~ age"
    """
    where.check(files, "FILE")
    files = files or [where.name]
    check_save(save, [*files, *where.read], force)
    special = generalised.given()
    if special and (ridge is not None or cov_type != "nonrobust"):
        raise UsageError("--family has neither --ridge nor --cov-type", hint="--alpha penalises")
    reading = _Reading(modelled.model(pooled=True), missing, cov_type, ridge, allow_small, special)
    choices = sums.given(tau=tau, engine=engine, solver=solver)
    with waiting() as wait:
        parts = _parts(files, party, decimal, csv, where, wait.rows)
        if len(files) == 1 and party is None:
            options.refuse_without_network(
                network=network, allow_small=allow_small or None, **choices
            )
            net, out = None, reading.alone(next(iter(parts.values())))
        else:
            net = networks.among(network or "cycle", list(parts))
            out = reading.together(parts, net, choices | {"progress": wait.rounds})
    give(options.answer(out, net), lambda: _print(out, net, tau), json=json, save=save)


# -- inputs -----------------------------------------------------------------------------------


def _parts(
    files: Sequence[Path],
    party: str | None,
    decimal: bool,
    csv: options.Csv,
    where: RowsFrom,
    watch: inputs.RowsRead | None,
) -> dict[str, Part]:
    """Party → its rows or its moments."""
    if party is not None and len(files) != 1:
        raise UsageError(
            f"--party divides one file, and {len(files)} were given",
            hint="without --party every file is a party's",
        )
    query = where.query()
    parts: dict[str, Part] = {
        name: (inputs.load_moments(path) if query is None else None)
        or inputs.open_rows(query or where.of(csv.of(path)), decimal=decimal, watch=watch)
        for name, path in inputs.by_party(files).items()
    }
    return parts if party is None else _divided(next(iter(parts.values())), files[0], party)


def _divided(source: Part, file: Path, column: str) -> dict[str, Part]:
    """One file's rows, by the party that a column names."""
    from titan.moments import Moments

    if isinstance(source, Moments):
        raise FileError(
            f"{file.name} holds moments, which cannot be divided", hint="divide the rows"
        )
    return {**inputs.divided(source, column)}


# -- fits -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reading:
    """How rows become moments and moments a regression."""

    model: Model | None
    missing: Any
    cov_type: Any
    ridge: float | None
    allow_small: bool
    generalised: Mapping[str, Any]
    """Of a GLM: its family, and what else was asked of it; empty for a linear regression."""

    def alone(self, part: Part) -> Answer:
        from titan.fitting import fit_own_moments
        from titan.moments import Moments

        if not isinstance(part, Moments):
            return self._fitted(part, None, {})
        return fit_own_moments(self._selected(part), self.model)

    def together(self, parts: Mapping[str, Part], net: Network, sums: Mapping[str, Any]) -> Answer:
        """Some parties may bring moments made before, and others their rows."""
        from titan.fitting import fit_moments
        from titan.joint import SumSettings
        from titan.moments import Moments
        from titan.release.policy import policy_for

        if not any(isinstance(part, Moments) for part in parts.values()):
            return self._fitted(parts, net, sums)
        if "solver" in sums:
            raise InputError("--solver needs rows, and moments were given", hint="leave it out")
        policy = policy_for(self.allow_small)
        secrets = [self._moments(parts[party], party, policy) for party in net.parties]
        return fit_moments(secrets, SumSettings(net, **sums), policy=policy, model=self.model)

    def _fitted(self, data: Any, net: Network | None, sums: Mapping[str, Any]) -> Answer:
        from titan import fitting

        if self.model is None:
            raise options.no_model()
        choices: dict[str, Any] = {
            "formula": self.model.formula,
            "weights": self.model.weights,
            "missing": self.missing,
            "allow_small": self.allow_small,
            **sums,
        }
        if self.generalised:
            from titan.generalising import glm

            if "solver" in choices:
                raise UsageError("--solver is for linear regression", hint="leave it out")
            return glm(data, net, **choices, **self.generalised)
        if self.ridge is not None:
            return fitting.ridge(data, net, alpha=self.ridge, **choices)
        return fitting.fit(data, net, cov_type=self.cov_type, **choices)

    def _moments(self, part: Part, party: str, policy: Policy) -> Moments:
        from titan.moments import Moments, collect

        if isinstance(part, Moments):
            return self._selected(part)
        if self.model is None:
            raise InputError(
                f"{part.label} holds rows, and no model is given",
                hint='--formula "y ~ a + b" for the rows beside the moments',
            )
        found = collect(part, self.model, missing=self.missing)
        policy.check_own(found.moments.rows, party, weightless=found.weightless)
        return found.moments

    def _selected(self, moments: Moments) -> Moments:
        """The moments of the model's columns, made with weights if and only if that is said."""
        if self.cov_type != "nonrobust" or self.ridge is not None or self.generalised:
            asked = "--ridge" if self.ridge is not None else f"--cov-type {self.cov_type}"
            asked = "--family" if self.generalised else asked
            raise InputError(
                f"{asked} needs rows, and moments were given",
                hint="give the files that the moments were made from",
            )
        if self.model is not None and self.model.weights != moments.weights:
            of = moments.weights
            made = "without weights" if of is None else f"with weights {of}"
            raise InputError(
                f"the moments were made {made}",
                hint="ask for the same weights, or leave --formula out",
            )
        return moments if self.model is None else moments.select(self.model.names)


# -- text -------------------------------------------------------------------------------------


_ALSO_LEARNED = {
    "nonrobust": ", bᵀb",
    "HC0": ", bᵀb, Σe²aaᵀ",
    "HC1": ", bᵀb, Σe²aaᵀ",
    "HC2": ", bᵀb, Σe²/(1−h)aaᵀ",
    "HC3": ", bᵀb, Σe²/(1−h)²aaᵀ",
    "cluster": ", bᵀb, the sum over parties of ssᵀ",
}


def _print(out: Answer, net: Network | None, tau: int | None) -> None:
    from titan.generalised.result import GLM
    from titan.leastsquares import Ridge

    print(out.summary())
    if isinstance(out, Ridge):
        rows, learned = out.rows, ""
    elif isinstance(out, GLM):
        rows, learned = out.nobs, f", the score and Hessian of {out.iterations} steps"
    else:
        rows, learned = out.nobs, _ALSO_LEARNED[out.cov_type]
    if net is None:
        print(f"\nOne party alone: {rows} rows, nothing sent to anybody.")
        return
    n = len(out.params)
    print()
    show_wrapped(
        "",
        f"Every party learned: pooled AᵀA ({n}×{n}), Aᵀb{learned}, {rows} rows; "
        f"{options.privacy(net, tau)}.",
    )
    if not isinstance(out, Ridge | GLM) and out.cov_type == "cluster":
        others = f"Any {len(net) - 2} parties can tell the others' two vectors s"
        show_wrapped("", f"{others}, not whose is whose.")
    print(options.cost_line(out.cost))
