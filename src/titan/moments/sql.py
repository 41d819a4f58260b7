"""The rows of a query, streamed through Arrow: of DuckDB, SQLite, or a database with ADBC.

    Query("select …", "duckdb:FILE")             a file, or without one the files that it names
    Query("select …", "sqlite:FILE")
    Query("select …", "postgresql://host/name")  and others that have an ADBC driver

The query runs anew in every pass.
"""

# Rule: no repr shows a query or a URI, which may hold a password.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from titan.errors import InputError
from titan.moments.arrow import pa
from titan.moments.blocks import BATCH_ROWS, ArrowRows, Block, Place
from titan.moments.sources import Source, check_distinct, name_file
from titan.moments.sql_databases import FROM, database_of, of_rows


@dataclass(frozen=True)
class Query:
    """A query, and where it is asked: its rows wherever rows are taken."""

    text: str = field(repr=False)
    database: str = field(repr=False)

    def __post_init__(self) -> None:
        for given in (self.text, self.database):
            if not isinstance(given, str) or not given.strip():
                raise InputError("a query and a database are texts", hint=FROM)
        database_of(self.database)  # which refuses what is none


class SqlRows(Source):
    """The rows of a query."""

    def __init__(self, query: Query, *, decimal: bool, label: str) -> None:
        self.decimal = decimal
        self._text, self._database = query.text, database_of(query.database)
        self.label = name_file(f"the query on {self._database.told}", label)
        self.column_names = tuple(check_distinct(self._database.columns(self._text), self.label))

    def batches(self, columns: Sequence[str], size: int = BATCH_ROWS) -> Iterator[Block]:
        rows = ArrowRows(tuple(columns), self.decimal)
        with self._database.reader(self._text) as reader:
            try:
                yield from rows.blocks(reader, size, Place(self.label))
            except (pa.ArrowException, OSError) as error:
                raise of_rows(self._database.told, error) from None
