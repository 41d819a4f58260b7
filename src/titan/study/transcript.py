"""The transcript of a run: what a party signs about what it did, for anyone to check offline.

One line of canonical JSON (sorted keys, no spaces, ASCII):

    {"body": {…}, "format": "titan transcript", "signature": "hex", "version": 3}

    body   study, run, party, software, certificate (PEM of the signer), nonces {party: hex},
           network {diameter, connectivity, tau},
           sums [{recovery, rounds, messages, check}], control [messages outside the sums],
           totals {messages and bytes, sent and received}, pooled (SHA-256 of the pooled sums),
           result (the released numbers), result_sha256 (of the file that keeps them, result.json),
           stopped: null, or {why, named} where a sum was falsified; pooled is null then
    check     the challenge of a checked sum, which stands for what all parties told and the total;
              null where nothing was checked
    message   from, to, round, kind, size; sha256 of recovery messages only (`shown_digests`)

The signature is over b"titan transcript v3\\n" and the body's canonical bytes. A file has one valid
form: what is accepted encodes to the same bytes, so no byte of it can change unnoticed.

Who reads a transcript may test guesses against its digests. Those of recovery messages and of the
pooled sum are functions of what every party has seen; masks, rows and moments have none here.
"""

# Rule 1: nothing enters a transcript that is computed from a mask, a row, a moment or a key.
# Rule 2: sizes are bounded before anything is parsed; unknown keys are refused.
# Rule 3: it ends on somebody's terminal, so all its texts print; but not the certificate's lines,
#         nor the result's texts, which `released` shows. What an honest party writes is made so.

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from titan.canonical import canonical, hexadecimal, keys, listed, mapping, parsed, text, whole
from titan.errors import FileError, InputError
from titan.listing import printable
from titan.study.journal import Journal
from titan.study.kinds import MASK, OPENED, RECOVERY, Message

FORMAT = "titan transcript"
VERSION = 3
SIGNED = b"titan transcript v3\n"
MOST_BYTES = 1 << 28
_MOST_SIGNATURE = 1 << 12
_MOST_TEXT = 1 << 8
_MOST_WHY = 1 << 16
UNRELIABLE = "it was altered, or never was a transcript; do not rely on it"


@dataclass(frozen=True)
class SumRecord:
    """One private sum: its recovery, the rounds planned after the masks, and its messages."""

    recovery: str
    rounds: int
    messages: tuple[Message, ...]
    check: str | None = None


@dataclass(frozen=True)
class Stopped:
    """Why there is no answer, and who is named: who did not do as planned; or who ended the run and
    because of whom, of which one is right and nobody else can know which."""

    why: str
    named: tuple[str, ...]


@dataclass(frozen=True)
class NetworkFacts:
    """What was found before anything left: `connectivity` is at least what was tested for."""

    diameter: int
    connectivity: int
    tau: int


@dataclass(frozen=True)
class Transcript:
    """The body of a transcript; `check` says whether it can be true."""

    study: str
    run: int
    party: str
    software: str
    certificate: str = field(repr=False)
    nonces: Mapping[str, str]
    network: NetworkFacts
    sums: tuple[SumRecord, ...] = field(repr=False)
    control: tuple[Message, ...] = field(repr=False)
    pooled: str | None
    result: Mapping[str, Any] = field(repr=False)
    result_sha256: str
    stopped: Stopped | None = None

    @property
    def messages(self) -> list[Message]:
        return [*self.control, *(m for record in self.sums for m in record.messages)]

    @property
    def sent(self) -> list[Message]:
        return [m for m in self.messages if m.sender == self.party]

    @property
    def totals(self) -> dict[str, int]:
        received = [m.size for m in self.messages if m.receiver == self.party]
        return {
            "messages_sent": len(self.sent),
            "bytes_sent": sum(m.size for m in self.sent),
            "messages_received": len(received),
            "bytes_received": sum(received),
        }

    def as_dict(self) -> dict[str, Any]:
        """The body, ready for canonical JSON."""
        return {
            **{name: getattr(self, name) for name in _BODY},
            "nonces": dict(self.nonces),
            "network": asdict(self.network),
            "sums": [
                {
                    "recovery": record.recovery,
                    "rounds": record.rounds,
                    "messages": list(map(_message_as_dict, record.messages)),
                    "check": record.check,
                }
                for record in self.sums
            ],
            "control": list(map(_message_as_dict, self.control)),
            "totals": self.totals,
            "result": dict(self.result),
            "stopped": self.stopped
            and {"why": self.stopped.why, "named": list(self.stopped.named)},
        }

    def signed(self, sign: Callable[[bytes], bytes]) -> bytes:
        """The file's bytes. What could not be verified is not signed."""
        _check(self)
        body = self.as_dict()
        signature = sign(SIGNED + canonical(body)).hex()
        return canonical(
            {"format": FORMAT, "version": VERSION, "body": body, "signature": signature}
        )


