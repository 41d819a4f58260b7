"""What happened, in one run or in all of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.party.campaign.scenario import QUESTIONS, STEPPED

FAULTS = {
    "KILL": "kills",
    "power": "power cuts",
    "TERM": "SIGTERM",
    "HUP": "SIGHUP",
    "INT": "SIGINT",
    "stop": "SIGSTOP",
    "full": "full disks",
    "rollback": "journals rolled back",
    "back begun": "of them to before the sums",
    "back masked": "to after a masked vector left",
    "back answer": "to after the answer",
    "lost": "journals lost",
    "key": "keys of journals lost or altered",
    "version": "other versions",
    "cut": "connections cut",
    "hole": "links black-holed",
    "oneway": "in one direction",
    "distant": "runs between hosts far apart",
    "loss": "packets lost",
    "late": "packets late",
    "c": "processes by a wrong clock",
    "e": "handshakes by a clock for which no certificate is made",
    "early": "starts refused by such a clock",
    "descriptors": "processes with fewer descriptors than strangers",
    "stranger": "connections of strangers",
    "d": "frames duplicated",
    "l": "delayed",
    "s": "reordered",
    "p": "processes whose messages were of several chunks",
    "r": "rubbish of insiders",
    "a": "lies of relays",
}
"""How each fault is called, in the order of the report."""
LEAST = {
    "KILL": 50, "TERM": 50, "HUP": 20, "INT": 20, "stop": 20, "full": 20, "power": 20,
    "hole": 5, "oneway": 5, "loss": 100, "late": 2000, "descriptors": 20, "c": 20, "e": 50,
    "early": 2, "rollback": 15, "back begun": 3, "back masked": 3, "back answer": 2, "lost": 5,
    "version": 10, "stranger": 500, "p": 100, "r": 50, "a": 20, "cut": 200, "d": 100, "l": 100,
    "s": 100, "key": 3,
}  # fmt: skip
"""How often each happens at least in a campaign of a thousand runs: else it has not tried it."""
OF_A_SWITCH = "hole", "oneway", "loss", "late"
_LARGE = 1000  # runs
_QUESTIONS = 5
_MANY = 20  # parties
SPOILT = "lost", "rollback", "key"
"""After which there may be no answer: whose journal it is."""


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
    over: int = 0
    """Runs that were over for all, and were searched for secrets."""
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
            f"({self.over} runs searched, {self.on_images} disk images)"
        )

    def too_few(self, *, apart: bool = True) -> list[str]:
        """What a campaign of many runs has not tried often enough; `apart`: whether it could have
        hosts of their own."""
        if 2 * self.runs < _LARGE:
            return []
        kinds = [kind for kind in LEAST if apart or kind not in OF_A_SWITCH]
        found = [
            f"{FAULTS[kind]}: {self.faults[kind]} of {least}"
            for kind in kinds
            if self.faults[kind] < (least := max(1, LEAST[kind] * self.runs // _LARGE))
        ]
        asked = (*QUESTIONS, *STEPPED, "large")
        found += [f"questions of {name}" for name in asked if self.questions[name] < _QUESTIONS]
        return found + [f"{_MANY} parties or more"] * (max(self.parties) < _MANY)

    @property
    def drawn(self) -> str:
        """What the runs were."""
        asked = ", ".join(f"{count} {name}" for name, count in sorted(self.questions.items()))
        sizes = ", ".join(f"{many}: {count}" for many, count in sorted(self.parties.items()))
        return f"questions: {asked}; runs by parties: {sizes}"
