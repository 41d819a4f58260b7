"""A passphrase is asked for at the process's terminal, or read from a file; secrets leave no dump.

Terminals and dumps are tried in real processes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

import titan as library
from tests.cli.test_commands import Done, titan
from tests.party.loopback import Gathering
from titan.errors import FileError
from titan.study import Identity

WORD = "twelve green bottles"
NEW = ("keys", "new", "--name", "north", "--address", "north.example.org:7443")


def word_file(folder: Path, word: str = WORD) -> Path:
    path = folder / f"{word[:3]}.word"
    path.write_text(word + "\n")
    path.chmod(0o600)
    return path


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs these tests is not asked; and rounds take their time."""
    monkeypatch.setattr("titan.study.key_file.ROUNDS", 1000)
    monkeypatch.setattr("titan.cli.passphrases._has_terminal", lambda: False)


def last_line(done: Done) -> str:
    assert "Traceback" not in done.stderr
    return done.stderr.strip()


# -- files ------------------------------------------------------------------------------------


def test_a_new_key_with_a_passphrase_from_a_file(tmp_path: Path) -> None:
    done = titan(*NEW, "--passphrase-file", word_file(tmp_path), "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["encrypted"] is True
    assert "ENCRYPTED" in (tmp_path / "north.key").read_text()
    assert Identity.load(tmp_path / "north.key", passphrase=WORD).name == "north"
    assert WORD not in done.stdout + done.stderr


def test_without_one_the_key_is_as_before(tmp_path: Path) -> None:
    done = titan(*NEW, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["encrypted"] is False
    assert Identity.load(tmp_path / "north.key").name == "north"


def test_where_there_is_no_terminal_it_says_so(tmp_path: Path) -> None:
    done = titan(*NEW, "--passphrase", cwd=tmp_path)
    assert done.returncode == 1
    assert "there is no terminal to ask for a passphrase at" in last_line(done)
    assert "--passphrase-file FILE" in done.stderr
    assert not (tmp_path / "north.key").exists()
    titan(*NEW, cwd=tmp_path)
    done = titan("keys", "passphrase", "north.key", cwd=tmp_path)
    assert "--new-passphrase-file FILE" in done.stderr, "that of the new one, not of the old"


def test_the_passphrase_of_a_key_is_changed_and_removed(tmp_path: Path) -> None:
    titan(*NEW, cwd=tmp_path)
    key, card = tmp_path / "north.key", (tmp_path / "north.card").read_bytes()
    first, second = word_file(tmp_path), word_file(tmp_path, "another one entirely")
    plain = Identity.load(key).key_pem()
    change = ("keys", "passphrase", "north.key")
    steps: list[tuple[tuple[object, ...], str | None]] = [
        (("--new-passphrase-file", first), WORD),
        (("--passphrase-file", first, "--new-passphrase-file", second), "another one entirely"),
        (("--passphrase-file", second, "--remove"), None),
    ]
    for words, now in steps:
        assert titan(*change, *words, cwd=tmp_path).returncode == 0
        assert Identity.load(key, passphrase=now).key_pem() == plain
        assert key.stat().st_mode & 0o777 == 0o600
    titan(*change, "--new-passphrase-file", first, cwd=tmp_path)
    kept = key.read_bytes()
    done = titan(*change, "--passphrase-file", second, "--remove", cwd=tmp_path)
    assert (done.returncode, "the passphrase is wrong" in done.stderr) == (1, True)
    assert (key.read_bytes(), (tmp_path / "north.card").read_bytes()) == (kept, card)


def gathered(folder: Path) -> Gathering:
    g = Gathering(folder)
    g.save()
    g.identities["north"].save(folder, force=True, passphrase=WORD)
    return g


def test_join_reads_it_from_a_file_or_says_what_is_missing(tmp_path: Path) -> None:
    g = gathered(tmp_path)
    words = g.words("north", "--wait", 0.3)
    done = titan(*words, "--passphrase-file", word_file(tmp_path), cwd=tmp_path)
    assert done.returncode == 75, "it took part, and nobody else came"
    done = titan(*words, cwd=tmp_path)
    assert (done.returncode, "there is no terminal" in last_line(done)) == (1, True)
    loose = word_file(tmp_path)
    loose.chmod(0o644)
    done = titan(*words, "--passphrase-file", loose, cwd=tmp_path)
    assert (done.returncode, "others on this machine" in last_line(done)) == (1, True)


def test_a_rehearsal_with_such_keys_says_that_it_needs_none(tmp_path: Path) -> None:
    g = gathered(tmp_path)
    for name in g.names:
        (tmp_path / "rows" / f"{name}.csv").parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.csv").rename(tmp_path / "rows" / f"{name}.csv")
    done = titan("rehearse", "study.toml", "--data", "rows", "--keys", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert "opens without its passphrase" in last_line(done)
    assert "a rehearsal needs no keys" in done.stderr


def test_join_in_python_takes_it_too(tmp_path: Path) -> None:
    gathered(tmp_path)
    rows, key = tmp_path / "north.csv", tmp_path / "north.key"
    with pytest.raises(FileError, match="opens without its passphrase"):
        library.join(tmp_path / "study.toml", "north", rows, key=key)
    for passphrase in (WORD, lambda: WORD):
        with pytest.raises(library.errors.WaitError):
            library.join(
                tmp_path / "study.toml", "north", rows, key=key, passphrase=passphrase, wait=0.3
            )


# -- a terminal -------------------------------------------------------------------------------

needs_posix = pytest.mark.skipif(os.name != "posix", reason="there are no such terminals")


def at_a_terminal(*words: str, cwd: Path, typed: list[tuple[str, str]]) -> tuple[int, str]:
    """Status and all that the terminal showed; each answer is typed when its question is there."""
    here, there = os.openpty()
    command = [sys.executable, "-m", "titan", *words]
    with Popen(command, cwd=cwd, preexec_fn=lambda: os.login_tty(there)) as process:
        os.close(there)
        shown, at = "", 0
        for question, answer in typed:
            while (found := shown.find(question, at)) < 0:
                shown += os.read(here, 1024).decode()
            at = found + len(question)
            os.write(here, answer.encode() + b"\n")
        try:
            while more := os.read(here, 1024):
                shown += more.decode()
        except OSError:  # what Linux says at the end
            pass
        status = process.wait()
    os.close(here)
    return status, shown


@needs_posix
def test_it_is_asked_for_twice_and_not_shown(tmp_path: Path) -> None:
    typed = [("New passphrase: ", WORD), ("again: ", WORD)]
    status, shown = at_a_terminal(*NEW, "--passphrase", cwd=tmp_path, typed=typed)
    assert status == 0, shown
    assert WORD not in shown
    assert Identity.load(tmp_path / "north.key", passphrase=WORD).name == "north"
    typed = [("Passphrase of north.key: ", "no"), ("Try again: ", WORD)]
    words = ("keys", "passphrase", "north.key", "--remove")
    status, shown = at_a_terminal(*words, cwd=tmp_path, typed=typed)
    assert status == 0, shown
    assert Identity.load(tmp_path / "north.key").name == "north"


def test_two_that_differ_make_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = iter([WORD, WORD + "!"])
    monkeypatch.setattr("titan.cli.passphrases._has_terminal", lambda: True)
    monkeypatch.setattr("titan.cli.passphrases.getpass", lambda prompt: next(words))
    done = titan(*NEW, "--passphrase", cwd=tmp_path)
    assert (done.returncode, "not the same" in last_line(done)) == (1, True)
    assert not (tmp_path / "north.key").exists()


@pytest.mark.parametrize("end", [EOFError, KeyboardInterrupt])
def test_who_goes_away_is_not_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: type[BaseException]
) -> None:
    def leave(prompt: str) -> str:
        raise end

    monkeypatch.setattr("titan.cli.passphrases._has_terminal", lambda: True)
    monkeypatch.setattr("titan.cli.passphrases.getpass", leave)
    done = titan(*NEW, "--passphrase", cwd=tmp_path)
    assert (done.returncode, last_line(done)) == (1, "Aborted!")


def test_who_goes_away_from_a_run_may_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with Ctrl-C anywhere else in `join`."""

    def leave(prompt: str) -> str:
        raise KeyboardInterrupt

    g = Gathering(tmp_path)
    g.save()
    (tmp_path / "word").write_text("a passphrase of some length")
    (tmp_path / "word").chmod(0o600)
    locked = titan("keys", "passphrase", "north.key", "--new-passphrase-file", "word", cwd=tmp_path)
    assert locked.returncode == 0, locked.stderr
    monkeypatch.setattr("titan.cli.passphrases._has_terminal", lambda: True)
    monkeypatch.setattr("titan.cli.passphrases.getpass", leave)
    done = titan(*map(str, g.words("north")), cwd=tmp_path)
    assert (done.returncode, "stopped" in done.stderr) == (75, True)


# -- core dumps -------------------------------------------------------------------------------

ENDED = """
import ctypes, os, resource, sys
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
if len(sys.argv) > 1:
    from titan.cli import main
    try:
        main()
    except SystemExit as end:
        assert end.code in (0, 75), end.code
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), *resource.getrlimit(resource.RLIMIT_CORE))
sys.stdout.flush()
os.abort()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="what is looked at is Linux's")
def test_a_party_leaves_no_core_dump(tmp_path: Path) -> None:
    """A process that has joined, and one that has not, are ended by SIGABRT."""
    g = Gathering(tmp_path)
    g.save()
    words = [str(word) for word in g.words("north", "--wait", 0.2)]
    before, _ = aborted(tmp_path)
    assert before[0] == "1", "the kernel would have dumped it"
    after, dumped = aborted(tmp_path, *words)
    assert (after, dumped) == (["0", "0", "0"], False)


