"""The attack of tests/study/test_guessing.py on the real thing: all that a party emits in a run.

East, a neighbour of north, knows north's masked vector, the masks on its own links and everything
north says to anybody but the masks for others: hellos, pieces, acknowledgements, signatures, the
transcript, the log, the answer. It guesses north's input and looks for something to test it with.

First, two worlds that the protocol makes equal for east: north holds δ more, south δ less, and the
mask from north to south is larger by δ. All that east can see must be the same bytes in both.
Second, in a run over TLS, no digest, code or signature of a secret is found, and a leak would be.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party import tables
from tests.party.capture import Capture, capturing
from tests.party.given_sums import send
from tests.party.loopback import Gathering, run
from tests.party.tables import INPUTS, Table, fixed
from tests.streams import moved
from titan import Network
from titan.moments import moments_file
from titan.party import private_sums, wire
from titan.party.messages import HEAD_BYTES, Enclosed, decode
from titan.party.private_sums import first_binding
from titan.party.taking_part import Party
from titan.party.wire import Piece
from titan.protocol import Agent, Binding, RecoveryName
from titan.protocol.masking import SEED_BYTES, JournaledMasks
from titan.protocol.messages import HEADER_BYTES, Kind
from titan.results import encode
from titan.ring import Residues
from titan.study.audit import TRANSCRIPT
from titan.study.journal import Journal

NORTH, EAST, SOUTH, WEST = range(4)
DELTA = [77, 12345678901, 3]


# -- two worlds -------------------------------------------------------------------------------


class Masks:
    """Masks from the key as ever; those of north for south are larger by `more`."""

    more: Sequence[int] = ()

    def __init__(self, key: bytes, context: bytes) -> None:
        self._stream = JournaledMasks(key, context)
        norths = [fixed("key", NORTH, number) for number in range(2)]
        self._binding = Binding(context, norths.index(key)) if key in norths else None
        self._call = itertools.count()

    def words(self, count: int) -> Residues:
        words = self._stream.words(count)
        if next(self._call) == SOUTH - 1 and self._binding is not None:
            return moved(words, self.more, self._binding, self._key, (NORTH, SOUTH))
        return words

    def seed(self) -> bytes:
        self._key = self._stream.seed()
        return self._key


def seen_by_east(
    folder: Path, recovery: RecoveryName, delta: list[int], *, careless: bool = False
) -> tuple[list[object], list[tuple[str, bytes]]]:
    """What east sees of north; and the masks for others, which it does not.

    North solves for all; if `careless`, there is a digest of a mask in what it tells.
    """
    folder.mkdir()
    inputs = [list(row) for row in INPUTS]
    inputs[NORTH] = [x + d for x, d in zip(inputs[NORTH], delta, strict=True)]
    inputs[SOUTH] = [(x - d) % 2**64 for x, d in zip(inputs[SOUTH], delta, strict=True)]
    with (
        patch.object(tables, "INPUTS", inputs),
        patch.object(private_sums, "JournaledMasks", Masks),
        patch.object(Masks, "more", delta),
        Table(folder, Network.complete(list(tables.NAMES)), recovery, solver=NORTH) as table,
    ):
        table.run()
        mask = next(c for c in table.chunks["north", "south"] if is_mask(c))
        answer = hashlib.sha256(mask).digest() if careless else b"42"
        send(table.seats["north"].durable, table.seats["north"].session.tell_answer(answer))
        table.run()
        assert all(str(seat.session.progress) == "end" for seat in table.seats.values())
        told = table.seats["north"].journal.messages()
        shown: list[object] = [told, table.totals("north"), table.seats["north"].session.agreed]
        hidden = []
        for (sender, receiver), chunks in table.chunks.items():
            if sender == "north":
                secret = [receiver != "east" and is_mask(chunk) for chunk in chunks]
                shown += [(receiver, c) for c, no in zip(chunks, secret, strict=True) if not no]
                hidden += [(receiver, c) for c, no in zip(chunks, secret, strict=True) if no]
    return shown, hidden


def is_mask(chunk: bytes) -> bool:
    piece = wire.decode(chunk)
    return isinstance(piece, Piece) and piece.content[0] == Kind.MASK


@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
def test_what_east_sees_is_the_same_in_worlds_it_must_not_tell_apart(
    tmp_path: Path, recovery: RecoveryName
) -> None:
    one, two = (
        seen_by_east(tmp_path / name, recovery, delta)
        for name, delta in (("one", [0, 0, 0]), ("two", DELTA))
    )
    assert len(one[1]) == len(two[1]) == 4, "two sums, two masks that are not for east"
    differing = [a[0] for a, b in zip(one[1], two[1], strict=True) if a != b]
    assert differing == ["south", "south"], "the worlds differ in what east does not see"
    assert one[0] == two[0]


def test_a_party_that_tells_a_digest_of_a_mask_is_caught(tmp_path: Path) -> None:
    """The control: nothing in the protocol forbids it, and what east sees differs."""
    one, two = (
        seen_by_east(tmp_path / name, "flood", delta, careless=True)
        for name, delta in (("one", [0, 0, 0]), ("two", DELTA))
    )
    assert one[0] != two[0]


# -- everything a real run emits --------------------------------------------------------------


def emitted_by_north(g: Gathering, capture: Capture) -> dict[str, bytes]:
    """All that anybody but the receivers of masks may have of north."""
    chunks = [c for peer, c in capture.written("north") if peer == "east" or not is_mask(c)]
    log = "\n".join([*g.told["north"], *g.phases["north"]])
    return {
        "chunks": b"\n".join(chunks),
        "transcript": (g.run_folder("north") / TRANSCRIPT).read_bytes(),
        "log": log.encode(),
        "answer": encode(g.shown["north"]),
    }


def watch_secrets(found: dict[str, bytes]) -> Any:
    """Keys, masks and inputs of north as they come into being."""
    begin, sending = Journal.begin, Journal.sending
    inputs = Agent.__init__
    numbers = itertools.count()

    def began(self: Journal, **given: Any) -> Any:
        if given["party"] == "north":
            assert self._key is not None
            found["check key"] = self._key.check
            found["digest of the data"] = given["data_digest"]
            found.update({f"key {n}": key for n, key in enumerate(given["keys"])})
        return begin(self, **given)

    def sent(self: Journal, frame: Any) -> None:
        sending(self, frame)
        if frame.kind == "MASK" and frame.peer == "south" and "north" in self.path.parent.name:
            sent = bytes(frame.body)[HEAD_BYTES + HEADER_BYTES :]
            found[f"mask {frame.sum}"] = sent[SEED_BYTES:]
            found[f"key of mask {frame.sum}"] = sent[:SEED_BYTES]
            found[f"envelope {frame.sum}"] = bytes(frame.body)[HEAD_BYTES:]
            found[f"message {frame.sum}"] = bytes(frame.body)

    def agent(self: Any, plan: Any, party: int, secret: Residues, *others: Any) -> None:
        if party == 0:
            found[f"input {next(numbers)}"] = plan.ring.to_bytes(secret)
        inputs(self, plan, party, secret, *others)

    begun = Party._begin

    def beginning(self: Party, journal: Journal) -> Any:
        task, state, vetoes = begun(self, journal)
        if self.identity.name == "north":
            found["moments"] = moments_file.encode(task.part["q1"].moments)
        return task, state, vetoes

    return (
        patch.multiple(Journal, begin=began, sending=sent),
        patch.object(Agent, "__init__", agent),
        patch.object(Party, "_begin", beginning),
    )


class Attack:
    """Looks for a secret, or anything made of it and what is public, in what was emitted."""

    def __init__(
        self, g: Gathering, emitted: dict[str, bytes], signatures: Iterable[bytes]
    ) -> None:
        self.whole = b"\n".join(emitted.values())
        self.card = g.identities["north"].card
        study = bytes.fromhex(g.study.digest)
        with Journal.open(g.run_folder("north") / "journal.db") as journal:
            assert journal.state is not None
            nonces = [journal.state.nonces[name] for name in g.names]
        context = study + (1).to_bytes(4, "little")
        run_ = hashlib.sha256(b"titan run\n" + context + b"".join(nonces)).digest()
        self.public = [b"", study, context, run_, *nonces]
        self.public += [f"titan {kind}\n".encode() + run_ for kind in ("AGREED", "ANSWER")]
        self.masked = b"titan MASKED\n" + run_ + bytes(5)  # the first sum, party 0
        self.public += [self.masked]
        self.public += [b"titan MASKED\n" + run_ + bytes([n]) + bytes(4) for n in (1, 2)]
        self.public += [b"titan transcript v1\n", b"titan masks v2: run\n" + run_]
        self.public += [first_binding(run_, g.study.plans).chain]
        self.signatures = set(signatures)

    def finds(self, secret: bytes) -> str:
        for form in _forms(secret, self.public):
            if form in self.whole:
                return "a digest or code of it"
        digests = [secret, hashlib.sha256(secret).digest()]
        for data in (prefix + item for prefix in self.public for item in digests):
            if any(self.card.verify(signature, data) for signature in self.signatures):
                return "a signature of it"
        return ""


def _forms(secret: bytes, public: list[bytes]) -> Iterator[bytes]:
    raw = [secret]
    for name in ("sha256", "sha1", "md5", "sha512", "sha3_256", "blake2b", "blake2s"):
        raw += [hashlib.new(name, p + secret).digest() for p in public]
        raw += [hmac.digest(p, secret, name) for p in public]
    for item in raw:
        yield from (item, item.hex().encode(), base64.b64encode(item))


def signatures_in(messages: Iterable[bytes], transcript: bytes) -> Iterator[bytes]:
    """All that stand in messages, whoever made them, and the transcript's."""
    for message in messages:
        if message[0] == Kind.MASKED:
            behind = Enclosed.decode(message).signatures
            yield from (bytes(behind[at : at + 64]) for at in range(0, len(behind), 64))
        elif message[0] in (16, 17, 18):
            told = decode("north", 0, message).content
            assert isinstance(told, list)
            yield from (each.signature for each in told)
    yield bytes.fromhex(json.loads(transcript)["signature"])


