"""Notebooks: Python files in the percent format, run from top to bottom, turned into Markdown.

    # %% [markdown]          comment lines that follow are text
    # %%                     code; what it prints, and the value of its last expression, is shown

Jupyter (with jupytext), VS Code and Spyder open them as they are. A failure ends the build.
"""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUFFIX = "_notebook.py"
"""How a notebook's file is called, so that no other Python file is taken for a page."""
PICTURES = "pictures"
"""The folder of their pictures, beside them; `make docs` makes it again each time."""
_HEAD = re.compile(r"^# %%(?P<markdown> \[markdown\])?.*$", re.M)


@dataclass(frozen=True)
class Cell:
    markdown: bool
    text: str
    line: int
    """Where it begins in its file, counted from 1."""


def on_source_read(app: Any, name: str, source: list[str]) -> None:
    """Sphinx's event; the one text in the list is replaced in place."""
    file = Path(app.srcdir) / f"{name}{SUFFIX}"
    if file.exists():
        source[0] = as_markdown(source[0], file)


def cells(text: str) -> Iterator[Cell]:
    """What stands before the first head is code that no page shows: the file's own docstring."""
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    for head, end in zip(heads, ends, strict=True):
        whole = text[head.end() : end]
        body = whole.strip("\n")
        line = 1 + text.count("\n", 0, head.end() + len(whole) - len(whole.lstrip("\n")))
        if head["markdown"]:
            body = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.splitlines())
        if body:
            yield Cell(bool(head["markdown"]), body, line)


def as_markdown(text: str, file: Path) -> str:
    """Every cell, and below each of code what it showed."""
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(file)}
    return "\n\n".join(part for cell in cells(text) for part in _shown(cell, names, file))


def _shown(cell: Cell, names: dict[str, Any], file: Path) -> Iterator[str]:
    if cell.markdown:
        yield cell.text
        return
    yield f"```python\n{cell.text}\n```"
    printed, value = run(cell, names, file)
    if printed.strip():
        yield f"```text\n{printed.rstrip()}\n```"
    if hasattr(value, "savefig"):
        yield f"![]({PICTURES}/{_saved(value, file)})"
    elif value is not None:
        yield f"```text\n{value!r}\n```"


def run(cell: Cell, names: dict[str, Any], file: Path) -> tuple[str, Any]:
    """What it prints, and the value of its last expression, if it ends with one."""
    tree, value, out = ast.parse(cell.text, str(file)), None, io.StringIO()
    ast.increment_lineno(tree, cell.line - 1)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(out):
        exec(compile(tree, str(file), "exec"), names)  # noqa: S102 - our own file
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(file), "eval"), names)  # noqa: S307
    return out.getvalue(), value


def _saved(figure: Any, file: Path) -> str:
    """The picture's name; a figure is numbered by those of its file that are there already."""
    folder = file.parent / PICTURES
    folder.mkdir(exist_ok=True)
    name = f"{file.stem}-{len(list(folder.glob(f'{file.stem}-*.svg')))}.svg"
    figure.savefig(folder / name, bbox_inches="tight")
    return name
