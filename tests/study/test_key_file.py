"""A key with a passphrase opens with it alone; the file is of the usual form; nothing shows it."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.study.parties import identity
from titan.errors import FileError, InputError
from titan.study import Identity, key_file

WORD = "twelve green bottles"


@pytest.fixture
def key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With fewer rounds: they take their time."""
    monkeypatch.setattr(key_file, "ROUNDS", 1000)
    return identity("north").save(tmp_path, passphrase=WORD)[0]


def asked(*words: bytes) -> tuple[Callable[[], bytes], list[bytes]]:
    """Somebody who types these, and what was typed."""
    typed: list[bytes] = []

    def ask() -> bytes:
        typed.append(words[len(typed)])
        return typed[-1]

    return ask, typed


@pytest.mark.parametrize("word", [WORD, WORD.encode(), lambda: WORD, lambda: WORD.encode()])
def test_it_opens_with_its_passphrase(key: Path, word: key_file.Passphrase) -> None:
    assert Identity.load(key, passphrase=word).key_pem() == identity("north").key_pem()


def test_the_file_tells_nothing_of_the_key(tmp_path: Path) -> None:
    key, _ = identity("north").save(tmp_path, passphrase=WORD)
    der = base64.b64decode(b"".join(key.read_bytes().splitlines()[1:-1]))
    secret = identity("north")._key.private_numbers().private_value.to_bytes(32, "big")
    assert secret not in der
    assert secret in base64.b64decode(b"".join(identity("north").key_pem().splitlines()[1:-1]))
    assert key_file.ROUNDS >= 600_000
    assert key_file._der(2, key_file.ROUNDS.to_bytes(3, "big")) in der
    assert key.stat().st_mode & 0o777 == 0o600
    again = identity("north").save(key.parent, passphrase=WORD, force=True)[0]
    assert base64.b64decode(b"".join(again.read_bytes().splitlines()[1:-1])) != der, "a fresh salt"


def test_other_programs_open_it(key: Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not installed")
    words = [program, "pkey", "-in", str(key), "-passin", f"pass:{WORD}", "-outform", "PEM"]
    found = subprocess.run(words, capture_output=True, check=True).stdout
    assert found == identity("north").key_pem()


def test_without_it_or_with_another_it_does_not(key: Path) -> None:
    with pytest.raises(FileError, match="opens without its passphrase, and none was given") as none:
        Identity.load(key)
    assert "--passphrase-file" in none.value.hint
    for wrong in ("", "x", WORD + "x", WORD.encode()[:-1], "x" * 5000):
        with pytest.raises(FileError, match=r"north\.key: the passphrase is wrong") as found:
            Identity.load(key, passphrase=wrong)
        assert WORD[:6] not in str(found.value)
        assert found.value.hint.startswith("is this the passphrase of this key?")


def test_who_is_asked_may_try_three_times(key: Path) -> None:
    ask, typed = asked(b"one", b"two", WORD.encode())
    assert Identity.load(key, passphrase=ask).name == "north"
    ask, typed = asked(b"one", b"two", b"three", WORD.encode())
    with pytest.raises(FileError, match="the passphrase is wrong"):
        Identity.load(key, passphrase=ask)
    assert len(typed) == 3


def test_nobody_is_asked_for_that_of_a_key_without_one(tmp_path: Path) -> None:
    key, _ = identity("north").save(tmp_path)
    ask, typed = asked()
    assert Identity.load(key, passphrase=ask).name == "north"
    assert not typed


def test_a_damaged_file_is_an_error(key: Path) -> None:
    data = key.read_bytes()
    for at in range(0, len(data), 3):
        key.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        try:
            found = Identity.load(key, identity("north").card, passphrase=WORD)
        except FileError:
            continue
        assert found.key_pem() == identity("north").key_pem()  # in the words around it


@pytest.mark.parametrize("word", ["", "short", "1234567", "x" * 1001])
def test_what_is_hardly_one_is_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(InputError, match="the passphrase is too") as found:
        identity("north").save(tmp_path, passphrase=word)
    assert "8 characters" in found.value.hint
    assert not list(tmp_path.iterdir())


# -- in a file --------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\nand what else stands there\n"])
def test_the_first_line_of_a_file(tmp_path: Path, end: str) -> None:
    path = tmp_path / "word"
    path.write_bytes((f" {WORD} é" + end).encode())
    path.chmod(0o400)
    assert key_file.read_passphrase(path) == f" {WORD} é".encode(), "blanks belong to it"


def test_a_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "word"
    path.write_text(WORD)
    for mode in (0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(FileError, match="may read or write this passphrase") as found:
            key_file.read_passphrase(path)
        assert WORD not in str(found.value)


def test_an_empty_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "word"
    for text in ("", "\n", "\r\nword\n"):
        path.write_text(text)
        path.chmod(0o600)
        with pytest.raises(FileError, match="the first line is empty"):
            key_file.read_passphrase(path)
    with pytest.raises(FileError, match="no such file"):
        key_file.read_passphrase(tmp_path / "none")


def test_what_systemd_hands_to_a_service_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It grants access by an access list, of which the mode shows the mask."""
    (folder := tmp_path / "credentials").mkdir()
    key, _ = identity("north").save(folder)
    word = folder / "word"
    word.write_text(WORD)
    for path in (key, word):
        path.chmod(0o440)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    with pytest.raises(FileError, match="others on this machine"):
        Identity.load(key)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    assert Identity.load(key).name == "north"
    assert key_file.read_passphrase(word) == WORD.encode()
