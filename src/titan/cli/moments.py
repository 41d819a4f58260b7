"""titan moments: a file's exact moments, made once in flat memory, to be used again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from glob import has_magic
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from titan.cli import inputs, options
from titan.cli.output import (
    ask_before_replacing,
    check_writable,
    give,
    refuse_inputs,
    show_rows,
    show_wrapped,
    waiting,
)
from titan.cli.rows_options import RowsFrom
from titan.errors import FileError, InputError, UsageError

if TYPE_CHECKING:
    from titan.moments import Model, Moments, Source


@options.grouped
def command(
    files: Annotated[
        list[Path] | None,
        Argument(metavar="FILE...", help="CSV, Parquet or moments files; their rows are added."),
    ] = None,
    *,
    modelled: options.Modelled,
    out: Annotated[
        Path | None, Option(help="Where to save. [default: like FILE, ending in .moments]")
    ] = None,
    missing: options.Missing = "refuse",
    decimal: options.Decimal = False,
    where: RowsFrom,
    csv: options.Csv,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Sum up FILE exactly, so that `titan fit` need not read its rows again.

    Rows are read in batches, so a file may be larger than memory. What is saved is the sum of
    products of every two columns. Treat it as secret: only you can read it, and nothing of it is
    printed. Without a model all columns are taken, and `titan fit` chooses among them.

    \b
    Example:
      titan moments big.parquet
      titan fit big.moments --response y --columns a,b
      titan moments big.parquet --formula "y ~ a + log(b)" --out log.moments
      titan moments 'rows/*.parquet' --scheduler tcp://10.0.0.1:8786 \\
        --out all.moments
      titan moments --sql "select a, b, y from visits" --from duckdb:big.db \\
        --out visits.moments
    """
    where.check(files, "FILE")
    files = files or [where.name]
    model = modelled.model()
    target = _target(files, out, where)
    check_writable(target)
    ask_before_replacing([target], force)
    with waiting() as wait:
        reading = partial(_read, model, missing, decimal, csv, where, wait.rows)
        made = [(file, *reading(file)) for file in files]
    total = reduce(add, (moments for _, moments, _ in made))
    total.save(target)
    answer = {
        "names": list(total.names),
        "response": total.names[-1],
        "rows": total.rows,
        "dropped": sum(dropped for _, _, dropped in made),
        "files": {str(file): moments.rows for file, moments, _ in made},
        "out": str(target),
    }
    give(answer, lambda: _print(made, total, target), json=json)


def _target(files: Sequence[Path], out: Path | None, where: RowsFrom) -> Path:
    query = where.sql is not None
    if out is None and (len(files) > 1 or query or has_magic(str(files[0]))):
        needs = (
            "a query needs a name for its sum"
            if query
            else "several files need a name for their sum"
        )
        raise UsageError(needs, hint="--out all.moments")
    target = files[0].with_suffix(".moments") if out is None else out
    refuse_inputs(target, [*files, *where.read])
    if target.is_file() and inputs.load_moments(target) is None:
        raise FileError(f"{target} exists and is not a moments file", hint="--out OTHER.moments")
    return target


def _read(
    model: Model | None,
    missing: str,
    decimal: bool,
    csv: options.Csv,
    where: RowsFrom,
    watch: inputs.RowsRead | None,
    file: Path,
) -> tuple[Moments, int]:
    """What the file gives, and how many of its rows were dropped."""
    from titan.moments import collect

    query = where.query()
    moments = inputs.load_moments(file) if query is None else None
    if moments is not None:
        return moments if model is None else moments.select(model.names), 0
    rows = query or where.of(csv.of(file))
    source = inputs.open_rows(rows, decimal=decimal, watch=watch)
    chosen = model or _all_columns(source)
    found = collect(source, chosen, missing=missing)  # type: ignore[arg-type]  # checked there
    return found.moments, found.dropped


def _all_columns(source: Source) -> Model:
    """Without a model all columns count, the last as the response, and any may be chosen later."""
    from titan.moments import Model
    from titan.moments.headings import NO_HEADER, may_be_shown

    if len(source.column_names) < 2:
        raise InputError(f"{source.label} has only one column", hint="at least two are needed")
    if not may_be_shown(source.column_names):  # they would be the names in the file to be saved
        raise InputError(
            f"{source.label} seems to have no column names", hint=f"{NO_HEADER}; or give --columns"
        )
    *explaining, response = source.column_names
    return Model.from_columns(response, explaining)


def _print(made: Sequence[tuple[Path, Moments, int]], total: Moments, target: Path) -> None:
    *explaining, response = total.names
    rows = [(file.name, f"{moments.rows:,}", f"{gone:,}") for file, moments, gone in made]
    if len(made) > 1:
        gone = sum(each for *_, each in made)
        rows.append(("together", f"{total.rows:,}", f"{gone:,}"))
    show_rows([("", "rows", "incomplete, dropped"), *rows])
    show_wrapped("", f"{response} on {', '.join(explaining)}")
    print(f"saved in {target}")
