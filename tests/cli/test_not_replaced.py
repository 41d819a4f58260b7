"""Invariant: --force replaces files, and no device, pipe, private key, ledger, journal or input.

What is refused stays as it is, also where a symbolic link leads to it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import Done, titan
from tests.party.loopback import Gathering
from titan import files
from titan.cli.checked_rows import named
from titan.cli.output import refuse_inputs
from titan.errors import FileError, UsageError
from titan.party.taking_part import run_folder
from titan.protocol.masking import fresh_key
from titan.study.journal import Journal
from titan.study.ledger import Ledger
from titan.study.row_digests import RowKey

WRITERS = {
    "fit": ["all.csv", "--formula", "y ~ a", "--save"],
    "network design": ["5", "--tau", "1", "--out"],
    "privacy": ["cycle:5", "--plot"],
    "moments": ["all.csv", "--out"],
    "prepare": ["study.toml", "--data", "all.csv", "--as", "east", "--out"],
    "report": ["nowhere", "--out"],
}
ENDINGS = {"privacy": ".png", "moments": ".moments", "report": ".html"}
posix = pytest.mark.skipif(os.name != "posix", reason="pipes and links are those of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "all.csv").write_text("y,a\n" + "".join(f"{i * i % 7},{i}\n" for i in range(40)))
    return tmp_path


def kept_files(folder: Path) -> dict[str, Path]:
    """One of each kind that exists once."""
    made = titan("keys", "new", "--name", "east", "--address", "127.0.0.1:7443", cwd=folder)
    assert made.returncode == 0, made.stderr
    with Ledger.open(folder / "east.ledger", RowKey(fresh_key())):
        pass
    with Journal.open(folder / "journal.db"):
        pass
    with closing(sqlite3.connect(folder / "rows.db")) as rows:
        rows.execute("CREATE TABLE rows (y)")
    return {
        "a private key": folder / "east.key",
        "a ledger": folder / "east.ledger",
        "a run's journal": folder / "journal.db",
        "a database": folder / "rows.db",
    }


def write_to(place: Path, command: str, *, cwd: Path) -> Done:
    return titan(*command.split(), *WRITERS[command], place.name, "--force", cwd=cwd)


@posix
@pytest.mark.parametrize("command", ["fit", "network design", "privacy", "moments", "report"])
def test_a_pipe_stays_a_pipe(folder: Path, command: str) -> None:
    pipe = folder / f"pipe{ENDINGS.get(command, '')}"
    os.mkfifo(pipe)
    done = write_to(pipe, command, cwd=folder)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert f"{pipe.name} cannot be written: it is a pipe" in done.stderr
    assert "hint: name a file" in done.stderr
    assert "--force" not in done.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix
def test_neither_is_a_pipe_said_to_be_replaced_by_force(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    done = titan("fit", "all.csv", "--formula", "y ~ a", "--save", "pipe", cwd=folder)
    assert (done.returncode, "--force" in done.stderr) == (2, False), done.stderr


@posix
def test_files_are_not_written_over_devices(tmp_path: Path) -> None:
    """A link to the device, so that a failure does not destroy this machine's."""
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    for force in (False, True):
        with pytest.raises(FileError, match="null cannot be written: it is a device"):
            files.write(link, b"new", force=force)
    assert link.is_symlink()
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


@posix
@pytest.mark.parametrize("there", [True, False], ids=["a file", "nothing"])
def test_what_a_link_leads_to_is_replaced(tmp_path: Path, there: bool) -> None:
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "it.json", tmp_path / "link.json"
    if there:
        target.write_bytes(b"old")
    link.symlink_to(Path("far") / "it.json")
    with pytest.raises(FileError, match="exists already"):
        files.write(link, b"new")
    files.write(link, b"new", force=True)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert [each.name for each in (tmp_path / "far").iterdir()] == ["it.json"]


@pytest.mark.parametrize("command", ["fit", "network design"])
def test_nothing_is_written_over_what_exists_once(folder: Path, command: str) -> None:
    for what, place in kept_files(folder).items():
        before = place.read_bytes()
        done = write_to(place, command, cwd=folder)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert f"{place.name} is {what}, and is not replaced" in done.stderr
        assert "hint: name another file; " in done.stderr
        assert place.read_bytes() == before


def test_the_library_replaces_none_of_them_either(folder: Path) -> None:
    for what, place in kept_files(folder).items():
        before = place.read_bytes()
        with pytest.raises(FileError, match=f"is {what}, and is not replaced"):
            files.write(place, b"new", force=True)
        assert place.read_bytes() == before


