"""titan rehearse: all parties of a study on this machine, each a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from titan.cli import networks, options
from titan.cli.output import (
    as_json,
    check_writable,
    refuse_inputs,
    show_json,
    show_rows,
    write_text,
)
from titan.errors import FileError, InputError

if TYPE_CHECKING:
    from titan.party.rehearsal import Rehearsal
    from titan.study import Study

_TITLE = "a rehearsal"


def command(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A study with --data, or rows with --party."),
    ],
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Every party's rows: <party>.csv or <party>.parquet."),
    ] = None,
    party: Annotated[
        str | None, typer.Option(help="Divide one file of rows among parties by this column.")
    ] = None,
    formula: options.Formula = None,
    response: options.Response = None,
    columns: options.Columns = None,
    no_intercept: options.NoIntercept = False,
    weights: options.Weights = None,
    missing: Annotated[
        str | None, typer.Option(help="refuse or drop rows with missing values. [default: refuse]")
    ] = None,
    network: Annotated[
        str | None, typer.Option(help=f"{networks.HELP_STUDY} [default: cycle]")
    ] = None,
    tau: Annotated[
        int | None, typer.Option(help="How many curious parties must learn nothing. [default: 1]")
    ] = None,
    release: Annotated[
        str | None, typer.Option(help="solution or inference. [default: inference]")
    ] = None,
    recovery: options.Recovery = None,
    k: options.K = None,
    rounds: options.Rounds = None,
    bits: options.Bits = None,
    masks: options.Masks = None,
    solver: options.Solver = None,
    min_rows: Annotated[
        int | None, typer.Option(help="The fewest rows of a party. [default: 10]")
    ] = None,
    rows_per_parameter: Annotated[
        int | None, typer.Option(help="The fewest rows per parameter. [default: 3]")
    ] = None,
    allow_small: Annotated[
        bool, typer.Option("--allow-small", help="Any number of rows will do.")
    ] = False,
    keys: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The parties' keys, <party>.key; new ones without."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep study, keys, runs and transcripts in a new folder."),
    ] = None,
    keep_journal: Annotated[
        bool,
        typer.Option(
            "--keep-journal", help="With --out: leave the masks in the journals, for titan.view."
        ),
    ] = False,
    wait: Annotated[
        float | None,
        typer.Option(min=0.1, help="Seconds to wait for a party. [default: 60, and 3 per party]"),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write the JSON to this file.")] = None,
    json: options.Json = False,
) -> None:
    """Run all parties of a study as processes on this machine, with TLS between them.

    Each party runs titan join on its own rows, at an address of this machine, with keys that are
    thrown away unless some are given. All must end with the same answer.

    With --keep-journal and --out kept, titan.view("kept", ["north"]) in Python returns what these
    parties saw: every message sent to or by them, and their own inputs.

    \b
    Example:
      titan rehearse study.toml --data rows
      titan rehearse heart.csv --party hospital --formula "thalach ~ age + sex" --tau 1
      titan rehearse heart.csv --party hospital --formula "thalach ~ age" --out kept --json
    """
    if save is not None:
        check_writable(save)
        refuse_inputs(save, [file])
    if keep_journal and out is None:
        raise InputError("--keep-journal without --out keeps nothing", hint="--out DIR")
    model = options.model(
        formula, response, options.columns_named(columns), not no_intercept, weights
    )
    content = options.given(
        formula=None if model is None else model.formula,
        weights=weights, missing=missing, tau=tau, release=release, recovery=recovery, k=k,
        rounds=rounds, bits=bits, masks=masks, solver=solver, min_rows_party=min_rows,
        rows_per_parameter=rows_per_parameter,
    )  # fmt: skip
    _check_kind(file, data, party, options.given(network=network, **content))
    from titan.party.rehearsal import rehearse, workplace

    with workplace(_new(out)) as place, _live_line() as progress:
        if data is not None:
            study, rows = _given(file, data)
        else:
            study, rows = _made(file, str(party), network or "cycle", keys, place, content)
        found = rehearse(
            study, rows, keys=keys, folder=place, wait=wait, keep_journal=keep_journal,
            allow_small=allow_small, progress=progress,
        )  # fmt: skip
    answer = found.as_dict() | ({} if out is None else {"folder": str(out)})
    if json:
        show_json(answer)
    else:
        _print(found, out)
    if save is not None:
        write_text(save, as_json(answer) + "\n")


# -- inputs -----------------------------------------------------------------------------------


def _check_kind(
    file: Path, data: Path | None, party: str | None, choices: Mapping[str, Any]
) -> None:
    """A study with its folder of rows, or one file of rows with the column that divides it."""
    if data is not None and party is not None:
        raise InputError(
            "both --data and --party are given",
            hint="--data DIR for a study, --party COLUMN for one file of rows",
        )
    if data is None and party is None:
        study = file.suffix == ".toml"
        raise InputError(
            f"{file.name} alone is not enough",
            hint="--data DIR, with one file of rows per party"
            if study
            else "--party COLUMN, which names the party of each row",
        )
    if data is not None and choices:
        option = next(iter(choices)).replace("min_rows_party", "min_rows").replace("_", "-")
        raise InputError(
            f"--{option} beside a study, which says that itself",
            hint="leave it out, or gather another study",
        )
    if party is not None and "formula" not in choices:
        raise options.no_model()


def _new(out: Path | None) -> Path | None:
    if out is not None and out.is_dir() and any(out.iterdir()):
        raise FileError(f"{out} is not empty", hint="name a new folder")
    return out


def _given(file: Path, data: Path) -> tuple[Study, dict[str, Path]]:
    from titan.party.loopback import files_in
    from titan.study import Study

    study = Study.load(file)
    rows, others = files_in(data, study.network.parties)
    if others:
        named = ", ".join(other.name for other in others[:8]) + (", …" if len(others) > 8 else "")
        print(f"titan: note: not read, for no party is called so: {named}", file=sys.stderr)
    return study, rows


def _made(
    file: Path, column: str, network: str, keys: Path | None, place: Path, content: dict[str, Any]
) -> tuple[Study, dict[str, Path]]:
    """A study of the parties that the file's column names."""
    from datetime import UTC, datetime

    from titan.party.loopback import divide, study_among

    content = {"title": _TITLE, "tau": 1, **content}
    rows = divide(file, column, place / "data")
    net = networks.for_study(network, list(rows), content["tau"])
    study = study_among(net, place / "keys", keys=keys, now=datetime.now(UTC), **content)
    return study, rows


