"""A rehearsal's study is the real one but for places and keys, and dividing rows changes none."""

from __future__ import annotations

import stat
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.study.parties import NOW, identity
from tests.study.studies import NAMES, asked, study
from titan import Network
from titan.errors import DataError, FileError, InputError
from titan.moments import Model, collect, open_source, split_by
from titan.party.loopback import divide, files_in, free_addresses, on_loopback, study_among
from titan.study import Identity, Link, Study
from titan.study.identity import Card
from titan_lab import datasets

HEART = datasets.path("heart_disease")


def test_a_copy_differs_in_places_and_keys_alone(tmp_path: Path) -> None:
    real = study(links=tuple(Link(a, b, "pull") for a, b in Network.cycle(list(NAMES)).edges))
    copy = on_loopback(real, tmp_path / "keys", keys=None, now=NOW)
    before, after = real.content(), copy.content()
    assert {key for key in before if before[key] != after[key]} == {"parties"}
    assert copy.network.parties == NAMES
    assert len({card.address for card in copy.parties}) == 4
    for mine, theirs in zip(copy.parties, real.parties, strict=True):
        assert mine.address.startswith("127.0.0.1:")
        assert mine.fingerprint != theirs.fingerprint
        assert Identity.load(tmp_path / "keys" / f"{mine.name}.key").card == mine
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_given_keys_stay(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name in NAMES:
        identity(name).save(own)
    real = study()
    copy = on_loopback(real, tmp_path / "keys", keys=own, now=NOW)
    assert [c.fingerprint for c in copy.parties] == [c.fingerprint for c in real.parties]
    assert all(card.address.startswith("127.0.0.1:") for card in copy.parties)
    assert Card.load(own / "north.card").address == "north.example.org:7443", "left as it was"
    new = study_among(
        Network.cycle(list(NAMES)), tmp_path / "new", keys=own, now=NOW,
        title="t", tau=1, **asked({"formula": "y ~ a"}),
    )  # fmt: skip
    assert [c.fingerprint for c in new.parties] == [c.fingerprint for c in real.parties]
    (own / "east.key").unlink()
    with pytest.raises(FileError, match='no key of "east"'):
        on_loopback(real, tmp_path / "again", keys=own, now=NOW)


def test_a_key_of_somebody_else_is_refused(tmp_path: Path) -> None:
    for name in NAMES[:-1]:
        identity(name).save(tmp_path)
    identity("west", again=1).save(tmp_path)
    with pytest.raises(FileError, match='not the key of "west"'):
        on_loopback(study(), tmp_path / "keys", keys=tmp_path, now=NOW)


def test_a_study_made_of_a_network(tmp_path: Path) -> None:
    net = Network.design(["a", "b", "c", "d"], 2)
    it = study_among(
        net,
        tmp_path,
        keys=None,
        now=NOW,
        title="t",
        tau=2,
        bits=192,
        masks="seeded",
        **asked({"formula": "y ~ x"}),
    )
    assert it.network == net
    assert (it.tau, it.bits, it.masks) == (2, 192, "seeded")
    assert Study.parse(it.to_toml()).digest == it.digest


def test_addresses_are_free_and_different() -> None:
    found = free_addresses(60)
    assert len(set(found)) == 60
    assert all(20_000 <= int(address.rpartition(":")[2]) < 32_768 for address in found)
    with pytest.raises(InputError, match="no 100000 free ports"):
        free_addresses(100_000)


# -- rows -------------------------------------------------------------------------------------


def test_text_is_divided_exactly(tmp_path: Path) -> None:
    parts = divide(HEART, "hospital", tmp_path / "data")
    whole = split_by(open_source(HEART), "hospital")
    assert list(parts) == list(whole)
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    it = Model("thalach ~ age + sex + oldpeak")
    for party, file in parts.items():
        ours, theirs = collect(file, it).moments, collect(whole[party], it).moments
        assert ours.rows == theirs.rows > 10
        assert ours.matrix() == theirs.matrix()
        assert ours.units == theirs.units


def test_cells_keep_their_text(tmp_path: Path) -> None:
    file = tmp_path / "all.csv"
    file.write_text(
        'site,x,note\na,1.50,"one, ""two"""\nb,0.1000000000000000055511151231257827,\n'
        'a,1e-3,"three\nfour"\nb, 7 ,é\n'
    )
    parts = divide(file, "site", tmp_path / "data")
    assert {party: path.name for party, path in parts.items()} == {"a": "a.csv", "b": "b.csv"}
    (batch,) = open_source(parts["a"]).batches(["site", "x", "note"])
    assert batch.cells["x"].values.to_pylist() == ["1.50", "1e-3"]
    assert batch.cells["note"].values.to_pylist() == ['one, "two"', "three\nfour"]
    (batch,) = open_source(parts["b"]).batches(["x", "note"])
    assert batch.cells["x"].values.to_pylist() == ["0.1000000000000000055511151231257827", " 7 "]
    assert batch.cells["note"].values.to_pylist() == ["", "é"]


def test_columns_keep_their_types(tmp_path: Path) -> None:
    table = pa.table({
        "site": pa.array([2, 1, 2], pa.int32()),
        "x": pa.array([Decimal("1.50"), None, Decimal("2.25")]),
        "f": pa.array([0.1, float("nan"), 3.0], pa.float32()),
        "d": pa.array(["u", "v", "u"]).dictionary_encode(),
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "all.parquet")
    parts = divide(tmp_path / "all.parquet", "site", tmp_path / "data")
    assert list(parts) == ["2", "1"]
    assert parquet.read_table(parts["2"]).equals(table.take([0, 2]))
    assert parquet.read_table(parts["1"]).schema == table.schema


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("site,x\na,1\na,2\n", "one party only"),
        ("site,x\n", "no rows"),
        ("site,x\na,1\n,2\n", 'line 3, column "site": no party is named'),
        ("site,x\na,1\n../b,2\n", 'column "site": name .* cannot be used in the name of a file'),
        ("place,x\na,1\n", 'no column "site"'),
    ],
)
def test_what_cannot_be_divided(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "all.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        divide(tmp_path / "all.csv", "site", tmp_path / "data")


def test_the_files_of_a_folder(tmp_path: Path) -> None:
    for name in ("north.csv", "east.PARQUET", "other.csv", "notes.txt"):
        (tmp_path / name).touch()
    found, others = files_in(tmp_path, ["east", "north"])
    assert list(found) == ["east", "north"]
    assert [file.name for file in others] == ["other.csv"]
    with pytest.raises(FileError, match='no file of "south"') as refused:
        files_in(tmp_path, ["north", "south"])
    assert "east.PARQUET, other.csv" in refused.value.hint
    (tmp_path / "north.parquet").touch()
    with pytest.raises(FileError, match='two files of "north"'):
        files_in(tmp_path, ["north"])
    with pytest.raises(FileError, match="is not a directory"):
        files_in(tmp_path / "north.csv", ["north"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match='empty has no file of "north"'):
        files_in(tmp_path / "empty", ["north"])
