"""Where a command's rows are: files, which a cluster may read, or a query to a database."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from typer import Option

from titan.cli.checked_rows import files_given
from titan.cli.options import ELSEWHERE
from titan.errors import UsageError

if TYPE_CHECKING:
    from titan.cli.options import Csv
    from titan.study import Study

_VARIABLE = "TITAN_FROM"


@dataclass(frozen=True)
class RowsFrom:
    """Instead of files, or beside them."""

    PANEL: ClassVar[str] = ELSEWHERE
    sql: Annotated[
        str | None, Option(metavar="QUERY", help="Instead of files: the rows of this query.")
    ] = None
    database: Annotated[
        str | None,
        Option(
            "--from",
            metavar="DATABASE",
            envvar=_VARIABLE,
            help="Where --sql is asked: duckdb:FILE, sqlite:FILE, or a URI (with a password better "
            f"in the variable {_VARIABLE}).",
        ),
    ] = None
    scheduler: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            help="Let the workers of this Dask scheduler read the files: tcp://HOST:PORT.",
        ),
    ] = None

    def check(self, files: Sequence[Any] | None, option: str) -> None:
        """Files or a query, one of them; `option` is what the command calls files."""
        if self.sql is not None and files:
            raise UsageError(f"{option} and --sql are both given", hint="one or the other")
        if self.sql is None and not files:
            raise UsageError(
                f"no rows are given: {option} is missing", hint=f"{option}, or --sql and --from"
            )
        if self.sql is not None and self.database is None:
            raise UsageError("--sql needs to know whom to ask", hint="--from duckdb:FILE")
        if self.sql is None and self.database not in (None, os.environ.get(_VARIABLE)):
            raise UsageError("--from is given without --sql", hint='--sql "select …"')
        if self.sql is not None and self.scheduler is not None:
            raise UsageError(
                "--scheduler reads files, and --sql is given", hint="leave one of them out"
            )
        if self.scheduler is not None:
            from titan.moments.dask_cluster import place_of

            place_of(self.scheduler)  # refuses what is not an address, before anything is read

    def query(self) -> Any:
        """The query; None where files were given."""
        from titan.moments.sql import Query

        return None if self.sql is None else Query(self.sql, str(self.database))

    @property
    def read(self) -> list[Path]:
        """The database, where it is a file."""
        kind, _, file = (self.database or "").partition(":")
        return [Path(file)] if self.sql and file and kind in ("duckdb", "sqlite") else []

    def of(self, files: Any) -> Any:
        """Files, perhaps by name, with who reads them."""
        from titan.moments.csv_format import RowsFile

        if self.scheduler is None:
            return files
        if isinstance(files, Mapping):
            return {name: self.of(file) for name, file in files.items()}
        return RowsFile.of(files).read_by(self.scheduler)

    def of_party(self, study: Study, data: list[str] | None, csv: Csv) -> Any:
        """One party's rows for all questions, or for each."""
        found = self.query()
        return found if found is not None else self.of(csv.of(files_given(study, data or [])))

    @property
    def name(self) -> Path:
        """What rows of a query are called where files have names."""
        return Path("query")
