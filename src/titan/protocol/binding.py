"""What masks are bound to at both ends of an edge: the run, and every sum opened so far.

    c_0     = H(label, which run)            c_{n+1} = H(c_n, n, length, total_n)

Along edge i → j of sum n travels a fresh key k and, unless masks are seeded, an independent uniform
vector r. The mask, which either end makes for itself, is

    r ⊕ AES-256-CTR(HKDF(k, label ‖ c_n ‖ n ‖ i ‖ j))        (the low `bits` of every entry)

that is r, encrypted. For any k and c_n it is r with certain bits flipped, so as uniform as r;
without r it is as good as the cipher. Two parties that were shown different totals make different
masks of the same message, which do not cancel: whoever tells different parties different first sums
gets noise for a second one.
"""

# Rule 1: k is never made of r, nor r of k: r ⊕ F(r) is not uniform.
# Rule 2: all that is hashed has fields of fixed widths, what varies last and behind its length.
# Rule 3: nothing here is random or secret but k and r; c_n follows from what all parties know.
# Rule 4: who changes how a mask is made changes c_0's label. Otherwise a run that another version
#         goes on with, after a power cut, could show one secret under two masks made of one r.

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from titan.protocol.masking import SEED_BYTES, KeyStream
from titan.ring import Residues, Ring

_BEGIN, _NEXT, _MASK = b"titan masks v2: run\n", b"titan masks: sum\n", b"titan masks: edge\n"


@dataclass(frozen=True, eq=False)
class SentMask:
    """What a MASK says: a key and, unless masks are seeded, a uniform vector (limbs, d)."""

    key: bytes = field(repr=False)
    drawn: Residues | None = field(repr=False)


@dataclass(frozen=True)
class Binding:
    """c_n and n, for the masks of sum n."""

    chain: bytes = field(repr=False)
    number: int = 0

    @classmethod
    def begin(cls, *which: bytes) -> Binding:
        """c_0 of the run that digests of 32 bytes stand for; none, where all is one process."""
        if {*map(len, which)} - {SEED_BYTES}:
            raise ValueError(f"a run is told by digests of {SEED_BYTES} bytes")
        return cls(hashlib.sha256(_BEGIN + b"".join(which)).digest())

    @property
    def context(self) -> bytes:
        """What stands for sum n and all that led to it."""
        return self.chain + struct.pack("<I", self.number)

    def after(self, ring: Ring, total: Residues) -> Binding:
        """c_{n+1}, once this sum's total is known."""
        told = ring.to_buffers(total)
        length = struct.pack("<IQ", self.number, sum(part.nbytes for part in told))
        chain = hashlib.sha256(_NEXT + self.chain + length)
        for part in told:
            chain.update(part)
        return Binding(chain.digest(), self.number + 1)

    def mask(self, sent: SentMask, edge: tuple[int, int], ring: Ring, entries: int) -> Residues:
        """The mask of edge (sender, receiver), the same at both ends if their c_n is."""
        made = ring.zeros(entries)
        for block, residues in self.mask_blocks(sent, edge, ring, entries):
            made[:, block] = residues
        return made

    def mask_blocks(
        self, sent: SentMask, edge: tuple[int, int], ring: Ring, entries: int
    ) -> Iterator[tuple[slice, Residues]]:
        """The same, some entries at a time: a whole mask is nowhere needed."""
        stream, drawn = KeyStream(self._key(sent.key, edge)), sent.drawn
        for block in ring.blocks(entries):
            clear = ring.zeros(block.stop - block.start) if drawn is None else drawn[:, block]
            yield block, ring.reduce(stream.encrypt(clear))

    def _key(self, key: bytes, edge: tuple[int, int]) -> bytes:
        """HKDF with SHA-256 and no salt: one block of it."""
        info = _MASK + self.chain + struct.pack("<III", self.number, *edge)
        extracted = hmac.digest(bytes(SEED_BYTES), key, "sha256")
        return hmac.digest(extracted, info + b"\x01", "sha256")


IN_ONE_PROCESS = Binding.begin()
