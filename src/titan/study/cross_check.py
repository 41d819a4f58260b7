"""Several parties' transcripts of one run, held against each other.

Each is verified by itself first. Then all must tell the same of what all know (the run, its nonces
and sums, how it ended), and of every message between two of them both ends must tell the same:
its round, kind, size and, where it is shown, its SHA-256.
"""

# Rule 1: what a party sent is in its transcript, and so is what it needed from others. What it
#         did not need may have come after it had signed: the last messages along a link, no others.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from os import PathLike
from typing import Any

from titan.canonical import canonical, near
from titan.errors import FileError
from titan.listing import listing
from titan.release.policy import counted
from titan.study import falsified
from titan.study.audit import transcript_in
from titan.study.kinds import MASK, Message
from titan.study.transcript import Transcript
from titan.study.verified import Facts, verify

_NOT_AWAITED = frozenset({"AGREED", "ANSWER", "END"})
_ESTIMATES = frozenset({"condition", "error_bound", "digits"})  # of how good a solution is
_PARTS_BY_NAME = frozenset({"columns", "groups"})  # of a description, and of curves
_NEAR = 2.0**-40
_NOTHING = "nothing"
_MOST_SHOWN = 20

_Place = tuple[Any, ...]


@dataclass(frozen=True)
class Difference:
    """What two parties tell differently."""

    parties: tuple[str, str]
    about: str
    told: tuple[str, str]
    """By the one and by the other."""

    def as_dict(self) -> dict[str, Any]:
        return {"parties": list(self.parties), "about": self.about, "told": list(self.told)}

    def __str__(self) -> str:
        (one, other), (this, that) = self.parties, self.told
        return f"{self.about}: {one} says {this}, {other} says {that}"


@dataclass(frozen=True)
class CrossCheck:
    """Transcripts that are right by themselves, and what they tell differently."""

    facts: tuple[Facts, ...]
    differences: tuple[Difference, ...]
    messages: int
    """How many messages both ends tell alike."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "verified": not self.differences,
            "transcripts": [each.as_dict() for each in self.facts],
            "messages_told_by_both": self.messages,
            "differences": [each.as_dict() for each in self.differences],
        }

    def __str__(self) -> str:
        signers = [
            f"{each.transcript.party}: the signature is right; the signer's certificate has the "
            f"fingerprint {each.fingerprint}"
            for each in self.facts
        ]
        told = [each.transcript for each in self.facts]
        versions = falsified.versions(told)
        if not self.differences:
            head, *lines = str(self.facts[0]).splitlines()[:-1]
            left_out = ("sent:", "received:", *(("sums:", "no answer:", "named:") * bool(versions)))
            ours = [line for line in lines if not line.startswith(left_out)]
            first = head.partition(", as seen by")[0]
            return "\n".join([first, *ours, *versions, *signers, self.agreed])
        shown = list(map(str, self.differences[:_MOST_SHOWN]))
        if (more := len(self.differences) - _MOST_SHOWN) > 0:
            shown.append(f"and {counted(more, 'more difference')}")
        return "\n".join([*signers, *versions, self._alike, *shown])

    @property
    def agreed(self) -> str:
        """In words, where there is no difference."""
        agreed = falsified.agreed([each.transcript for each in self.facts])
        return f"{agreed}, and {self._alike}"

    @property
    def _alike(self) -> str:
        return f"both ends agree on {counted(self.messages, 'message')} between them"


def cross_check(transcripts: Iterable[str | PathLike[str] | Facts]) -> CrossCheck:
    """Of transcripts or runs' folders, one of each party; FileError for one that is not valid."""
    facts = tuple(
        each if isinstance(each, Facts) else verify(transcript_in(each)) for each in transcripts
    )
    told = [each.transcript for each in facts]
    names = [each.party for each in told]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise FileError(
            f"more than one of the transcripts is by {listing(twice)}",
            hint="give one transcript of each party",
        )
    _refuse_several_runs(told)
    differences: list[Difference] = []
    alike = 0
    for one, other in combinations(told, 2):
        parties = one.party, other.party
        found = list(_unlike(parties, _of_which_run(one), _of_which_run(other)))
        if not found:  # of two runs nothing else need be alike
            found += _unlike(parties, _known_to_all(one), _known_to_all(other))
            found += _unlike(parties, *_results(one, other))
            found += [
                Difference(parties, about, each)
                for about, each in falsified.unlike(one, other).items()
            ]
            for sender, receiver in ((one, other), (other, one)):
                said, both = _along_link(sender, receiver)
                found += said
                alike += both
        differences += found
    return CrossCheck(facts, tuple(differences), alike)


def _refuse_several_runs(told: Sequence[Transcript]) -> None:
    """Nothing need be alike of different runs; what was told differently of one is shown."""
    of: dict[tuple[str, int], list[str]] = {}
    for each in told:
        of.setdefault((each.study, each.run), []).append(each.party)
    if len(of) > 1:
        which = [
            f"run {run} of study {study[:12]} ({listing(names)})"
            for (study, run), names in of.items()
        ]
        raise FileError(
            f"the transcripts are of different runs: {'; '.join(which)}",
            hint="give transcripts of one run of one study",
        )


