"""Names in a sentence: all of a few, the first of many; choices; fingerprints; tables as text;
text that prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from titan.errors import InputError

WIDE = 80
"""Columns of a terminal, for whoever wraps text."""
QUOTES = "\"'`"


def listing(names: Iterable[object], most: int = 6, count: int = 0) -> str:
    """`a, b, c`, or `a, b and 5 more`; never `and 1 more`, which takes the room of the name.

    With a `count`, so many there are, of which only these have names.
    """
    named = [str(name) for name in names]
    shown = named if len(named) <= most + 1 else named[:most]
    more = max(count, len(named)) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


_MOST_TOLD = 600  # characters


def told_of(text: str) -> str:
    """An error's words about what others wrote, which may be of any length and anything in it."""
    shown = printable(text)
    return shown if len(shown) <= _MOST_TOLD else f"{shown[: _MOST_TOLD - 1]}…"


def check_choice(
    what: str, given: object, allowed: Iterable[str], error: type[InputError] = InputError
) -> None:
    """Refuse what is none of these words; arrays and tables, too, which compare by entry."""
    known = tuple(allowed)
    if not isinstance(given, str) or given not in known:
        raise error(f"{what}={given!r} is unknown", hint=f"one of {', '.join(known)}", choice=what)


def one_of(names: Iterable[str]) -> str:
    """`a, b or c`."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def printable(text: str, keep: str = "") -> str:
    """Text that a terminal shows and does not obey; what is in `keep` stays as it is."""
    return "".join(c if c in keep or c.isprintable() else ascii(c)[1:-1] for c in text)


def in_groups(text: str, size: int = 4) -> str:
    """A fingerprint as it is read out over the telephone: 7bd3 1155 …"""
    return " ".join(text[at : at + size] for at in range(0, len(text), size))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row, as wide as its cells need: the first to the left, others to the right.

    A row may be shorter than others.
    """
    columns = range(max(map(len, rows)))
    widths = [max(len(row[c]) for row in rows if c < len(row)) for c in columns]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=False)]
        lines.append("  ".join(cells).rstrip())
    return lines


def ruled(lines: list[str]) -> list[str]:
    """A table: its heading between two rules, and one below its last line."""
    rule = "-" * max(map(len, lines))
    return [rule, lines[0], rule, *lines[1:], rule]


def divided(text: str, separator: str) -> list[str]:
    """At every separator outside quotes."""
    pieces, within = [""], ""
    for character in text:
        if character == separator and not within:
            pieces.append("")
            continue
        if character in QUOTES and within in ("", character):
            within = "" if within else character
        pieces[-1] += character
    return pieces
