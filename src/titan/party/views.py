"""What some parties saw of a rehearsal: a view, as of a run in one process, from the journals.

    titan rehearse heart.csv --party hospital --formula "…" --keep-journal --out kept
    titan.view("kept", ["north", "east"])

What a party received is in its own journal, and what it sent in those of its receivers. Its inputs
follow from its messages, since they show both its masks and what it masked; the carried 1 proves
that nothing is missing.
"""

# Rule 1: of a party outside the coalition nothing is taken but what a member sent it.
# Rule 2: a view is whole, or there is none: all that members noted as sent must have arrived.

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import numpy as np

from titan.errors import FileError, InputError
from titan.network.names import Party
from titan.party.messages import AGREED, ANSWER, END, LAST, NONCE, Enclosed
from titan.party.private_sums import first_binding
from titan.party.run import run_identity
from titan.privacy.view import (
    Integers,
    Message,
    Notice,
    PlannedSum,
    View,
    check_recordable,
    integers,
    members_of,
    seen,
    sum_of_inputs,
)
from titan.results.result_file import checked_path
from titan.ring import Residues
from titan.study import Study, kinds
from titan.study.audit import JOURNAL
from titan.study.frames import Frame
from titan.study.journal import Journal

_AGAIN = "keep one with: titan rehearse … --keep-journal --out DIR"
_ORDER = (NONCE, AGREED, ANSWER, END)


def view(folder: str | PathLike[str], coalition: Iterable[Party]) -> View:
    """Exactly what these parties saw of the rehearsal kept in `folder`, and their own inputs.

    The rehearsal must have been run with --keep-journal: otherwise its masks are erased. What was
    said around the sums is in the view's `notices`.
    """
    place = checked_path(folder)
    for needed in ("study.toml", "runs"):
        if not (place / needed).exists():
            raise FileError(
                f'"{place}" is not the folder of a rehearsal: it has no {needed}', hint=_AGAIN
            )
    study = Study.load(place / "study.toml")
    network = study.network
    members = members_of(network, coalition)
    names = tuple(network.parties[i] for i in members)
    seen_frames = _Frames.of(place, study, frozenset(names))
    sums: list[PlannedSum] = []
    messages: list[Message] = []
    inputs: dict[str, tuple[Integers, ...]] = dict.fromkeys(names, ())
    binding = first_binding(seen_frames.identity, study.plans)
    for number, unbound in enumerate(_sums(study, seen_frames.sums)):
        sum_ = replace(unbound, binding=binding)
        found = seen_frames.messages(members, number, sum_, network.parties)
        for name in names:
            inputs[name] += (_input(name, sum_, _own(name, found)),)
        binding = binding.after(sum_.ring, _total(names[0], sum_, _own(names[0], found)))
        sums.append(sum_)
        messages += found
    return View(
        network, names, tuple(sums), tuple(messages), MappingProxyType(inputs),
        seen_frames.notices(),
    )  # fmt: skip


def _sums(study: Study, made: int) -> tuple[PlannedSum, ...]:
    """Those that were made: an answer may come before the last that was planned."""
    planned = zip(study.meeting.sums, study.plans, strict=True)
    sums = tuple(PlannedSum(sum_.name, plan, sum_.unit) for sum_, plan in planned)[:made]
    for each in sums:
        check_recordable(each.plan)
    return sums


def _own(name: str, messages: Iterable[Message]) -> list[Message]:
    return [m for m in messages if name in (m.sender, m.receiver)]


def _total(name: str, sum_: PlannedSum, own: list[Message]) -> Residues:
    """As one party knows it: its own part, and that of every group of the others."""
    plan = sum_.plan
    groups = [*plan.network.honest_components([name]), (name,)]
    parts = [sum_of_inputs(plan, group, own) for group in groups]
    return plan.without_carried_one(plan.ring.sum_axis(np.stack(parts, axis=1)))


