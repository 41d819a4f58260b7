"""The attack: a neighbour who guesses a party's data must find nothing to test the guess against.

Neighbour `east` of `north` knows x̃_north and the masks on its own links. It guesses x_north, which
fixes the sum of north's masks with the others, and looks for anything north has emitted that
depends on more than that: a digest of a mask, of rows, of moments, of the data, or a key.

Two worlds are made that `east` cannot tell apart by the protocol: north holds δ more, south δ
less, and the mask from north to south is larger by δ. Whatever north emits (transcript, audit,
texts, errors, all frames to east, all recovery frames) must be the same bytes in both.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.streams import moved
from tests.study.digests import own_rows
from tests.study.signing import certificate
from titan import Network
from titan.errors import TitanError
from titan.protocol import IN_ONE_PROCESS, Agent, Envelope, Kind, Plan, RecoveryName
from titan.protocol.masking import KeyStream, fresh_key
from titan.ring import Residues, Ring
from titan.study.audit import of_journal
from titan.study.differencing import LedgerQuestion
from titan.study.frames import Frame
from titan.study.journal import Journal
from titan.study.ledger import Ledger
from titan.study.transcript import NetworkFacts, from_journal
from titan.study.verified import Facts

NAMES = ("north", "east", "south", "west")
NORTH, EAST, SOUTH, WEST = range(4)
RING = Ring(64)
INPUTS = [[1000 * party + entry for entry in range(5)] for party in range(4)]
DELTA = [77, 0, 12345678901, 3, 9]


class Masks:
    """Fixed masks, one for each out-neighbour in turn; `more` is added to one of them."""

    def __init__(self, party: int, more: dict[int, list[int]]) -> None:
        self._stream = KeyStream(bytes([party]) * 32)
        self._keys = KeyStream(bytes([party]) * 31 + b"k")
        self._more = more
        self._call = itertools.count()

    def words(self, count: int) -> Residues:
        words = self._stream.words(count)
        more = self._more.get(next(self._call), [])
        return moved(words, more, IN_ONE_PROCESS, self._key, (NORTH, SOUTH))

    def seed(self) -> bytes:
        self._key = self._keys.words(4).tobytes()
        return self._key


@dataclass
class World:
    """Everything north emitted, and the secrets it must not have emitted anything about."""

    emitted: dict[str, bytes]
    secrets: dict[str, bytes]
    recovery_frames: list[bytes]


def play(directory: Path, recovery: RecoveryName, delta: list[int]) -> World:
    directory.mkdir()
    network = Network.complete(NAMES)
    plan = Plan.make(network, RING, len(delta), recovery=recovery, tau=1)
    inputs = [row[:] for row in INPUTS]
    inputs[NORTH] = [x + d for x, d in zip(inputs[NORTH], delta, strict=True)]
    inputs[SOUTH] = [x - d for x, d in zip(inputs[SOUTH], delta, strict=True)]
    to_south = list(network.out_neighbours(NORTH)).index(SOUTH)
    masks = [Masks(party, {to_south: delta} if party == NORTH else {}) for party in range(4)]
    agents = [
        Agent(
            plan,
            party,
            RING.from_ints([x % RING.modulus for x in inputs[party]]),
            masks[party],
            IN_ONE_PROCESS,
        )
        for party in range(4)
    ]
    rows = repr(inputs[NORTH]).encode()
    with (
        Journal.open(directory / "journal") as journal,
        Ledger.open(directory / "ledger") as ledger,
    ):
        keys = [fresh_key()]
        texts = _begin(journal, ledger, rows, keys)
        frames = _drive(agents, journal)
        journal.agree(hashlib.sha256(plan.ring.to_bytes(agents[NORTH].total)).hexdigest())
        transcript = from_journal(
            journal, sums=[(plan.scheme.name, plan.recovery_rounds, b"")],
            network=NetworkFacts(network.diameter, 3, 1), software="titan",
            certificate=certificate("north"),
            result={"total": RING.to_ints(agents[NORTH].total)}, result_sha256="00" * 32,
        )  # fmt: skip
        signed = transcript.signed(lambda data: hashlib.sha512(data).digest())
        journal.finish(b"done", signed)
        audit = of_journal(journal)
        texts += [repr(journal), repr(ledger), repr(transcript), str(Facts(transcript, "00"))]
        texts += [audit.summary(), repr(audit.rows()), repr(frames)]
        assert journal._key is not None
        check_key = journal._key.check
        digest = journal.keyed_digest([rows])
    to_others = [f for f in frames if f.receiver == EAST or f.kind is not Kind.MASK]
    emitted = {
        "transcript": signed,
        "audit": json.dumps(audit.as_dict()).encode(),
        "texts": "\n".join(texts).replace(str(directory), "").encode(),
        "frames": b"".join(frame.encode() for frame in to_others),
    }
    secrets = {"rows": rows, "key": keys[0], "check key": check_key, "data digest": digest}
    secrets["input"] = RING.to_bytes(RING.from_ints([x % RING.modulus for x in inputs[NORTH]]))
    for frame in frames:
        if frame.kind is Kind.MASK and frame.receiver != EAST:
            secrets[f"mask for {NAMES[frame.receiver]}"] = bytes(frame.payload)
            secrets[f"frame for {NAMES[frame.receiver]}"] = frame.encode()
    return World(emitted, secrets, [f.encode() for f in frames if f.kind is not Kind.MASK])


def _begin(journal: Journal, ledger: Ledger, rows: bytes, keys: list[bytes]) -> list[str]:
    """Begin, and provoke the errors that speak of data; returns their texts."""
    nonces = {name: hashlib.sha256(name.encode()).digest() for name in NAMES}
    mine = {name: name for name in NAMES}

    def begin(data: bytes) -> None:
        journal.begin(
            study="ab" * 32, run=1, party="north", parties=NAMES, nonce=nonces["north"],
            keys=keys, data_digest=journal.keyed_digest([data]),
        )  # fmt: skip

    def record(study: str, some: list[bytes]) -> None:
        own = own_rows(some, ledger.row_key, ["age"])
        columns: dict[str, dict[str, str]] = {"age": {}}
        asked = LedgerQuestion(study, "Heart", 1, mine, 1, "q1", "y ~ age", 5, columns, own)
        ledger.record([asked])

    begin(rows)
    record("ab" * 32, rows.split(b","))
    for name in NAMES:
        journal.set_nonce(name, nonces[name])
    with pytest.raises(TitanError) as changed:
        begin(b"other")
    with pytest.raises(TitanError) as differing:
        record("cd" * 32, rows.split(b",")[1:])
    return [text for e in (changed.value, differing.value) for text in (str(e), repr(e))]


def _drive(agents: list[Agent], journal: Journal) -> list[Envelope]:
    """Deliver everything in order; north journals as an engine does. Returns what north sent."""
    sent: list[Envelope] = []
    numbers: dict[tuple[str, int], int] = {}

    def frame(way: str, other: int, e: Envelope) -> Frame:
        number = numbers.get((way, other), 0)
        numbers[way, other] = number + 1
        return Frame(NAMES[other], number, e.kind.name, e.encode(), 0, e.round)

    waiting = [e for agent in agents for e in agent.start()]
    for e in waiting:  # grows while it is walked through
        with journal.batch():
            if e.sender == NORTH:
                journal.sending(frame("out", e.receiver, e))
                sent.append(e)
            if e.receiver == NORTH:
                journal.record_incoming(frame("in", e.sender, e))
        waiting += agents[e.receiver].receive(e)
    return sent


@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
def test_what_north_emits_is_the_same_whatever_a_neighbour_cannot_know(
    tmp_path: Path, recovery: RecoveryName
) -> None:
    one = play(tmp_path / "one", recovery, [0] * 5)
    two = play(tmp_path / "two", recovery, DELTA)
    same = {what for what in one.secrets if one.secrets[what] == two.secrets[what]}
    assert same == {"mask for west", "frame for west"}, "the worlds must differ in the rest"
    assert one.emitted == two.emitted
    assert len(one.emitted["transcript"]) > 1000
    assert b"MASK" in one.emitted["transcript"]


def fingerprints_of(secret: bytes, public: list[bytes]) -> list[bytes]:
    """What a careless program might have emitted: digests and codes of a secret, and itself."""
    raw = [secret]
    for name in ("sha256", "sha1", "md5", "sha512", "sha3_256", "blake2b", "blake2s"):
        raw.append(hashlib.new(name, secret).digest())
        raw += [hashlib.new(name, p + secret).digest() for p in public]
        raw += [hmac.digest(p, secret, name) for p in public]
    return [form for r in raw for form in (r, r.hex().encode(), base64.b64encode(r))]


def test_no_digest_or_code_of_a_secret_is_emitted(tmp_path: Path) -> None:
    world = play(tmp_path / "one", "flood", DELTA)
    everything = b"\n".join(world.emitted.values())
    nonces = [hashlib.sha256(name.encode()).digest() for name in NAMES]
    public = [
        bytes.fromhex("ab" * 32),
        *nonces,
        b"titan transcript v1\n",
        *(name.encode() for name in NAMES),
    ]
    for what, secret in world.secrets.items():
        assert len(secret) >= 16, what
        assert not any(f in everything for f in fingerprints_of(secret, public)), what
    (sent, *_) = world.recovery_frames  # the same search does find what is there to be found
    assert any(f in everything for f in fingerprints_of(sent, []))
    assert hashlib.sha256(sent).hexdigest().encode() in world.emitted["transcript"]
