"""Invariant: every page is found from the first one, every public name has an example that runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs.extensions import accessible, commands, docstrings, notebooks

import titan
from tests.pages import examples
from tests.pages.blocks import ROOT

DOCS = ROOT / "docs"
SLOW = {"taking_part.md"}  # starts parties; `make docs` runs it
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.S | re.M)


def pages() -> dict[str, Path]:
    """Name → file, as Sphinx counts them."""
    found = {file.relative_to(DOCS).with_suffix(""): file for file in DOCS.rglob("*.md")}
    notebook = sorted((DOCS / "notebooks").glob(f"*{notebooks.SUFFIX}"))
    found |= {
        Path("notebooks", file.name.removesuffix(notebooks.SUFFIX)): file for file in notebook
    }
    return {str(name): file for name, file in found.items()}


def listed(page: str, file: Path) -> list[str]:
    """The pages that one lists."""
    names = []
    for tree in _TOCTREE.findall(file.read_text(encoding="utf-8")):
        for line in filter(None, tree.splitlines()):
            place = (DOCS / page).parent
            if "*" in line:
                names += [
                    str(f.relative_to(DOCS).with_suffix("")) for f in place.glob(f"{line}.md")
                ]
            elif not line.startswith(":"):
                names.append(str((place / line).relative_to(DOCS)))
    return names


def test_every_page_is_listed_once() -> None:
    """A new page goes into the toctree of the manual that it belongs to: docs/analyst.md, say."""
    found = [name for page, file in pages().items() for name in listed(page, file)]
    assert sorted(found) == sorted(set(pages()) - {"index"})


# -- the reference ----------------------------------------------------------------------------


def test_every_public_name_has_its_entry_and_an_example() -> None:
    found = {n: t for page in examples.API.glob("*.md") for n, t in examples.entries(page).items()}
    public = set(titan.__all__) - {"__version__"}
    assert set(found) == public, "docs/api lists what titan.__all__ lists"
    for name, text in found.items():
        shown = "".join(examples._SESSION.findall(text))
        assert re.search(rf"\btitan\.{name}\b", shown), f"{name} has no example below its entry"


@pytest.mark.parametrize("name", sorted({f.name for f in examples.API.glob("*.md")} - SLOW))
def test_the_examples_of_a_page_run(name: str) -> None:
    if examples.run(examples.API / name) == 0:
        assert name == "commands.md"


def test_an_example_that_shows_something_else_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n```pycon\n>>> x = 1\n```\n\n```pycon\n>>> x + 1\n3\n```\n")
    with pytest.raises(AssertionError, match=r"page\.md, line 8"):
        examples.run(page)


# -- what is made when the pages are built ----------------------------------------------------


def test_every_command_is_on_its_page() -> None:
    source = [(DOCS / "api" / "commands.md").read_text(encoding="utf-8")]
    assert source[0].count(commands.MARK) == 1
    words = commands.commands()
    assert {(), ("join",), ("study", "new"), ("demo",)} < set(words)
    assert "audit      Show every message" in next(commands.helps())


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["A `name` and *this_*."], ["A ``name`` and \\*this\\_\\*."]),
        (['{"a": 1}'], ['{\\"a\\": 1}']),
        (
            ["one  is first", "     and more", "two  is next"],
            ["", "``one``", "   is first", "   and more", "", "``two``", "   is next"],
        ),
        (["    as it is"], [".. code-block:: text", "", "       as it is"]),
        ([">>> 1 + 1", "2"], [">>> 1 + 1", "2"]),
    ],
)
def test_docstrings_stay_what_they_say(lines: list[str], shown: list[str]) -> None:
    assert list(docstrings.as_rst(lines))[:-1] == shown


@pytest.mark.parametrize(
    ("page", "better"),
    [
        ("<pre>wide</pre>", '<pre tabindex="0">wide</pre>'),
        (
            '<p class="caption" role="heading"><span>Start</span></p>',
            '<p class="caption" role="heading" aria-level="2"><span>Start</span></p>',
        ),
        (
            '<tr><th class="head"><p></p></th><th>a</th></tr>',
            '<tr><td class="head"></td><th>a</th></tr>',
        ),
        ('<thead>\n<tr class="row-odd"><th class="head"><p></p></th>\n</tr>\n</thead>', ""),
        ('\n<div id="search-results">', '\n<h1>Search</h1>\n<div id="search-results">'),
        (
            '<dl><dt class="sig py"><dl><dd>a,</dd></dl></dt><dd>said</dd></dl>',
            '<dl><dt class="sig py"><span class="sig-lines"><span class="sig-line">a,</span></span>'
            "</dt><dd>said</dd></dl>",
        ),
    ],
)
def test_pages_are_put_right_once(page: str, better: str) -> None:
    assert accessible.accessible(page) == better
    assert accessible.accessible(better) == better


def test_a_notebook_is_run_and_shows_what_it_says(tmp_path: Path) -> None:
    file = tmp_path / "small_notebook.py"
    text = (
        '"""Not shown."""\n# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 2\nprint(x)\nx + 1\n'
    )
    code = "```python\nx = 2\nprint(x)\nx + 1\n```"
    shown = f"# Title\n\nText.\n\n{code}\n\n```text\n2\n```\n\n```text\n3\n```"
    assert notebooks.as_markdown(text, file) == shown
    with pytest.raises(ZeroDivisionError) as raised:
        notebooks.as_markdown("# %%\n\nx = 1\nx / 0\n", file)
    assert raised.traceback[-1].lineno == 3, "the line of the file, counted from 0"
