"""docs/paper.md points to code and tests that are there, and quotes what its commands print."""

from __future__ import annotations

import re
from pathlib import Path

from titan_lab.experiments import figure2

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")


def test_every_file_and_test_it_names_is_there() -> None:
    named = re.findall(r"`((?:src|tests)/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > 35
    for file, test in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in text, f"{file}::{test}"


def test_the_figures_of_the_first_experiment_are_those_counted() -> None:
    result = figure2.run()
    one, two = result.cost, result.two_sums
    assert f"{one.numbers_sent.largest:,}, equal with d = {result.plan.entries}" in PAGE
    assert f"| {one.numbers_held.largest}, equal |" in PAGE
    text = " ".join(PAGE.split())
    assert f"that is {two.rounds} rounds instead of {one.rounds}" in text
    assert f"{two.numbers_sent.largest:,} numbers sent per node instead of 1,581" in text
    assert f"({two.bytes_sent.largest:,} bytes instead of {one.bytes_sent.largest:,}," in text
    assert f"it closes at {result.span:g}" in text.replace("moments it", "it")


def test_the_bound_of_the_paper_fails_where_it_says() -> None:
    """The first fifty of the thousand seeds of the page's snippet, run as it stands."""
    [snippet] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)
    printed: list[int] = []
    shorter = snippet.replace("range(1, 1001)", "range(1, 51)")
    assert shorter != snippet
    exec(compile(shorter, "paper.md", "exec"), {"print": printed.append})  # noqa: S102
    assert printed == [11]
