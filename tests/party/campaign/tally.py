"""What happened, in one run or in all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

FAULTS = {
    "KILL": "kills",
    "power": "power cuts",
    "TERM": "SIGTERM",
    "HUP": "SIGHUP",
    "INT": "SIGINT",
    "stop": "SIGSTOP",
    "full": "full disks",
    "rollback": "journals rolled back",
    "lost": "journals lost",
    "version": "other versions",
    "cut": "connections cut",
    "hole": "links black-holed",
    "distant": "runs between hosts far apart",
    "clock": "wrong clocks",
    "descriptors": "few descriptors",
    "stranger": "connections of strangers",
    "d": "frames duplicated",
    "l": "delayed",
    "s": "reordered",
    "r": "rubbish of insiders",
    "a": "lies of relays",
}
"""How each fault is called, in the order of the report."""


@dataclass
class Tally:
    runs: int = 0
    exact: int = 0
    errors: int = 0
    refused: int = 0
    """Parties that ended with the refusal that the rows deserve."""
    waited: int = 0
    found_out: int = 0
    """Lies after which nobody had an answer, and who told it was named where that can be told."""
    searched: int = 0
    """Secrets that were looked for when their run was over."""
    on_images: int = 0
    """Disks that were searched bare, with their freed blocks."""
    wrong: int = 0
    hung: int = 0
    left: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    questions: Counter[str] = field(default_factory=Counter)
    parties: Counter[int] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        for name, count in vars(other).items():
            setattr(self, name, getattr(self, name) + count)

    @property
    def bad(self) -> bool:
        return bool(self.wrong or self.hung or self.left)

    @property
    def kills(self) -> int:
        return self.faults["KILL"]

    @property
    def duplicated(self) -> int:
        return self.faults["d"]

    @property
    def delayed(self) -> int:
        return self.faults["l"]

    @property
    def reordered(self) -> int:
        return self.faults["s"]

    def __str__(self) -> str:
        faults = ", ".join(f"{self.faults[k]} {v}" for k, v in FAULTS.items() if self.faults[k])
        return (
            f"{self.runs} runs; {faults or 'no faults'}; {self.exact} exact answers, "
            f"{self.refused} rightly refused, "
            f"{self.errors} clear errors, {self.waited} waits given up and resumed, "
            f"{self.found_out} lies found out, {self.wrong} wrong, {self.hung} hung, "
            f"{self.left} secrets left of {self.searched} "
            f"({self.on_images} disk images searched)"
        )

    @property
    def drawn(self) -> str:
        """What the runs were."""
        asked = ", ".join(f"{count} {name}" for name, count in sorted(self.questions.items()))
        sizes = ", ".join(f"{many}: {count}" for many, count in sorted(self.parties.items()))
        return f"questions: {asked}; runs by parties: {sizes}"
