"""The code blocks of a page, and what stands behind their language.

```sh                        run by bash, in the folder and environment that the block before left
```python                    run by Python, after the page's earlier Python blocks
```r                         run by Rscript, where there is one
```text                      after one of those: what it printed, line by line. "…" in a line
                             stands for anything, a line of it for any lines; what comes before
                             the first line and after the last is not shown

status=3                     it ends with this exit status, not with 0
terminal=north               at a terminal of its own, beside the terminals of the blocks next to it
answer=y                     typed there when it is asked for
needs="titan join --sql"     run where this is there: a command with its option, or a program
not-run="needs root"         why nobody runs it here; any other block is run
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RUN = ("sh", "python", "r")
SHOWN = ("text", "toml", "json", "console", "ini", "")
TAGS = {"status", "terminal", "answer", "needs", "not-run"}
_FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.S | re.M)


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    tags: dict[str, str]
    text: str
    shows: str | None = None
    """What the page says that it prints."""

    @property
    def place(self) -> str:
        return f"{self.page}, line {self.line}"


def pages() -> dict[str, Path]:
    """Every page whose commands are run."""
    found = [ROOT / "README.md", ROOT / "docs" / "tutorial.md"]
    found += sorted(set((ROOT / "docs" / "howto").glob("*.md")) - {ROOT / "docs/howto/index.md"})
    return {str(page.relative_to(ROOT)): page for page in found}


def blocks(page: Path) -> list[Block]:
    """Those that are run, in order, each with what it prints."""
    found: list[Block] = []
    for block, between in _fenced(page, page.read_text(encoding="utf-8")):
        if block.language in RUN:
            found.append(block)
        elif block.language == "text" and found and not between:
            last = found.pop()
            found.append(replace(last, shows=block.text))
    return found


def _fenced(page: Path, text: str) -> Iterator[tuple[Block, str]]:
    """Every fenced block, and what stands between it and the one before."""
    end = 0
    for match in _FENCE.finditer(text):
        language, *words = shlex.split(match[1]) or [""]
        tags = dict(word.partition("=")[::2] for word in words)
        line = text.count("\n", 0, match.start()) + 1
        if not (language in RUN + SHOWN and set(tags) <= TAGS and all(tags.values())):
            raise ValueError(f"{page.name}, line {line}: ```{match[1]} is not understood")
        yield Block(page.name, line, language, tags, match[2]), text[end : match.start()].strip()
        end = match.end()


def missing_in(printed: str, shows: str) -> str | None:
    """The first line that a page shows and that was not printed where it should have been."""
    lines = [line.rstrip() for line in printed.splitlines()]
    at, anywhere = 0, True
    for line in shows.rstrip("\n").splitlines():
        if line.strip() == "…":
            anywhere = True
            continue
        pattern = re.compile(".*".join(map(re.escape, line.rstrip().split("…"))))
        found = next((i for i in range(at, len(lines)) if pattern.fullmatch(lines[i])), None)
        if found is None or not (anywhere or found == at):
            return line
        at, anywhere = found + 1, False
    return None