def test_a_part_is_not_written_over_a_key(folder: Path) -> None:
    before = kept_files(folder)["a private key"].read_bytes()
    done = write_to(folder / "east.key", "prepare", cwd=folder)
    assert (done.returncode, "east.key is a private key" in done.stderr) == (2, True), done.stderr
    assert (folder / "east.key").read_bytes() == before


def test_a_key_behind_text_is_one_too(tmp_path: Path) -> None:
    place = tmp_path / "it.pem"
    for kind in ("", "ENCRYPTED ", "EC ", "OPENSSH "):
        place.write_text(f"Bag Attributes\n-----BEGIN {kind}PRIVATE KEY-----\nMIG…\n")
        with pytest.raises(FileError, match="is a private key"):
            files.write(place, b"new", force=True)
    place.write_text("-----BEGIN PUBLIC KEY-----\nMIG…\n")
    files.write(place, b"new", force=True)


@posix
def test_who_makes_keys_replaces_keys_and_no_ledger(folder: Path) -> None:
    key, real = folder / "east.key", folder / "vault.key"
    kept_files(folder)
    before = key.rename(real).read_bytes()
    key.symlink_to(real)
    new = ["keys", "new", "--name", "east", "--address", "127.0.0.1:7443", "--force"]
    assert titan(*new, cwd=folder).returncode == 0
    assert key.is_symlink()
    assert before != (after := real.read_bytes())
    (folder / "word").write_text("several good words\n")
    (folder / "word").chmod(0o600)
    words = ["keys", "passphrase", "east.key", "--new-passphrase-file", "word"]
    done = titan(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert key.is_symlink()
    assert real.read_bytes() != after
    card = (folder / "east.card").read_bytes()
    key.unlink()
    (folder / "east.ledger").rename(key)
    done = titan(*new, cwd=folder)
    assert (done.returncode, "east.key is a ledger" in done.stderr) == (1, True), done.stderr
    assert (folder / "east.card").read_bytes() == card
    key.rename(folder / "east.card")
    key.symlink_to(real)
    before = real.read_bytes()
    done = titan(*new, cwd=folder)
    assert (done.returncode, "east.card is a ledger" in done.stderr) == (1, True), done.stderr
    assert real.read_bytes() == before, "a key without its card would be of no use"


@pytest.mark.parametrize("option", ["--card", "--like", "--network"])
def test_a_study_is_not_written_over_what_it_is_made_of(folder: Path, option: str) -> None:
    kept_files(folder)
    (folder / "links.csv").write_text("from,to\neast,west\nwest,east\n")
    given = {"--card": "east.card", "--like": "all.csv", "--network": "links.csv"}
    words = [word for pair in given.items() for word in pair]
    before = (folder / given[option]).read_bytes()
    asked = ["--ask", "regression: y ~ a", "--tau", "1", "--out", given[option], "--force"]
    done = titan("study", "new", *words, *asked, cwd=folder)
    assert (done.returncode, "is one of the inputs" in done.stderr) == (2, True), done.stderr
    assert (folder / given[option]).read_bytes() == before


FROM = ["--sql", "select y, a from rows", "--from", "duckdb:rows.duckdb"]


@pytest.mark.parametrize(
    "words",
    [
        ["fit", *FROM, "--formula", "y ~ a", "--save", "rows.duckdb"],
        ["moments", *FROM, "--formula", "y ~ a", "--out", "rows.duckdb"],
        ["prepare", "study.toml", *FROM, "--as", "east", "--out", "rows.duckdb"],
        ["rehearse", "study.toml", "--data", "rows", "--save", "rows/east.csv"],
    ],
    ids=lambda words: words[0],
)
def test_no_command_writes_over_its_rows(folder: Path, words: list[str]) -> None:
    """A database of this kind is not known by its first bytes."""
    place = folder / words[-1]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(b"mine")
    done = titan(*words, "--force", cwd=folder)
    assert (done.returncode, f"{words[-1]} is one of the inputs" in done.stderr) == (2, True)
    assert place.read_bytes() == b"mine"


def test_a_part_is_not_written_over_the_ledger_that_it_is_made_with(folder: Path) -> None:
    ledger = kept_files(folder)["a ledger"]
    before = ledger.read_bytes()
    words = ["prepare", "study.toml", "--data", "all.csv", "--ledger", ledger]
    done = titan(*words, "--out", ledger, "--force", cwd=folder)
    assert (done.returncode, "east.ledger is a ledger" in done.stderr) == (2, True), done.stderr
    assert ledger.read_bytes() == before


@posix
def test_what_cannot_be_looked_at_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be somebody's key; the rights of root do not count here, so the system is played."""
    place, opened = tmp_path / "it.json", Path.open

    def refuse(path: Path, *how: Any) -> Any:
        if path == place:
            raise PermissionError(13, "Permission denied")
        return opened(path, *how)

    place.write_bytes(b"mine")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FileError, match="cannot be read: permission denied") as caught:
        files.write(place, b"new", force=True)
    assert "name another file" in caught.value.hint
    monkeypatch.undo()
    assert place.read_bytes() == b"mine"


