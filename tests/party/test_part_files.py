"""Invariant: a part is one file of one form, for its owner's eyes, of one study and one party.

Whatever bytes are accepted are those that are written; everything else is refused in words, and so
is a part that was made for something else. The commands say so with their status.
"""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import pytest

import titan as library
from tests.cli.test_commands import Done, titan
from tests.party.loopback import Gathering, rows
from tests.party.test_parts import AGAIN, KNOWN, TABLE, made
from tests.study.studies import regression
from titan.errors import FileError
from titan.party.part_file import MAGIC, decode, encode, load, save
from titan.study import Study
from titan.study.ledger import Ledger


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a part."""
    folder = tmp_path_factory.mktemp("part")
    g = Gathering(folder, changes={"questions": (regression("y ~ x", name="main"), TABLE)})
    return encode(made(g.study, folder / "north.csv"))


# -- the file -------------------------------------------------------------------------------------


def test_it_is_written_in_one_way(data: bytes) -> None:
    assert encode(decode(data, "a")) == data


def test_every_altered_byte_is_found(data: bytes) -> None:
    rng = random.Random(5)
    for at in [*range(20), *rng.sample(range(len(data)), 300), len(data) - 1]:
        altered = bytearray(data)
        altered[at] ^= 1 << rng.randrange(8)
        with pytest.raises(FileError, match=r"a usable part|a later titan"):
            decode(bytes(altered), "north.part")


def test_what_is_cut_short_or_longer_is_refused(data: bytes) -> None:
    for size in (0, 7, 19, 20, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(FileError, match="usable part"):
            decode(data[:size], "north.part")
    with pytest.raises(FileError, match="usable part"):
        decode(data + b"\0", "north.part")


def resealed(data: bytes, change: Any) -> bytes:
    """With another header, and a checksum that fits."""
    import hashlib

    _, version, size = struct.unpack_from("<8sIQ", data)
    fields = json.loads(data[20 : 20 + size])
    change(fields)
    header = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    body = struct.pack("<8sIQ", MAGIC, version, len(header)) + header + data[20 + size : -32]
    return body + hashlib.sha256(body).digest()


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.update(more=1),
        lambda f: f.pop("again"),
        lambda f: f.update(study="ab"),
        lambda f: f.update(key="00"),
        lambda f: f["sources"][0].update(rows=[13]),
        lambda f: f["sources"][0].update(rows=[6, 6]),
        lambda f: f["sources"][0].update(rows=[11]),
        lambda f: f["sources"][0].update(rows=12),
        lambda f: f["sources"][0].update(rows=[]),
        lambda f: f["sources"][0].update(rows=[0, 12]),
        lambda f: f["sources"][0].update(rows=[1 << 40]),
        lambda f: f["sources"][0].update(rows=[-1]),
        lambda f: f["sources"][0].update(finer="1" + "0" * 16),
        lambda f: f["sources"][0]["digested"].append("unknown"),
        lambda f: f["sources"][0]["same"][0].__setitem__(1, "-1"),
        lambda f: f.update(apart=[1.5]),
        lambda f: f["again"].update(main=""),
    ],
)
def test_fields_that_cannot_be_are_refused(data: bytes, change: Any) -> None:
    with pytest.raises(FileError, match="usable part"):
        decode(resealed(data, change), "north.part")
    assert decode(resealed(data, lambda f: None), "north.part"), "only what was changed is refused"


def test_a_later_format_is_called_that(data: bytes) -> None:
    later = data[:8] + struct.pack("<I", 3) + data[12:]
    with pytest.raises(FileError, match="written by a later titan: its format is 3") as refused:
        decode(later, "north.part")
    assert "prepare it again" in refused.value.hint


def test_an_earlier_format_is_not_read(data: bytes) -> None:
    earlier = data[:8] + struct.pack("<I", 1) + data[12:]
    with pytest.raises(FileError, match="its format is 1, and this program reads 2") as refused:
        decode(earlier, "north.part")
    assert "titan prepare" in refused.value.hint


def test_it_is_its_owners_alone(data: bytes, tmp_path: Path) -> None:
    place = tmp_path / "north.part"
    save(decode(data, "a"), place)
    assert place.stat().st_mode & 0o777 == 0o600
    assert load(place) is not None
    place.chmod(0o640)
    with pytest.raises(FileError, match="can be read by people other than its owner") as refused:
        load(place)
    assert "chmod 600" in refused.value.hint
    with pytest.raises(FileError, match="exists already"):
        save(decode(data, "a"), place)


def test_nothing_of_it_is_shown(data: bytes) -> None:
    part = decode(data, "a")
    shown = repr(part)
    (source,) = part.sources
    assert part.key.secret.hex() not in shown
    assert str(part.parts["main"]["moments"])[:40] not in shown
    assert source.same_key.hex() not in shown
    assert len(shown) < 3000


# -- the commands ---------------------------------------------------------------------------------


@pytest.fixture
def study(tmp_path: Path) -> Path:
    Gathering(tmp_path, changes={"questions": (regression("y ~ x", name="main"),)}).save()
    return tmp_path


def prepare(folder: Path, *more: object, name: str = "north") -> Done:
    given = more if "--data" in more else ("--data", f"{name}.csv", *more)
    return titan("prepare", "study.toml", *given, "--out", f"{name}.part", cwd=folder)


def join(folder: Path, *more: object, name: str = "north") -> Done:
    words = ("join", "study.toml", "--as", name, "--key", "north.key", "--yes", "--wait", "0.2")
    return titan(*words, *more, cwd=folder)


def test_prepare_says_what_it_made(study: Path) -> None:
    done = prepare(study)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("your rows: 12 read\n")
    assert "join needs no rows: titan join … --as north --part north.part" in done.stdout
    assert load(study / "north.part").party == "north"
    again = prepare(study)
    assert (again.returncode, "north.part exists already" in again.stderr) == (1, True)
    answer = json.loads(prepare(study, "--force", "--json").stdout)
    assert answer["rows_needed_again"] == {}
    assert answer["bytes"] == (study / "north.part").stat().st_size


def test_whose_it_is_may_be_said(study: Path) -> None:
    done = titan("prepare", "study.toml", "--data", "north.csv", "--out", "x.part", cwd=study)
    assert done.returncode == 2
    assert "--as says whose rows they are: north, east, south" in done.stderr
    words = ("prepare", "study.toml", "--data", "north.csv", "--out", "x.part", "--as", "east")
    assert titan(*words, cwd=study).returncode == 0
    assert load(study / "x.part").party == "east"


def test_rows_that_cannot_be_used_make_no_part(study: Path) -> None:
    (study / "north.csv").write_text("x,y\n1,many\n")
    done = prepare(study)
    assert done.returncode == 1
    assert 'line 2, column "y"' in done.stderr
    (study / "north.csv").write_text(rows("north") + "20000,1,1\n")
    done = prepare(study)
    assert (done.returncode, "outside the study's range" in done.stderr) == (3, True)
    (study / "north.csv").write_text(rows("north", 5))
    assert prepare(study).returncode == 3
    assert not (study / "north.part").exists()


def test_a_row_that_stands_alone_is_found_when_it_is_made(study: Path) -> None:
    (study / "north.csv").write_text(rows("north", 60) + "9999,1,1\n")
    done = prepare(study)
    assert (done.returncode, "stand alone in the model's columns" in done.stderr) == (3, True)


def test_a_ledger_is_not_made(study: Path) -> None:
    done = prepare(study, "--ledger", "north.ledger")
    assert (done.returncode, "there is no ledger at north.ledger" in done.stderr) == (1, True)
    assert not (study / "north.ledger").exists()
    with Ledger.open(study / "north.ledger") as ledger:
        key = ledger.row_key
    assert prepare(study, "--ledger", "north.ledger").returncode == 0
    assert load(study / "north.part").key == key


def refused(folder: Path, said: str, *more: object, name: str = "north", status: int = 1) -> None:
    """And nothing is begun."""
    done = join(folder, *more, name=name)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == status
    assert not (folder / "runs").exists()
    assert not (folder / "north.ledger").exists()


def test_parts_that_do_not_fit_are_refused_by_join(study: Path) -> None:
    assert prepare(study).returncode == 0
    part = ("--part", "north.part")
    refused(study, "no rows are given", status=2)
    refused(study, "was made for 'north', and this is 'east'", *part, name="east")
    refused(study, "north.parts cannot be read", "--part", "north.parts")
    (study / "north.part").chmod(0o644)
    refused(study, "can be read by people other than its owner", *part)
    (study / "north.part").chmod(0o600)
    whole = (study / "north.part").read_bytes()
    (study / "north.part").write_bytes(whole[:-40] + b"!" + whole[-39:])
    refused(study, "its checksum is wrong", *part)
    (study / "north.part").write_bytes(whole)
    changed = Study.load(study / "study.toml")
    text = (study / "study.toml").read_text().replace(changed.title, "Another title")
    (study / "study.toml").write_text(text)
    refused(study, "was made for another study", *part)


def test_rows_that_are_needed_again_are_asked_for(tmp_path: Path) -> None:
    g = Gathering(tmp_path, changes={"questions": AGAIN, "columns": KNOWN})
    g.save()
    lines = [f"{n % 7},{n % 5},{n},{n % 2}" for n in range(40)]
    g.write("north", "\n".join(["x,z,y,died", *lines]) + "\n")
    done = prepare(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "robust (HC0 errors), risk (every step)" in done.stdout
    said = 'are needed again, beside "north.part", for risk (every step), robust (HC0 errors)'
    refused(tmp_path, said, "--part", "north.part", status=2)


def test_in_python_too(study: Path) -> None:
    with pytest.raises(ValueError, match="no rows are given"):
        library.join(study / "study.toml", "north", key=study / "north.key")
    with pytest.raises(FileError, match="cannot be read"):
        library.join(study / "study.toml", "north", key=study / "north.key", part="nothing.part")