# -- output -----------------------------------------------------------------------------------


@contextmanager
def _live_line() -> Iterator[Callable[[str, str], None] | None]:
    """One line for all parties on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status("starting") as line:
        yield lambda party, said: line.update(escape(f"{party}: {said}"))


def _print(found: Rehearsal, out: Path | None) -> None:
    answer, study = found.answer, found.study
    show_rows(_coefficients(answer))
    if "rsquared" in answer:
        print(f"\n{answer['nobs']} rows, R² {answer['rsquared']:.4f}.")
    learned = "AᵀA, Aᵀb, bᵀb" if study.release == "inference" else "AᵀA, Aᵀb"
    private = options.privacy(study.network, study.tau)
    print(f"\nEvery party learned: pooled {learned} and the number of rows; {private}.")
    cost = answer["cost"]
    print(f"Cost: {cost['rounds']} rounds, {cost['messages']} messages, "
          f"at most {max(cost['bytes_sent'].values())} bytes sent by a party.")  # fmt: skip
    print(f"\nAll {len(found.times)} parties ended with the same answer; seconds from the start:")
    steps = ("connected", "pooled", "answered")
    rows = [(party, *(f"{times[s]:.2f}" for s in steps)) for party, times in found.times.items()]
    show_rows([("", *steps), *rows])
    if out is not None:
        print(f"Kept in {out}: study.toml, keys, and every party's run and transcript.")


def _coefficients(answer: Mapping[str, Any]) -> list[tuple[str, ...]]:
    bound = answer["error_bound"]
    if "params" not in answer:
        head = ("", "coef", "proven within")
        return [head, *((n, repr(x), f"{bound[n]:.1e}") for n, x in answer["x"].items())]
    rows: list[tuple[str, ...]] = [("", "coef", "std err", "t", "P>|t|", "[0.025", "0.975]")]
    for name, x in answer["params"].items():
        cells = (x, answer["bse"][name], answer["tvalues"][name], answer["pvalues"][name])
        rows.append((name, *map(_cell, (*cells, *answer["conf_int"][name]))))
    return rows


def _cell(number: float | None) -> str:
    return "-" if number is None else f"{number:.5g}"