OWN = {  # name in the party's folder → what it is called
    "north.ledger": "this party's ledger",
    "north.ledger-wal": "this party's ledger",
    "north.used": "the note of which ledger belongs to the key",
    "north.key": "one of the inputs",
    "north.csv": "one of the inputs",
    "study.toml": "one of the inputs",
    "word": "one of the inputs",
    "north.part": "one of the inputs",
    "rows.duckdb": "one of the inputs",
    "{run}/journal.db": "in the run's folder",
    "{run}/result.json": "in the run's folder",
    "{run}/status.json": "in the run's folder",
    "{run}": "in the run's folder",
}


@pytest.mark.parametrize("begun", [True, False], ids=["begun", "not begun"])
def test_no_answer_is_saved_over_what_its_party_keeps(
    tmp_path: Path, begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where it will lie; and that is said before the key is even opened."""
    g = Gathering(tmp_path)
    g.save()
    monkeypatch.setattr("titan.party.taking_part.Party.look", lambda _: pytest.fail("it began"))
    monkeypatch.setattr("titan.party.taking_part.Party.join", lambda *_: pytest.fail("it began"))
    run = run_folder(Path("runs"), g.study, 1, "north")
    told = {"study": g.study.digest, "run": 1, "party": "north"}
    if begun:
        (tmp_path / run).mkdir(parents=True)
    for name, what in OWN.items():
        place = Path(name.format(run=run))
        if begun and not (tmp_path / place).exists():
            (tmp_path / place).write_text(json.dumps(told))
        before = (tmp_path / place).read_bytes() if (tmp_path / place).is_file() else b""
        options = ["--passphrase-file", "word", "--part", "north.part", "--save", place, "--force"]
        if name == "rows.duckdb":
            where = ["--sql", "select 1", "--from", f"duckdb:{name}"]
            words: list[object] = ["join", "study.toml", "--as", "north", "--key", "north.key"]
            words += where
        else:
            words = g.words("north")
        done = titan(*words, *options, cwd=tmp_path)
        assert done.returncode == 2, (name, done.stderr)
        assert f"{place} is {what}" in done.stderr
        after = (tmp_path / place).read_bytes() if (tmp_path / place).is_file() else b""
        assert after == before


@posix
@pytest.mark.parametrize(
    "what", ["it is a pipe", "it is a device", "too many levels of symbolic links"]
)
def test_join_does_not_look_into_what_is_not_a_file(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looks whether it saved an answer there before; a pipe or a device may never end."""
    g, read = Gathering(tmp_path), Path.read_bytes
    g.save()
    place = tmp_path / "answer.json"
    if what == "it is a pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(os.devnull if what == "it is a device" else place)

    def no_file(path: Path) -> bytes:
        return pytest.fail("it was read") if path == place else read(path)

    monkeypatch.setattr(Path, "read_bytes", no_file)
    done = titan(*g.words("north"), "--save", place, cwd=tmp_path)
    assert f"cannot be written: {what}" in done.stderr
    assert done.returncode == (2 if what.startswith("it is") else 1)


@pytest.mark.parametrize(
    "data", ["rows", "rows/*.parquet", "main=rows/*.parquet", "rows/year=1/x.csv"]
)
def test_rows_in_a_folder_or_of_a_pattern_are_inputs(tmp_path: Path, data: str) -> None:
    (tmp_path / "rows" / "year=1").mkdir(parents=True)
    name = data if data.endswith(".csv") else "rows/a.parquet"
    (tmp_path / name).write_bytes(b"mine")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        with pytest.raises(UsageError, match="is one of the inputs"):
            refuse_inputs(Path(name), named([data]))
        refuse_inputs(Path("rows/answer.json"), named([data]))
