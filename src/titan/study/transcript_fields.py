"""A transcript's fields: strict reading of each, and whether together they can be true."""

# Rule: every complaint is a ValueError that says what is wrong in words that fit after "…: ".

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from titan.canonical import hexadecimal as hexadecimal
from titan.canonical import keys as keys
from titan.canonical import listed as listed
from titan.canonical import mapping as mapping
from titan.canonical import text as text
from titan.canonical import whole as whole
from titan.study.frames import MASK, RECOVERY, Message

if TYPE_CHECKING:
    from titan.study.transcript import SumRecord, Transcript

NETWORK = ("diameter", "connectivity", "tau")
SUM = {"recovery", "rounds", "messages"}
BODY = {
    "study", "run", "party", "software", "certificate", "nonces", "network", "sums", "control",
    "totals", "pooled", "result", "result_sha256",
}  # fmt: skip
_MESSAGE = {"from", "to", "round", "kind", "size"}


# -- reading ----------------------------------------------------------------------------------


def message(value: object, number: int | None) -> Message:
    """A message of sum `number`; Message itself refuses a digest of a mask."""
    found = mapping(value)
    digest = {"sha256"} if "sha256" in found else set()
    keys(found, _MESSAGE | digest)
    return Message(
        text(found["from"]),
        text(found["to"]),
        number,
        whole(found["round"]),
        text(found["kind"]),
        whole(found["size"], 1),
        hexadecimal(found["sha256"], exactly=64) if digest else None,
    )


# -- writing ----------------------------------------------------------------------------------


def as_json(transcript: Transcript) -> dict[str, Any]:
    """The body, ready for canonical JSON."""
    t = transcript
    return {
        "study": t.study,
        "run": t.run,
        "party": t.party,
        "software": t.software,
        "certificate": t.certificate,
        "nonces": dict(t.nonces),
        "network": {name: getattr(t.network, name) for name in NETWORK},
        "sums": [_sum_as_json(record) for record in t.sums],
        "control": [_message_as_json(m) for m in t.control],
        "totals": t.totals,
        "pooled": t.pooled,
        "result": dict(t.result),
        "result_sha256": t.result_sha256,
    }


def _sum_as_json(record: SumRecord) -> dict[str, Any]:
    return {
        "recovery": record.recovery,
        "rounds": record.rounds,
        "messages": [_message_as_json(m) for m in record.messages],
    }


def _message_as_json(m: Message) -> dict[str, Any]:
    told: dict[str, Any] = {
        "from": m.sender, "to": m.receiver, "round": m.round, "kind": m.kind, "size": m.size,
    }  # fmt: skip
    return told if m.sha256 is None else told | {"sha256": m.sha256}


# -- all fields together ----------------------------------------------------------------------


def check(transcript: Transcript) -> None:
    """ValueError unless a party following the protocol could have this to tell."""
    t = transcript
    if t.party not in t.nonces or len(t.nonces) < 2 or len({*t.nonces.values()}) < len(t.nonces):
        raise ValueError("it does not have a nonce of its own for every party")
    if t.network.connectivity <= t.network.tau:
        raise ValueError("its network does not hide a party from τ others")
    if not 1 <= t.network.diameter < len(t.nonces):
        raise ValueError("its network has no such diameter")
    if not t.sums:
        raise ValueError("it has no sum")
    links = _links(t.sums[0])
    for record in t.sums:
        _check_sum(record, links)
    for m in t.messages:
        if (m.sender == t.party) == (m.receiver == t.party):
            raise ValueError(f"it tells of a message that is not its own, by {m.sender}")
        if m.sender not in t.nonces or m.receiver not in t.nonces:
            raise ValueError("it tells of a message from or to a stranger")
        back = m.sum is None and (m.receiver, m.sender) in links
        if (m.sender, m.receiver) not in links and not back:
            raise ValueError(f"it tells of a link that carried no mask, {m.sender} to {m.receiver}")
    if any(m.kind == MASK for m in t.control):
        raise ValueError("it tells of a mask outside of a sum")


def _links(record: SumRecord) -> set[tuple[str, str]]:
    return {(m.sender, m.receiver) for m in record.messages if m.kind == MASK}


def _check_sum(record: SumRecord, links: set[tuple[str, str]]) -> None:
    if _links(record) != links or not links:
        raise ValueError("not every sum has one mask along every link")
    if len({m.size for m in record.messages if m.kind == MASK}) != 1:
        raise ValueError("the masks of a sum differ in size")
    for m in record.messages:
        if m.kind != MASK and m.kind not in RECOVERY:
            raise ValueError(f"a message of kind {m.kind} stands inside a sum")
        if (m.kind == MASK) != (m.round == 0) or m.round > record.rounds:
            raise ValueError(f"a message of kind {m.kind} in round {m.round} was never planned")
    times = Counter((m.sender, m.receiver, m.round, m.kind) for m in record.messages)
    if max(times.values()) > 1:
        raise ValueError("a message is told twice")
