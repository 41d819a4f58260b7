"""Passphrases: asked for at the terminal, unseen, or the first line of a file."""

# Rule: a passphrase is never an argument or a variable of the environment; others could see it.

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from getpass import getpass
from pathlib import Path

import typer

from titan.errors import InputError


def opening(key: Path, file: Path | None) -> bytes | Callable[[], bytes]:
    """That of a key, which is asked for only if it has one, and again if it was wrong."""
    from titan.study.key_file import read_passphrase

    if file is not None:
        return read_passphrase(file)
    words = iter([f"Passphrase of {key}: "])
    return lambda: _asked(next(words, "This is not its passphrase. Try again: "))


def chosen(file: Path | None, option: str = "--passphrase-file") -> bytes:
    """A new one; `option` is the one that names its file."""
    from titan.study.key_file import checked, read_passphrase

    if file is not None:
        return checked(read_passphrase(file))
    word = checked(_asked("New passphrase: ", option))
    if _asked("The same again: ", option) != word:
        raise InputError("the two passphrases are not the same", hint="give the command again")
    return word


def _asked(prompt: str, option: str = "--passphrase-file") -> bytes:
    if not _has_terminal():
        raise InputError(
            "there is no terminal to ask for a passphrase at",
            hint=f"{option} FILE, a file that nobody else may read",
        )
    try:
        return getpass(prompt).encode()
    except (EOFError, KeyboardInterrupt):
        print(file=sys.stderr)  # the prompt's line is not over
        raise typer.Abort from None


def _has_terminal() -> bool:
    """As ssh has it: what stdin is does not matter, but whether the process has a terminal."""
    if os.name != "posix":
        return sys.stdin.isatty()
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
