"""A study on one machine: every party on the loopback interface, with keys to throw away.

A rehearsal's study is the real one in everything that counts for the answer: parties and their
order, links and who dials, model, τ, release and sums. Addresses are on 127.0.0.1, and unless keys
are given every party has a new one; so its digest is another.
"""

# Rule 1: what holds keys or rows is readable by its owner only, from its first moment on.
# Rule 2: a cell keeps its text, a column its type: what is divided is read back as it was.

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from titan.errors import DataError, FileError, InputError
from titan.listing import listing
from titan.moments import open_source
from titan.moments.cells import Cells, Later
from titan.moments.parquet_file import ParquetFile
from titan.moments.sources import Block, party_names
from titan.network import Network
from titan.study import Card, Identity, Link, Study
from titan.study.identity import checked_name

ENDINGS = (".csv", ".parquet", ".npz")
_PORTS = range(20_000, 32_768)  # below those that systems hand out to whoever dials
_DAYS = 2
_WITH_COMMA = "^([+-]?[0-9]*),([0-9]+(?:[eE][+-]?[0-9]+)?)$"


# -- identities -------------------------------------------------------------------------------


def on_loopback(study: Study, folder: Path, *, keys: Path | None, now: datetime) -> Study:
    """The same study on this machine; every party's key is written to `folder` as `<party>.key`.

    With `keys`, a folder of the parties' own, certificates stay as they are in the study.
    """
    made = _identities(study.network.parties, folder, now, study.parties if keys else (), keys)
    return replace(study, parties=made)


def study_among(
    network: Network, folder: Path, *, keys: Path | None, now: datetime, **content: Any
) -> Study:
    """A study of these parties on this machine; `content` is that of a `Study`: formula, tau, …

    Keys are written to `folder`; with `keys` they and their cards are taken from there.
    """
    cards: Iterable[Card] = ()
    if keys is not None:
        cards = [Card.load(_key(keys, name).with_suffix(".card")) for name in network.parties]
    parties = _identities(network.parties, folder, now, cards, keys)
    return Study(parties=parties, links=tuple(Link(a, b) for a, b in network.edges), **content)


def _identities(
    names: Sequence[str], folder: Path, now: datetime, cards: Iterable[Card], keys: Path | None
) -> tuple[Card, ...]:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    addresses = free_addresses(len(names))
    if keys is None:
        made = [
            Identity.create(name, address, now=now, days=_DAYS)
            for name, address in zip(names, addresses, strict=True)
        ]
    else:
        made = [
            replace(Identity.load(_key(keys, card.name), card), card=replace(card, address=address))
            for card, address in zip(cards, addresses, strict=True)
        ]
    for identity in made:
        identity.save(folder, force=True)
    return tuple(identity.card for identity in made)


def _key(keys: Path, name: str) -> Path:
    path = keys / f"{checked_name(name)}.key"
    if not path.is_file():
        raise FileError(
            f'there is no key of "{name}": {path}',
            hint="give every party's key, or none for keys to throw away",
        )
    return path


def free_addresses(count: int) -> list[str]:
    """Addresses that nobody listens on.

    Somebody might between now and then; the ports are ones that no dialler is given, and where the
    search begins depends on the process, so that two rehearsals rarely meet.
    """
    start = os.getpid() * 131 % len(_PORTS)
    found: list[int] = []
    with ExitStack() as held:
        for step in range(len(_PORTS)):
            port = _PORTS[(start + step) % len(_PORTS)]
            probe = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                probe.close()
                continue
            found.append(port)
            if len(found) == count:
                return [f"127.0.0.1:{port}" for port in found]
    raise InputError(f"this machine has no {count} free ports from {_PORTS[0]} to {_PORTS[-1]}")


# -- rows -------------------------------------------------------------------------------------


def files_in(folder: Path, parties: Sequence[str]) -> tuple[dict[str, Path], list[Path]]:
    """Every party's file, `<party>.csv` or `<party>.parquet`, and the files that are nobody's."""
    if not folder.is_dir():
        raise FileError(f"{folder} is not a directory", hint="it has one file of rows per party")
    held = sorted(file for file in folder.iterdir() if file.suffix.lower() in ENDINGS)
    others = [file for file in held if file.stem not in parties]
    found: dict[str, Path] = {}
    for file in held:
        if file.stem in found:
            raise FileError(
                f'{folder} has two files of "{file.stem}": {found[file.stem].name} and {file.name}',
                hint="remove one of them",
            )
        if file.stem in parties:
            found[file.stem] = file
    absent = [name for name in parties if name not in found]
    if absent:
        strangers = listing(file.name for file in others)
        raise FileError(
            f"{folder} has no file of " + listing(f'"{name}"' for name in absent),
            hint=f'such as "{absent[0]}.csv" or "{absent[0]}.parquet"'
            + (f"; these belong to no party of the study: {strangers}" if others else ""),
        )
    return {name: found[name] for name in parties}, others


def divide(file: Path, column: str, folder: Path) -> dict[str, Path]:
    """One file per party in `folder`, from one file whose `column` names the party of each row.

    Parties come in the order of their first rows, as `split_by` has it.
    """
    source = open_source(file)
    source.check([column])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ending = ".parquet" if isinstance(source, ParquetFile) else ".csv"
    paths: dict[str, Path] = {}
    with ExitStack() as open_files:
        writers: dict[str, Any] = {}
        by_party = source.each_block(partial(_by_party, column=column), columns=source.column_names)
        for table, rows_of in by_party:
            for party, rows in rows_of.items():
                if party not in writers:
                    paths[party] = folder / f"{_file_name(party, column)}{ending}"
                    writers[party] = open_files.enter_context(_writer(paths[party], table))
                writers[party].write_table(table.take(rows))
    if not paths:
        raise DataError(f"{source.label} has no rows")
    if len(paths) == 1:
        raise DataError(
            f'{source.label} has one party only: column "{column}" is the same in all rows',
            hint="a rehearsal needs two parties or more",
        )
    return paths


def _by_party(block: Block, column: str) -> tuple[Any, dict[str, Any]]:
    """A block as a table, and the numbers of each party's rows in it; parties by first rows."""
    import pyarrow as pa

    coded = party_names(block, column).dictionary_encode()
    codes = np.asarray(coded.indices)
    rows = {
        party: np.flatnonzero(codes == code)
        for code, party in enumerate(coded.dictionary.to_pylist())
    }
    table = {name: _with_points(cells) for name, cells in block.cells.items()}
    return pa.table(table), rows


def _with_points(cells: Cells) -> Any:
    """The cells as they are, but for numbers with commas: the files made here have points."""
    values = cells.values.made() if isinstance(cells.values, Later) else cells.values
    if not cells.decimal_comma:
        return values
    import pyarrow.compute as pc

    return pc.replace_substring_regex(values, _WITH_COMMA, r"\1.\2")


def _file_name(party: str, column: str) -> str:
    try:
        return checked_name(party)
    except InputError as error:
        raise DataError(f'column "{column}": {error.message}', hint=error.hint) from None


def _writer(path: Path, table: Any) -> Any:
    from pyarrow import csv, parquet

    if path.suffix == ".parquet":
        return parquet.ParquetWriter(path, table.schema)
    return csv.CSVWriter(path, table.schema)
