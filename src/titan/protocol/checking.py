"""One party in a checked recovery: it commits, reveals and sums, and says who does not fit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from titan.errors import CheckError, MessageError, RecoveryError
from titan.listing import listing
from titan.protocol.checked import Relayed, Told
from titan.protocol.claims import (
    DIGEST_BYTES,
    NONCE,
    VECTOR,
    Commitment,
    SignedStream,
    challenge_of,
    committed,
    context_of,
    digest_of,
)
from titan.protocol.messages import Kind, Payload
from titan.protocol.naming import TOLD, Opened, culprits
from titan.protocol.recovery.interface import SEAL_BYTES, Key, Means, Outgoing
from titan.protocol.subset_sums import subset_sums
from titan.ring import Residues

if TYPE_CHECKING:
    from titan.protocol.checked import Checked

_NO_TOTAL = bytes(DIGEST_BYTES)
_ELSEWHERE = "some party found something wrong with it"


class CheckedState:
    """The state of the recovery within, and what was told around it."""

    needs_no_more = False

    def __init__(self, scheme: Checked, party: int, masked: Residues, means: Means) -> None:
        self._scheme = scheme
        self._party = party
        self._means = means
        self._nonce = means.nonce()
        self._vector = scheme.ring.add_into(masked, scheme.stream(self._nonce))
        self.told: dict[Kind, dict[int, bytes]] = {kind: {} for kind in scheme.phases}
        self._sent: dict[Kind, Any] = {}  # the digest of what this party sends, as it grows
        self._growing: dict[tuple[int, Kind], Any] = {}  # … of what it is sent
        self._streams: dict[tuple[int, Kind], SignedStream] = {}
        self._total: Residues | None = None
        self.challenge = b""
        """It stands for all that was told and for the total."""
        self._round = 0
        self._wrong = ""
        self._judged: str | None = None
        self._context = context_of(means.context)
        vector = committed(VECTOR, party, scheme.ring.to_bytes(self._vector))
        nonce = committed(NONCE, party, self._nonce)
        self._tell(Kind.COMMITTED, vector + nonce + self._context)
        # The recovery within changes its vector.
        self._within = scheme.within.begin(party, self._vector.copy(), means)

    @property
    def numbers_held(self) -> int:
        return self._within.numbers_held

    @property
    def unheard(self) -> frozenset[int]:
        """Whose nonce, sums or vector is missing, once the recovery within is over."""
        return frozenset(
            party
            for kind, phase in self._scheme.phases.items()
            if kind is not Kind.COMMITTED and phase.before < self._round <= phase.last
            for party in self._parties
            if party not in self.told[kind]
        )

    # -- rounds -------------------------------------------------------------------------------

    def send(self, round_: int) -> list[Outgoing]:
        scheme, self._round = self._scheme, round_
        out = self._relayed(round_) if round_ <= scheme.within.rounds else []
        for kind, (before, telling) in scheme.phases.items():
            if round_ == before + 1 and kind is not Kind.COMMITTED:
                _MAKE[kind](self)
            if before < round_ <= before + telling.rounds:
                out += telling.write(self._party, round_ - before, self.told[kind])
        return out

    def awaits(self, round_: int) -> frozenset[Key]:
        within = self._scheme.within.rounds
        own = self._within.awaits(round_) if round_ <= within else frozenset()
        told = (self._scheme.told(self._party, kind, round_) for kind in self._scheme.phases)
        return own.union(*told)

    def absorb(self, round_: int, sender: int, kind: Kind, content: Relayed | Told) -> None:
        if isinstance(content, Told):
            self._hear(sender, content)
        else:
            self._follow(sender, kind, content, self._scheme.within.ends(kind, sender, round_))
            self._within.absorb(round_, sender, kind, content.content)

    @property
    def finished(self) -> bool:
        """After the sums over subsets, if all is well; otherwise vectors are opened."""
        return self._round >= self._scheme.rounds and not self._verdict()

    def open(self) -> None:
        """Another party opens its vector: whatever is found here, this party will too."""
        self._wrong = self._wrong or _ELSEWHERE

    def total(self) -> Residues:
        if self._verdict():
            raise self._failure()
        assert self._total is not None  # noqa: S101 - nothing is wrong
        nonces = [self.revealed(party)[1] for party in self._parties]
        return self._scheme.ring.subtract(self._total, self._scheme.streams_of(nonces))

    @property
    def _parties(self) -> range:
        return range(len(self._scheme.network))

    # -- what is told -------------------------------------------------------------------------

    def _tell(self, kind: Kind, content: bytes) -> None:
        self.told[kind][self._party] = content + self._means.seals.sign(kind, content)

    def _hear(self, sender: int, told: Told) -> None:
        """Whoever passes on what another did not sign is named, and whoever signs two things."""
        kind, items = told
        known, names = self.told[kind], self._scheme.network.parties
        for origin, item in items.items():
            if known.get(origin) == item:
                continue
            content, seal = item[:-SEAL_BYTES], item[-SEAL_BYTES:]
            if not self._means.seals.signed(kind, origin, content, seal):
                raise CheckError(
                    f"{names[sender]} passed on as that of {names[origin]} what {names[origin]} "
                    "did not sign",
                    named=[names[sender]],
                    hint=f"ask {names[sender]} why, then start a new run",
                )
            if origin in known:
                raise CheckError(
                    f"{names[origin]} told different parties different things ({kind.name})",
                    named=[names[origin]],
                    hint=f"ask {names[origin]} why, then start a new run",
                )
            known[origin] = item

    def content(self, kind: Kind, party: int) -> bytes:
        return self.told[kind][party][:-SEAL_BYTES]

    def revealed(self, party: int) -> tuple[bytes, bytes]:
        """The digest and the nonce that it told."""
        content = self.content(Kind.REVEALED, party)
        return content[:DIGEST_BYTES], content[DIGEST_BYTES:]

    # -- what the recovery within sends -------------------------------------------------------

    def _relayed(self, round_: int) -> list[Outgoing]:
        """With a signature behind the last piece of what this party made."""
        out: list[Outgoing] = []
        sealed: dict[Kind, Payload] = {}  # the same piece may go to several
        for receiver, kind, payload in self._within.send(round_):
            if kind in self._scheme.within.sealed:
                if kind not in sealed:
                    sealed[kind] = bytes(payload) + self._seal(kind, payload, round_)
                payload = sealed[kind]
            out.append((receiver, kind, payload))
        return out

    def _seal(self, kind: Kind, piece: Payload, round_: int) -> bytes:
        """What stands behind a piece: behind the last, what it was made of, and a signature."""
        within, party = self._scheme.within, self._party
        stream = self._sent.setdefault(kind, hashlib.sha256())
        stream.update(piece)
        if not within.ends(kind, party, round_):
            return bytes(self._scheme.tail_bytes(kind, party))
        inputs = b"".join(self._streams[key].record for key in within.inputs(kind, party))
        made = SignedStream(stream.digest(), inputs, b"")
        return inputs + self._means.seals.sign(kind, made.signed)

    def _follow(self, sender: int, kind: Kind, relayed: Relayed, ends: bool) -> None:
        if kind not in self._scheme.within.sealed:
            return
        stream = self._growing.setdefault((sender, kind), hashlib.sha256())
        stream.update(relayed.body)
        if not ends:
            return
        inputs, seal = relayed.tail[:-SEAL_BYTES], relayed.tail[-SEAL_BYTES:]
        found = SignedStream(stream.digest(), inputs, seal)
        if not self._means.seals.signed(kind, sender, found.signed, seal):
            name = self._scheme.network.parties[sender]
            raise CheckError(
                f"{name} did not sign what it sent",
                named=[name],
                hint=f"ask {name} why, then start a new run",
            )
        self._streams[sender, kind] = found

    # -- committing, revealing, summing -------------------------------------------------------

    def _reveal(self) -> None:
        """The total and all commitments are here, and cannot change any more."""
        try:
            self._total = self._within.total()
        except RecoveryError as error:
            self._find(error.message)
        total = _NO_TOTAL if self._total is None else self._scheme.within.digest(self._total)
        heard = [self.content(Kind.COMMITTED, party) for party in self._parties]
        self._tell(Kind.REVEALED, digest_of(self._context, heard, total) + self._nonce)

    def _sum(self) -> None:
        """All have revealed: the challenge follows from everything that was told."""
        revealed = [self.revealed(party) for party in self._parties]
        own = revealed[self._party][0]
        self.challenge = challenge_of(self._context, own, (nonce for _, nonce in revealed))
        self._tell(Kind.SUMMED, self.challenge + self._subset_sums(self._vector))
        commitments = [Commitment.of(self.content(Kind.COMMITTED, p)) for p in self._parties]
        if any(each.context != self._context for each in commitments):
            self._find("the parties do not agree on what came before")
        if any(digest != own for digest, _ in revealed):
            self._find("the parties do not hold the same total")
        for party, (_, nonce) in enumerate(revealed):
            if committed(NONCE, party, nonce) != commitments[party].nonce:
                self._find("a nonce is not the one that was committed to")

    def _find(self, wrong: str) -> None:
        self._wrong = self._wrong or wrong

    def _subset_sums(self, vector: Residues) -> bytes:
        ring = self._scheme.ring
        return ring.to_bytes(subset_sums(ring, vector, self.challenge))

    def _verdict(self) -> str:
        """Asked for once all sums over subsets are here: why there is no total."""
        if self._judged is None:
            self._judged = self._judge()
        return self._wrong or self._judged

    def _judge(self) -> str:
        if self._wrong:
            return self._wrong
        ring, sums = self._scheme.ring, self._scheme.sums
        assert self._total is not None  # noqa: S101 - else something is wrong
        said = [self.content(Kind.SUMMED, party) for party in self._parties]
        if any(each[:DIGEST_BYTES] != self.challenge for each in said):
            return "the parties did not draw the same challenge"
        told = (ring.from_bytes(each[DIGEST_BYTES:], sums) for each in said)
        try:
            right = ring.to_bytes(ring.sum(told, sums)) == self._subset_sums(self._total)
        except MessageError:  # some are not residues: who told them is found like any other
            right = False
        return "" if right else "the total is not the sum of what the parties put in"

    # -- who is named -------------------------------------------------------------------------

    def _open(self) -> None:
        """The vector, all that was told as it was heard here, and what others signed on the way."""
        heard = {kind: [self.told[kind][party] for party in self._parties] for kind in TOLD}
        streams = {key: self._streams[key] for key in self._scheme.within.streams(self._party)}
        self._tell(Kind.OPENED, Opened(self._vector, heard, streams).write(self._scheme))

    def _failure(self) -> CheckError:
        told, names = self.told.get(Kind.OPENED, {}), self._scheme.network.parties
        found = []
        if len(told) == len(names):
            opened = [Opened.of(self._scheme, p, told[p][:-SEAL_BYTES]) for p in self._parties]
            found = culprits(self._scheme, self._means, opened)
        named = list(dict.fromkeys(names[culprit.party] for culprit in found))
        deeds = [f"{names[party]} {deed}" for party, deed in found]
        why = f"{self._verdict()}: {listing(deeds)}" if deeds else self._verdict()
        whom = f"ask {listing(named)} why" if named else "some party altered it on its way"
        return CheckError(
            f"the sum was falsified, so there is no answer: {why}",
            named=named,
            hint=f"{whom}; then agree on a new run",
        )


_MAKE: dict[Kind, Callable[[CheckedState], None]] = {
    Kind.REVEALED: CheckedState._reveal,
    Kind.SUMMED: CheckedState._sum,
    Kind.OPENED: CheckedState._open,
}
