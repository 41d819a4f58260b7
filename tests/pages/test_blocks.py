"""Invariant: a page's commands are run as they stand, and one that says too much is found out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.blocks import Block, blocks, missing_in, pages
from tests.pages.session import PageError, Session


def page(folder: Path, text: str) -> list[Block]:
    (folder / "page.md").write_text(text)
    return blocks(folder / "page.md")


def test_every_block_of_every_page_is_run_or_says_why_not() -> None:
    found = {name: blocks(file) for name, file in pages().items()}
    assert {"README.md", "docs/tutorial.md"} < set(found)
    assert all(found.values()), "a page without a command is not for this folder"
    untold = [
        block.place for each in found.values() for block in each if block.tags.get("not-run") == ""
    ]
    assert untold == []


@pytest.mark.parametrize("fence", ["bash", "sh silently", "sh status=", "pycon"])
def test_a_block_that_nobody_would_run_is_refused(tmp_path: Path, fence: str) -> None:
    with pytest.raises(ValueError, match=r"page\.md, line 3"):
        page(tmp_path, f"# Page\n\n```{fence}\ntrue\n```\n")


def test_blocks_are_run_in_order_in_one_place(tmp_path: Path) -> None:
    found = page(
        tmp_path,
        "```sh\nmkdir inner\ncd inner\nexport WORD=kept\n```\n"
        "```python\nword = 'new'\n```\n"
        "```python\nimport os\nprint(word, os.environ['WORD'], os.getcwd()[-5:])\n```\n"
        "```text\nnew kept inner\n```\n"
        "```sh status=3\nexit 3\n```\n"
        '```sh not-run="needs root"\nfalse\n```\n',
    )
    session = Session(tmp_path)
    assert session.run(found) == 4
    assert session.not_run == ["page.md, line 19: needs root"]


@pytest.mark.parametrize(
    "text",
    [
        "```sh\nfalse\ntrue\n```\n",
        "```sh status=3\ntrue\n```\n",
        "```sh\necho one\n```\n\n```text\ntwo\n```\n",
        "```python\nprint('one')\n```\n```text\n\none two\n```\n",
        "```sh terminal=north\nexit 4\n```\n",
    ],
)
def test_what_does_not_happen_as_the_page_says_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(PageError, match=r"page\.md, line 1"):
        Session(tmp_path).run(page(tmp_path, text))


def test_terminals_stand_beside_each_other_and_answers_are_typed(tmp_path: Path) -> None:
    """Each waits for the other: one after the other would never end."""
    meet = "```sh terminal={} answer=y\nread -p 'Take part? [y/N]: ' word\ntouch {}.$word\n"
    meet += "until [ -e {}.y ]; do sleep 0.01; done\necho met\n```\n```text\nmet\n```\n"
    found = page(tmp_path, meet.format("a", "a", "b") + meet.format("b", "b", "a"))
    assert Session(tmp_path).run(found) == 2


def test_ports_that_a_page_names_are_replaced_by_free_ones(tmp_path: Path) -> None:
    text = "```sh\necho 127.0.0.1:7441 127.0.0.1:7442 127.0.0.1:7441\n```\n"
    session = Session(tmp_path)
    session.run(page(tmp_path, text + "```text\n127.0.0.1:7441 … 127.0.0.1:7441\n```\n"))
    assert len(set(session.ports.values())) == 2
    assert not {7441, 7442} & set(session.ports.values())


@pytest.mark.parametrize(
    ("shows", "absent"),
    [
        ("b\nc", None),
        ("a\n…\nd d", None),
        ("a\n…\nd…", None),
        ("a\nc", "c"),
        ("…\nd", "d"),
        ("b\n…\na", "a"),
    ],
)
def test_lines_are_held_against_what_was_printed(shows: str, absent: str | None) -> None:
    assert missing_in("a\nb\nc \nd d\n", shows) == absent
