"""The verdict on one run: what must be so for each party, and for all together."""

# Rule: it reads exit statuses, saved answers, what was said and what is on the disks; no clock.

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from json import loads
from pathlib import Path

from tests.party.campaign import files
from tests.party.campaign.disks import Disk, left_in
from tests.party.campaign.expected import Expected, differences
from tests.party.campaign.scenario import Scenario
from tests.party.campaign.tally import SPOILT, Tally

LIVES = 30  # starts of one party in one run: on a busy machine some give up, again and again
_LIVES_IN_VAIN = 2  # times that one gives up waiting where there may never be an answer
_ROUNDS = 4  # times that all are started again, because of a journal
_MOST_SAID = 200_000  # bytes that one process says, whatever others do


@dataclass
class Judge:
    scenario: Scenario
    folder: Path
    disks: dict[str, Disk]
    expected: Expected
    tally: Tally
    troubles: list[str]
    ended: dict[str, bool] = field(default_factory=dict)
    """Party → whether it has the answer."""
    _given_up: Counter[str] = field(default_factory=Counter)
    _rounds: int = 0
    _ended_for_good: set[str] = field(default_factory=set)
    """Whose run is over without an answer: status 1 or 3."""
    _refused: set[str] = field(default_factory=set)
    """Who ended with the refusal that the rows deserve."""

    def is_over(self, name: str, life: int, status: int) -> bool:
        """Whether a party that ended by itself has reached its end; judge how."""
        said = text_of(self.folder / f"{name}.{life}.err")
        saved = self.disks[name].place / f"{name}.json"
        if len(said) > _MOST_SAID:
            self.wrong(name, f"said {len(said)} bytes")
        if status == 0:
            if "Traceback" in said:
                self.wrong(name, f"has the answer and a mistake: {said[-2000:]}")
            if self._is_exact(name, saved) and name not in self.ended:
                self.tally.exact += 1
            self.ended[name] = True
            return True
        if status == 3 and "Traceback" not in said:
            self._judge_refusal(name, said, saved)
        elif status not in (1, 75) or "titan: error: " not in said or "Traceback" in said:
            self.wrong(name, f"ended with status {status}: {said[-2000:]}")
        elif has_answer(saved) and status == 1 and name != self.scenario.may_fail:
            self.wrong(name, "has an answer and an error")
        elif has_answer(saved) and not self._is_exact(name, saved):
            pass  # a disk may fill up behind the answer, but not make it another one
        elif status == 75 and self._given_up[name] < self._patience:
            self.tally.waited += 1
            self._given_up[name] += 1
            return False  # the same command goes on from there
        else:
            self.tally.errors += name not in self.ended
            if status == 1:
                self._ended_for_good.add(name)
            if not self._may_fail:
                self.wrong(name, f"an error: {said[-600:]}")
        self.ended[name] = has_answer(saved)  # whose journal went when it had its answer
        return True

    def _judge_refusal(self, name: str, said: str, saved: Path) -> None:
        """Whatever else has happened: only for the reason that the same rows have in one process.

        Whose rows it is must say why, and all others that somebody refuses, and no more.
        """
        due, errors = self.expected.refusals.get(name), errors_in(said)
        if due is None:
            self.wrong(name, f"refuses what no rule forbids: {errors}")
        elif errors != [due]:
            self.wrong(name, f"must say {due!r}, and says {errors}")
        elif has_answer(saved):
            self.wrong(name, "has an answer and a refusal")
        else:
            self.tally.refused += name not in self._refused
            self._refused.add(name)
            self._ended_for_good.add(name)

    @property
    def _spoilt(self) -> bool:
        """Whether a journal is not what it was."""
        return any(self.tally.faults[how] for how in SPOILT)

    @property
    def left_behind(self) -> bool:
        """Whether somebody gave up waiting, for now, for an answer that others have; or, where a
        journal is not what it was, for whatever comes of the run."""
        without = {name for name, has in self.ended.items() if not has} - self._ended_for_good
        if self._spoilt:
            waiting = bool(without) and self._rounds < _ROUNDS
        else:
            waiting = bool(without - {self.scenario.may_fail}) and any(self.ended.values())
        return waiting and not self.tally.wrong

    def starts_all_again(self) -> bool:
        """As all are told to, who gave up waiting, who has the answer, and whose journal it is."""
        again = self.left_behind
        self._rounds += 1
        self._given_up.clear()
        return again

    @property
    def _patience(self) -> int:
        return _LIVES_IN_VAIN if self._may_fail else LIVES

    @property
    def _may_fail(self) -> bool:
        """Whether something has happened because of which there may be no answer."""
        return bool(self.scenario.liar or self._spoilt)

    def _is_exact(self, name: str, saved: Path) -> bool:
        try:
            different = differences(self.expected.answer, files.load(saved))
        except (OSError, ValueError) as error:
            self.wrong(name, f"has no answer that can be read: {error}")
            return False
        if due := self.expected.refusals:
            self.wrong(name, f"has an answer that a rule forbids: {sorted(set(due.values()))}")
        elif different:
            self.wrong(name, f"has another answer in {', '.join(different)}")
        return not different and not due

    def judge_all(self) -> None:
        """What must be so for all together."""
        if self.tally.hung or self.tally.wrong:
            return
        answered = {name for name, has in self.ended.items() if has}
        others = set(self.scenario.parties) - {self.scenario.may_fail}
        if answered and others - answered:
            without = ", ".join(sorted(others - answered))
            self.wrong(", ".join(sorted(answered)), f"have an answer, and {without} have none")
        if self._spoilt:
            self._judge_journal(answered)
        if self.tally.faults["a"]:
            self._judge_lie(answered, others)
        elif self.scenario.liar and not answered and self._refused != set(self.scenario.parties):
            self.wrong(self.scenario.liar, "did not lie, and there is no answer")
        if answered | self._ended_for_good == set(self.scenario.parties):
            self._search()

    def _judge_journal(self, answered: set[str]) -> None:
        """Nobody waits for ever, and somebody is told the reason (docs/administration.md)."""
        if waiting := set(self.scenario.parties) - answered - self._ended_for_good:
            why = "waits again and again, where a journal is not what it was"
            self.wrong(", ".join(sorted(waiting)), why)
        unanswered = self._ended_for_good - answered - self._refused
        errors = [error for name in self.scenario.parties for error in self._errors(name)]
        if unanswered and not any("journal" in error for error in errors):
            self.wrong(self.scenario.may_fail, f"nobody names its journal: {errors}")

    def _judge_lie(self, answered: set[str], others: set[str]) -> None:
        """In `tree` and `flood` all name the liar, in `topk` it is found that somebody is.

        A smaller number in a list of `topk` is of no effect where the true one comes another way
        too, and is the larger: then all have the exact answer, as was seen, and nobody was misled;
        or all refuse what the rows forbid.
        In `flood` one alone sees what was altered, by its origin's signature; its own signed last
        message tells all others because of whom it ended the run.
        """
        liar, recovery = self.scenario.liar, self.scenario.choices["recovery"]
        if recovery == "topk" and others | {liar} in (answered, self._refused):
            return
        if answered:
            self.wrong(", ".join(sorted(answered)), f"have an answer, and {liar} lied")
        blamed = re.compile(rf"\b{liar}\b(?! ended the run)")  # as a word: east is in least
        named = {name for name in others if any(map(blamed.search, self._errors(name)))}
        if recovery != "topk" and named != others:
            found = {name: self._errors(name) for name in sorted(others)}
            self.wrong(liar, f"lied in {recovery}; named by {sorted(named)} only: {found}")
        elif waiting := others - answered - self._ended_for_good:
            self.wrong(", ".join(sorted(waiting)), f"waits in vain, and {liar} lied")
        else:
            self.tally.found_out += 1

    def _errors(self, name: str) -> list[str]:
        """Without those of who gave up: they name who is waited for, whoever is to blame."""
        screens = sorted(self.folder.glob(f"{name}.*.err"))
        found = (error for path in screens for error in errors_in(text_of(path)))
        return [error for error in found if "nothing came for" not in error]

    def _search(self) -> None:
        """Of a run that is over for all no secret may be left: in no file, in no freed block."""
        noted = text_of(self.folder / "secrets").split()
        secrets = {bytes.fromhex(line) for line in noted}
        self.tally.searched += len(secrets)
        self.tally.over += 1
        for name, disk in self.disks.items():
            disk.unmount()
            self.tally.on_images += disk.image.exists()
            if left := left_in(disk.content(), secrets):
                self.tally.left += left
                self.troubles.append(f"{left} secrets are left on the disk of {name}")

    def wrong(self, name: str, why: str) -> None:
        self.tally.wrong += 1
        self.troubles.append(f"{name}: {why}")


def errors_in(said: str) -> list[str]:
    """What stands behind every "titan: error: "."""
    parts = (line.partition("titan: error: ") for line in said.splitlines())
    return [text for _, found, text in parts if found]


def text_of(path: Path) -> str:
    """Empty where there is none."""
    try:
        return path.read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def has_answer(saved: Path) -> bool:
    """A run that was over before a restart is told with its error, question by question."""
    if not saved.exists():
        return False
    try:
        told = loads(saved.read_bytes())
    except ValueError:
        return True  # half of one, which is not exact
    return any("error" not in each for each in told.get("questions", {"": told}).values())