def _message_as_dict(m: Message) -> dict[str, Any]:
    told: dict[str, Any] = {
        "from": m.sender, "to": m.receiver, "round": m.round, "kind": m.kind, "size": m.size,
    }  # fmt: skip
    return told if m.sha256 is None else told | {"sha256": m.sha256}


def from_journal(
    journal: Journal,
    *,
    sums: Sequence[tuple[str, int, bytes]],
    network: NetworkFacts,
    software: str,
    certificate: str,
    result: Mapping[str, Any],
    result_sha256: str,
    stopped: Stopped | None = None,
) -> Transcript:
    """What the journal knows, once all nonces are there and the sum is agreed on, or falsified.

    `sums` has the name of the recovery, its number of rounds and what was checked for each sum.
    """
    state = journal.state
    over = state is not None and (state.agreed is not None or stopped is not None)
    if state is None or not over or set(state.nonces) != set(state.parties):
        raise InputError("a run that has not come to an agreement has no transcript")
    messages = journal.messages()
    return Transcript(
        state.study,
        state.run,
        state.party,
        software,
        certificate,
        {party: nonce.hex() for party, nonce in state.nonces.items()},
        network,
        tuple(
            SumRecord(
                recovery,
                rounds,
                tuple(m for m in messages if m.sum == number),
                check.hex() or None,
            )
            for number, (recovery, rounds, check) in enumerate(sums)
        ),
        tuple(m for m in messages if m.sum is None),
        None if stopped else state.agreed,
        dict(result),
        result_sha256,
        # What this party was told by others is in these words, too.
        None if stopped is None else replace(stopped, why=printable(stopped.why)[:_MOST_WHY]),
    )


# -- reading ----------------------------------------------------------------------------------


def decode(data: bytes, name: str) -> tuple[Transcript, bytes]:
    """The transcript and its signature, not yet verified; FileError for any other bytes."""
    try:
        found = parsed(data, MOST_BYTES)
        if canonical(found) != data:
            raise ValueError("its text is not exactly as TITAN wrote it")
        keys(found, {"format", "version", "body", "signature"})
        if (found["format"], found["version"]) != (FORMAT, VERSION):
            raise ValueError(f"it is not a transcript of version {VERSION}")
        signature = hexadecimal(found["signature"], most=_MOST_SIGNATURE)
        transcript = _from_json(found["body"])
        _check(transcript)
    except ValueError as error:
        raise FileError(f'"{name}" is not a valid transcript: {error}', hint=UNRELIABLE) from None
    return transcript, bytes.fromhex(signature)


def _shown(value: object, most: int = _MOST_TEXT) -> str:
    """Text that a terminal shows and does not obey."""
    found = text(value, most)
    if not found.isprintable():
        raise ValueError("a name or text in it has something that does not print")
    return found


def _sha256(value: object) -> str:
    return hexadecimal(value, exactly=64)


def _network(value: object) -> NetworkFacts:
    found = keys(value, ("diameter", "connectivity", "tau"))
    return NetworkFacts(**{name: whole(number) for name, number in found.items()})


def _sum(number: int, record: object) -> SumRecord:
    found = keys(record, {"recovery", "rounds", "messages", "check"})
    messages = tuple(_message(m, number) for m in listed(found["messages"]))
    check = _or_none(_sha256, found["check"])
    return SumRecord(_shown(found["recovery"]), whole(found["rounds"]), messages, check)


def _or_none(read: Callable[[object], str], value: object) -> str | None:
    return None if value is None else read(value)


def _stopped(value: object) -> Stopped | None:
    if value is None:
        return None
    found = keys(value, {"why", "named"})
    return Stopped(_shown(found["why"], _MOST_WHY), tuple(map(_shown, listed(found["named"]))))