# -- what all know ----------------------------------------------------------------------------


def _of_which_run(t: Transcript) -> dict[str, str]:
    nonces = {f"the nonce of {name}": nonce for name, nonce in t.nonces.items()}
    return {"the parties": ", ".join(sorted(t.nonces)), **nonces}


def _known_to_all(t: Transcript) -> dict[str, str]:
    found = {
        "the network": f"diameter {t.network.diameter}, connectivity {t.network.connectivity}, "
        f"tau {t.network.tau}",
        "the end": "an answer" if t.stopped is None else "that a sum was falsified",
    }
    if t.stopped is None:  # else one party may have stopped in another sum than another
        found["the number of sums"] = str(len(t.sums))
        found["the pooled sum"] = str(t.pooled)
    for number, record in enumerate(t.sums, 1):
        found[f"the recovery of sum {number}"] = f"{record.recovery} in {record.rounds} rounds"
        if record.check or t.stopped is None:
            found[f"the check of sum {number}"] = record.check or "none"
    return found


def _results(*transcripts: Transcript) -> list[dict[str, str]]:
    """Of two answers. Honest machines may differ in the last digits of floats, so that the files
    which keep them differ, too."""
    one, other = (t.result for t in transcripts)
    if any(t.stopped for t in transcripts):
        return [{}, {}]
    if one == other:
        return [{"the SHA-256 of result.json": t.result_sha256} for t in transcripts]
    if near(_without_estimates(one), _without_estimates(other), _NEAR):
        return [{}, {}]
    return [
        {"the result": f"numbers with sha256 {sha256(canonical(t.result)).hexdigest()}"}
        for t in transcripts
    ]


def _without_estimates(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Without a result's own fields of these names. Columns, levels and questions may have the same
    names, and theirs stay: it goes by where a field stands."""
    if isinstance(several := answer.get("questions"), dict):
        return {**answer, "questions": {name: _own(each) for name, each in several.items()}}
    return dict(_own(answer))


def _own(result: Any) -> Any:
    """Of one result: at its top, and of the parts it has."""
    if not isinstance(result, Mapping):
        return result
    kept = _less(result)
    for key in _PARTS_BY_NAME & kept.keys():
        if isinstance(parts := kept[key], dict):
            kept[key] = {name: _less(part) for name, part in parts.items()}
    if isinstance(path := kept.get("path"), list):
        kept["path"] = [*map(_less, path)]
    if "logrank" in kept:
        kept["logrank"] = _less(kept["logrank"])
    return kept


def _less(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    return {key: value for key, value in part.items() if key not in _ESTIMATES}


def _unlike(
    parties: tuple[str, str], one: dict[str, str], other: dict[str, str]
) -> Iterator[Difference]:
    """Among what both tell; the numbers of parties and sums are told as well."""
    for about, this in one.items():
        that = other.get(about, this)
        if this != that:
            yield Difference(parties, about, (this, that))


# -- messages ---------------------------------------------------------------------------------


def _along_link(sender: Transcript, receiver: Transcript) -> tuple[list[Difference], int]:
    """What the two tell differently of the messages from one to the other; how many are alike."""
    ends, both = (sender.party, receiver.party), min(len(sender.sums), len(receiver.sums))
    sent, received = (
        _by_place(m for m in t.messages if (m.sender, m.receiver) == ends and (m.sum or 0) < both)
        for t in (sender, receiver)
    )
    latest = max((_turn(m) for m in received.values() if m.sum is not None), default=(0, 0))
    found, alike = [], 0
    for place in sorted(sent.keys() | received.keys()):
        this, that = sent.get(place), received.get(place)
        if this == that:
            alike += 1
        elif this is None or that is not None or not _may_be_late(this, latest, receiver):
            about = f"{_in_words(place)} from {ends[0]} to {ends[1]}"
            found.append(Difference(ends, about, (_told(this), _told(that))))
    return found, alike


def _by_place(messages: Iterable[Message]) -> dict[_Place, Message]:
    """By its place in a sum, where there is one message; others by kind, size and how many."""
    found: dict[_Place, Message] = {}
    times = Counter[tuple[str, int]]()
    for m in messages:
        if m.sum is not None:
            place: _Place = 0, m.sum, m.round, m.kind
        else:
            times[m.kind, m.size] += 1
            place = 1, m.kind, m.size, times[m.kind, m.size]
        found[place] = m
    return found


def _turn(m: Message) -> tuple[int, int]:
    return m.sum or 0, m.round


def _may_be_late(m: Message, latest: tuple[int, int], receiver: Transcript) -> bool:
    """Whether it may have come after its receiver had all it needed, or after it had stopped."""
    if m.sum is None:
        return m.kind in _NOT_AWAITED
    return receiver.stopped is not None and m.kind != MASK and _turn(m) >= latest


def _in_words(place: Sequence[Any]) -> str:
    if place[0] == 0:
        _, sum_, round_, kind = place
        return f"{kind} in round {round_} of sum {sum_ + 1}"
    _, kind, _, times = place
    return f"{kind} number {times} of its size"


def _told(m: Message | None) -> str:
    if m is None:
        return _NOTHING
    return f"{m.size} bytes" + (f", sha256 {m.sha256}" if m.sha256 else "")