def test_nothing_that_north_emits_confirms_a_guess(tmp_path: Path) -> None:
    g = Gathering(tmp_path, network=Network.complete(["north", "east", "south"]))
    secrets: dict[str, bytes] = {}
    journal, agent, collect = watch_secrets(secrets)
    with capturing() as capture, journal, agent, collect:
        run(g.all(keep_journal=True))
    secrets["rows"] = (tmp_path / "north.csv").read_bytes()
    secrets["a row"] = secrets["rows"].splitlines()[5] + b"\n"
    assert len(secrets) == 2 + 3 + 12 + 3 + 1 + 2
    emitted = emitted_by_north(g, capture)
    assert len(emitted["chunks"]) > 3000
    assert len(emitted["log"]) > 50
    sent = [m for many in capture.messages("north").values() for m in many]
    signatures = list(signatures_in(sent, emitted["transcript"]))
    attack = Attack(g, emitted, signatures)
    assert len(attack.signatures) >= 1 + 1 + 3 + 1, "nonce, digest, own vectors, transcript"
    for what, secret in secrets.items():
        assert attack.finds(secret) == "", what

    # The same search finds what is there to be found: leaks of each kind, and public things.
    sign = g.identities["north"].sign
    mask = secrets["mask 0"]
    for leak in (hashlib.sha256(mask).hexdigest().encode(), mask):
        assert Attack(g, {**emitted, "log": leak}, []).finds(mask) == "a digest or code of it"
    keyed = hmac.digest(attack.public[3], mask, "sha256")
    assert Attack(g, {"log": keyed}, []).finds(mask) == "a digest or code of it"
    signed = sign(attack.masked + hashlib.sha256(mask).digest())
    assert Attack(g, emitted, [*signatures, signed]).finds(mask) == "a signature of it"
    masked = [
        m[HEAD_BYTES + HEADER_BYTES + 8 : -64]
        for m in capture.messages("north")["east"]
        if m[0] == Kind.MASKED and m[HEAD_BYTES + 12] == 1
    ]
    assert attack.finds(masked[0]) != "", "x̃ is there for all to see"
    assert Attack(g, {}, signatures).finds(masked[0]) == "a signature of it", "and signed"