def _message(value: object, number: int | None) -> Message:
    """A message of sum `number`."""
    digest = {"sha256"} & mapping(value).keys()
    found = keys(value, {"from", "to", "round", "kind", "size"} | digest)
    return Message(
        _shown(found["from"]),
        _shown(found["to"]),
        number,
        whole(found["round"]),
        _shown(found["kind"]),
        whole(found["size"], 1),
        _sha256(found["sha256"]) if digest else None,
    )


_BODY: dict[str, Callable[[object], Any]] = {
    "study": _sha256,
    "run": lambda value: whole(value, 1),
    "party": _shown,
    "software": _shown,
    "certificate": lambda value: text(value, 1 << 16),
    "nonces": lambda value: {_shown(party): _sha256(n) for party, n in mapping(value).items()},
    "network": _network,
    "sums": lambda value: tuple(_sum(*each) for each in enumerate(listed(value))),
    "control": lambda value: tuple(_message(m, None) for m in listed(value)),
    "pooled": lambda value: _or_none(_sha256, value),
    "result": mapping,
    "result_sha256": _sha256,
    "stopped": _stopped,
}


def _from_json(body: object) -> Transcript:
    found = keys(body, {*_BODY, "totals"})
    transcript = Transcript(**{name: read(found[name]) for name, read in _BODY.items()})
    if canonical(transcript.totals) != canonical(found["totals"]):
        raise ValueError("its messages do not add up to its totals")
    return transcript


# -- all fields together ----------------------------------------------------------------------


def _check(transcript: Transcript) -> None:
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
    if any(m.sha256 is None for m in t.messages if m.kind in RECOVERY):
        raise ValueError("it has a recovery message without its digest")
    if (t.pooled is None) != (t.stopped is not None) or (t.stopped and t.result):
        raise ValueError("it has an answer and none")
    if t.stopped and not t.nonces.keys() >= set(t.stopped.named):
        raise ValueError("it names a stranger")
    links = _links(t.sums[0])
    for number, record in enumerate(t.sums):
        # A run may stop in a sum, for what was found about the one before it or came too early:
        # who relays in `flood` may have heard everything, and this party has masks to send yet.
        _check_sum(record, links, begun=bool(t.stopped and number == len(t.sums) - 1))
    early = t.stopped is not None and len(t.sums) == 1
    for m in t.messages:
        if (m.sender == t.party) == (m.receiver == t.party):
            raise ValueError(f"it tells of a message that is not its own, by {m.sender}")
        if m.sender not in t.nonces or m.receiver not in t.nonces:
            raise ValueError("it tells of a message from or to a stranger")
        back = m.sum is None and (early or (m.receiver, m.sender) in links)
        if (m.sender, m.receiver) not in links and not back:
            raise ValueError(f"it tells of a link that carried no mask, {m.sender} to {m.receiver}")
    if any(m.kind == MASK for m in t.control):
        raise ValueError("it tells of a mask outside of a sum")


def _links(record: SumRecord) -> set[tuple[str, str]]:
    return {(m.sender, m.receiver) for m in record.messages if m.kind == MASK}


def _check_sum(record: SumRecord, links: set[tuple[str, str]], *, begun: bool) -> None:
    """`begun`: its masks need not all be there."""
    masks = [m for m in record.messages if m.kind == MASK]
    sizes = {m.round: m.size for m in masks}  # of the pieces of a mask
    found = {((m.sender, m.receiver), m.round) for m in masks}
    all_there = sizes.keys() == {*range(len(sizes))} and len(found) == len(links) * len(sizes)
    if not _links(record) <= links or not (begun or (links and all_there)):
        raise ValueError("not every sum has one mask along every link")
    if any(m.size != sizes[m.round] for m in masks):
        raise ValueError("the masks of a sum differ in size")
    for m in record.messages:
        if m.kind != MASK and m.kind not in RECOVERY:
            raise ValueError(f"a message of kind {m.kind} stands inside a sum")
        late = m.round > record.rounds and m.kind not in (MASK, OPENED)
        if (m.round == 0 and m.kind != MASK) or late:
            raise ValueError(f"a message of kind {m.kind} in round {m.round} was never planned")
    times = Counter((m.sender, m.receiver, m.round, m.kind) for m in record.messages)
    if max(times.values(), default=1) > 1:
        raise ValueError("a message is told twice")