def _input(name: str, sum_: PlannedSum, own: list[Message]) -> Integers:
    found = sum_of_inputs(sum_.plan, [name], own)
    if sum_.ring.to_ints(found[:, -1:]) != [1]:
        raise FileError(f"the journals of {name} and its neighbours do not belong together")
    return integers(sum_.ring, found[:, :-1])


# -- journals ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Frames:
    """All that members sent or received: the frames, each with its receiver."""

    received: list[tuple[str, Frame]]
    unheard: list[Notice]
    """Last messages that were not waited for."""
    identity: bytes
    """Of the run, which all parties know."""

    @classmethod
    def of(cls, place: Path, study: Study, inside: frozenset[str]) -> _Frames:
        received: list[tuple[str, Frame]] = []
        balance: Counter[kinds.Message] = Counter()
        identity = b""
        for party in study.network.parties:
            with _journal(place, study, party) as journal:
                if party in inside:
                    identity = _identity(journal, study)
                noted = [m for m in journal.messages() if m.sender in inside]
                balance.update(m for m in noted if m.sender == party)
                balance.subtract(m for m in noted if m.receiver == party)
                received += [
                    (party, frame)
                    for frame in journal.incoming()
                    if (party in inside or frame.peer in inside) and frame.kind != kinds.WORK
                ]
        return cls(received, _unheard(balance), identity)

    def messages(
        self, members: list[int], number: int, sum_: PlannedSum, names: tuple[str, ...]
    ) -> list[Message]:
        """Those of one sum, in order of rounds, with the signatures behind masked vectors."""
        envelopes, signatures = [], {}
        for _, frame in self.received:
            if frame.sum == number:
                enclosed = Enclosed.decode(frame.body)
                envelopes.append(enclosed.envelope)
                signatures[enclosed.envelope[:4]] = bytes(enclosed.signatures)
        found = seen(members, envelopes, names, number, sum_)
        return [replace(m, signatures=signatures[m._envelope[:4]]) for m in found]

    @property
    def sums(self) -> int:
        """How many sums were made."""
        return 1 + max(frame.sum for _, frame in self.received if frame.sum is not None)

    def notices(self) -> tuple[Notice, ...]:
        outside = [
            Notice(frame.kind, frame.peer, party, bytes(frame.body))
            for party, frame in self.received
            if frame.sum is None
        ]
        return tuple(sorted([*outside, *self.unheard], key=lambda n: _ORDER.index(n.kind)))


@contextmanager
def _journal(place: Path, study: Study, party: str) -> Iterator[Journal]:
    """A journal of this rehearsal, come to its end and with its secrets."""
    found = sorted((place / "runs" / party).glob(f"*/{JOURNAL}"))
    if len(found) != 1:
        raise FileError(
            f'"{place}" has {len(found)} journals of {party}, and one is expected', hint=_AGAIN
        )
    with Journal.open(found[0]) as journal:
        state = journal.state
        if state is None or not state.finished:
            raise InputError(f"{party} did not come to the end of this rehearsal", hint=_AGAIN)
        if (state.study, state.party) != (study.digest, party):
            raise FileError(
                f"the journal of {party} is not of this study", hint="was either changed?"
            )
        if state.erased:
            raise InputError(
                "the masks of this rehearsal were erased when it was over, so nobody's view can "
                "be shown",
                hint=_AGAIN,
            )
        yield journal


def _identity(journal: Journal, study: Study) -> bytes:
    state = journal.state
    assert state is not None  # noqa: S101 - it came to its end
    nonces = [state.nonces[name] for name in study.network.parties]
    return run_identity(bytes.fromhex(study.digest) + state.run.to_bytes(4, "little"), nonces)


def _unheard(balance: Counter[kinds.Message]) -> list[Notice]:
    """What members noted as sent and nobody has: nothing, but perhaps last messages."""
    apart = {message: count for message, count in balance.items() if count}
    for message, count in apart.items():
        if message.kind != END or count < 0:
            raise FileError(
                f"the journals of {message.sender} and {message.receiver} do not agree on what "
                "went between them",
                hint=_AGAIN,
            )
    return [Notice(END, message.sender, message.receiver, LAST) for message in apart]
