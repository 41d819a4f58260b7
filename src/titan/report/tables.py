"""Tables of a report: a caption, heads, a name at the left of each row, numbers to the right.

A table that is wider than the screen is moved by itself, also with the keyboard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from titan.markup import Html, tag

Row = Sequence[str]
_FEW = 14  # rows that stay on one page


def grid(
    caption: str,
    heads: Row,
    rows: Iterable[Row],
    *,
    kind: str = "",
    foot: Html | None = None,
    label: str = "",
) -> Html:
    """The first cell of every row names it; those of numbers (`<data>`) stand to the right.

    `label` says what it is where the caption, which may be markup, does not.
    """
    lines = list(rows)
    numeric = [
        any(_is_number(row[at]) for row in lines if at < len(row)) for at in range(len(heads))
    ]
    named = [_head(head, numeric=at > 0 and numeric[at]) for at, head in enumerate(heads)]
    table = tag(
        "table",
        *([tag("caption", caption)] if caption else []),
        *([tag("thead", tag("tr", *named))] if heads else []),
        tag("tbody", *(_row(row, numeric) for row in lines)),
        *([tag("tfoot", foot)] if foot is not None else []),
        kind=f"{kind} few".strip() if len(lines) <= _FEW else kind,
    )
    return scrolled(table, label or caption or "table")


def pairs(caption: str, rows: Iterable[tuple[str, str]], kind: str = "") -> Html:
    """What is what, without heads."""
    return grid(caption, (), rows, kind=f"pairs {kind}".strip())


def scrolled(content: Html, label: str) -> Html:
    return tag("div", content, kind="scroll", tabindex="0", role="group", aria_label=label)


def _head(text: str, *, numeric: bool) -> Html:
    """A corner without a word is not the head of anything."""
    return tag("th", text, scope="col", kind="number" * numeric) if text else tag("td")


def _row(row: Row, numeric: Sequence[bool]) -> Html:
    """What is not defined stands where a number would."""
    cells = [
        tag("td", cell, kind="number" * (_is_number(cell) or numeric[at : at + 1] == [True]))
        for at, cell in enumerate(row[1:], 1)
    ]
    return tag("tr", tag("th", row[0], scope="row"), *cells)


def _is_number(cell: str) -> bool:
    return isinstance(cell, Html) and cell.startswith("<data")
