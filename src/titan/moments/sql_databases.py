"""Databases that can be asked a query: DuckDB, SQLite, and those with an ADBC driver.

They are opened to be read alone, and give Arrow's record batches.
"""

# Rule 1: a URI may hold a password, and a query too: no error, label or repr shows either.
# Rule 2: what a database says of a query is passed on, what it says of rows is not.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from titan.errors import BusyError, DataError, FileError, InputError
from titan.moments.arrow import pa
from titan.moments.extras import needs

FROM = "duckdb:FILE, sqlite:FILE, or a URI such as postgresql://host/name"
_DRIVERS = {
    "postgresql": "adbc_driver_postgresql",
    "postgres": "adbc_driver_postgresql",
    "grpc": "adbc_driver_flightsql",
    "grpc+tls": "adbc_driver_flightsql",
    "snowflake": "adbc_driver_snowflake",
}
_READ_ONLY = {"adbc_driver_postgresql": "set default_transaction_read_only = on"}


def database_of(uri: str) -> Database:
    """Whom to ask."""
    scheme, sign, rest = uri.partition(":")
    if scheme == "duckdb":
        return DuckDb(rest)
    if scheme == "sqlite":
        path = Path(rest.removeprefix("//"))
        there = f"file:{quote(str(path.absolute()))}?mode=ro"
        return Adbc(f"sqlite:{path}", "adbc_driver_sqlite", there, path)
    if not sign or scheme not in _DRIVERS:
        named = (
            f"{scheme}:// is not a database" if rest.startswith("//") else "it is not a database"
        )
        raise InputError(f"{named} that can be asked", hint=FROM, choice="database")
    return Adbc(_without_secrets(uri), _DRIVERS[scheme], uri)


def _without_secrets(uri: str) -> str:
    """Scheme, host and name; no user, password or options."""
    try:
        parts = urlsplit(uri)
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
    except ValueError:
        return f"{uri.partition(':')[0]}:"


class Database(Protocol):
    """What can be asked a query."""

    @property
    def told(self) -> str:
        """What errors call it."""

    def columns(self, query: str) -> list[str]:
        """Of the query, which need not run for that."""

    @contextmanager
    def reader(self, query: str) -> Iterator[Any]:
        """Arrow's record batches, while it is open."""


def of_query(told: str, error: Exception) -> InputError:
    """What is wrong with the query itself: the first line, without what comes before it."""
    said = str(error).partition("\n")[0].rpartition("ERROR:")[2]
    said = said.rpartition("Failed to prepare query:")[2].strip()
    return InputError(f"the query cannot be asked on {told}: {said}", hint="correct it")


def of_rows(told: str, error: Exception) -> DataError:
    """Messages of this kind may quote a cell."""
    state = getattr(error, "sqlstate", None)
    kind = type(error).__name__ + (f", SQLSTATE {state}" if state else "")
    return DataError(
        f"the query on {told} failed while its rows were read: {kind}",
        hint="run it there by itself to see why; where a column holds several types, cast it",
    )


# -- DuckDB -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class DuckDb:
    """A file of DuckDB's; without one, files that the query names."""

    file: str

    @property
    def told(self) -> str:
        return f"duckdb:{self.file}" if self.file else "duckdb"

    def columns(self, query: str) -> list[str]:
        with self._relation(query) as relation:
            return list(relation.columns)

    @contextmanager
    def reader(self, query: str) -> Iterator[Any]:
        with self._relation(query) as relation:
            yield pa.RecordBatchReader.from_stream(relation)

    @contextmanager
    def _relation(self, query: str) -> Iterator[Any]:
        with needs("sql", "DuckDB"):
            import duckdb
        with self._connected(duckdb) as connection:
            connection.execute("set python_enable_replacements = false")  # our variables
            try:
                statements = connection.extract_statements(query)
                if [each.type.name for each in statements] != ["SELECT"]:
                    raise InputError("the query is not one select", hint="one that reads, alone")
                yield connection.sql(query)
            except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as e:
                raise of_query(self.told, e) from None
            except duckdb.Error as error:
                raise of_rows(self.told, error) from None

    def _connected(self, duckdb: Any) -> Any:
        if self.file and not Path(self.file).is_file():
            raise FileError(f"there is no database {self.file}", hint=FROM)
        try:
            return duckdb.connect(self.file or ":memory:", read_only=bool(self.file))
        except duckdb.IOException as error:
            if "lock" in str(error):
                raise BusyError(
                    f"another process has {self.file} open", hint="try again when it is done"
                ) from None
            raise FileError(f"{self.file} is not a database of DuckDB's") from None


# -- ADBC -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Adbc:
    """A database that an ADBC driver connects to."""

    told: str
    driver: str
    uri: str = field(repr=False)
    file: Path | None = None

    def columns(self, query: str) -> list[str]:
        with self._asked(query) as (cursor, errors):
            try:
                return list(cursor.adbc_execute_schema(query).names)
            except errors.NotSupportedError:
                cursor.execute(query)
                return list(cursor.fetch_record_batch().schema.names)

    @contextmanager
    def reader(self, query: str) -> Iterator[Any]:
        with self._asked(query) as (cursor, _):
            cursor.execute(query)
            with cursor.fetch_record_batch() as reader:
                yield reader

    @contextmanager
    def _asked(self, query: str) -> Iterator[Any]:
        with needs("sql", self.driver):
            driver = import_module(f"{self.driver}.dbapi")
        with self._connected(driver) as connection, connection.cursor() as cursor:
            try:
                if self.driver in _READ_ONLY:
                    cursor.execute(_READ_ONLY[self.driver])
                    connection.commit()
            except driver.Error as error:
                raise of_rows(self.told, error) from None
            try:
                cursor.adbc_prepare(query)
            except driver.NotSupportedError:
                pass
            except driver.Error as error:
                raise of_query(self.told, error) from None
            try:
                yield cursor, driver
            except driver.Error as error:
                raise of_rows(self.told, error) from None

    def _connected(self, driver: Any) -> Any:
        if self.file is not None and not self.file.is_file():
            raise FileError(f"there is no database {self.file}", hint=FROM)
        try:
            return driver.connect(self.uri)
        except driver.Error:  # whose message may hold the URI
            raise FileError(
                f"{self.told} cannot be connected to",
                hint="see whether it is there, and whether name and password are right",
            ) from None