@pytest.mark.skipif(sys.platform != "linux", reason="what is looked at is Linux's")
@pytest.mark.parametrize(
    "words",
    [
        ("keys", "new", "--name", "other", "--address", "127.0.0.1:7443", "--json"),
        ("keys", "passphrase", "north.key", "--new-passphrase-file", "word"),
        ("prepare", "study.toml", "--as", "north", "--data", "north.csv", "--out", "north.part"),
        ("study", "check", "study.toml", "--as", "north", "--data", "north.csv"),
        ("moments", "north.csv", "--formula", "y ~ x + z", "--out", "moments.npz"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_nor_does_whoever_reads_a_key_or_rows(tmp_path: Path, words: tuple[str, ...]) -> None:
    g = Gathering(tmp_path)
    g.save()
    word = tmp_path / "word"
    word.write_text("correct horse battery")
    word.chmod(0o600)
    after, dumped = aborted(tmp_path, *words)
    assert (after, dumped) == (["0", "0", "0"], False)


def aborted(folder: Path, *words: str) -> tuple[list[str], bool]:
    """What it said of itself, and whether it left a core dump."""
    with Popen([sys.executable, "-c", ENDED, *words], cwd=folder, stdout=PIPE) as process:
        assert process.stdout is not None
        shown = process.stdout.read().decode().split()[-3:]
        _, status = os.waitpid(process.pid, 0)
        process.returncode = -os.WTERMSIG(status)
    assert process.returncode == -signal.SIGABRT
    return shown, os.WCOREDUMP(status)
