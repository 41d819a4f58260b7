"""The plan of one sum: everything the parties agree on before the first message.

A plan is public and refuses what cannot work: a network that is not strongly connected, or too
weakly connected for τ, more rounds needed than allowed, k out of range.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from titan.errors import MessageError, PlanError, RecoveryError
from titan.network import Network
from titan.protocol.binding import Binding, SentMask
from titan.protocol.checked import Checked
from titan.protocol.cost import Cost, predict
from titan.protocol.lines import NANOSECONDS, Lines
from titan.protocol.masking import SEED_BYTES, MaskSource
from titan.protocol.messages import MOST_PIECE_BYTES, MOST_ROUNDS, Envelope, Kind, Payload
from titan.protocol.recovery import RECOVERIES, RecoveryName, recovery_names
from titan.protocol.recovery.interface import NO_ORIGINS, Choices, Scheme, Shown, pieces_of
from titan.protocol.recovery.tree import BYTES_PER_ROUND
from titan.ring import Residues, Ring
from titan.ring.whole import whole_number

MaskMode = Literal["sent", "seeded"]
RelayMode = Literal["trusted", "checked"]


@dataclass(frozen=True)
class Plan:
    """One private sum of vectors with `dimension` entries; build it with `Plan.make`."""

    network: Network
    ring: Ring
    dimension: int
    masks: MaskMode
    scheme: Scheme
    counting: bool = False

    @classmethod
    def make(
        cls,
        network: Network,
        ring: Ring,
        dimension: int,
        *,
        recovery: RecoveryName = "auto",
        k: int | None = None,
        rounds: int | None = None,
        masks: MaskMode = "sent",
        tau: int | None = None,
        at_most: int | None = None,
        round_bytes: int = BYTES_PER_ROUND,
        lines: Lines | None = None,
        relays: RelayMode = "trusted",
    ) -> Plan:
        """Check all choices and fill in those left open.

        `rounds` is the paper's T, any upper bound on the diameter; `tau` the number of curious
        parties to be safe from; `at_most` a bound on m, for counting the parties themselves;
        `round_bytes` how many bytes could be sent in the time that a round costs; `lines` what is
        known of the links, for `auto`. Relays that are "checked" are found out if they alter what
        they pass on.
        """
        _choice("recovery", recovery, recovery_names())
        _choice("masks", masks, get_args(MaskMode))
        k = None if k is None else whole_number("k", k)
        rounds = None if rounds is None else whole_number("rounds", rounds)
        network.check_strongly_connected()
        if tau is not None:
            network.check_tolerates(tau)
        if rounds is not None and rounds < network.diameter:
            raise PlanError(
                f"rounds={rounds} is below the network's diameter: not all would get everything",
                hint=f"rounds must be at least {network.diameter}",
                choice="rounds",
            )
        if dimension < 0:
            raise PlanError(f"a vector cannot have {dimension} entries", hint="0 or more")
        choices = Choices(network, ring, dimension + 1, k, rounds, at_most, round_bytes)
        _choice("relays", relays, get_args(RelayMode))
        scheme = _scheme(recovery, choices, lines, relays)
        if scheme.most_rounds > MOST_ROUNDS:
            raise PlanError(
                f"{scheme.most_rounds} rounds would be needed; {MOST_ROUNDS} can be counted",
                hint="lower rounds, or raise k",
            )
        return cls(network, ring, dimension, masks, scheme, counting=at_most is not None)

    @property
    def entries(self) -> int:
        """The paper's d, counting the carried 1."""
        return self.dimension + 1

    @property
    def recovery_rounds(self) -> int:
        return self.scheme.rounds

    @cached_property
    def cost(self) -> Cost:
        """What the run will cost, exactly: nothing that is sent depends on values."""
        sizes = [self._mask_size(piece) for piece in self.mask_pieces]
        return predict(self.network, self.scheme, sizes, self.mask_numbers)

    # -- masks --------------------------------------------------------------------------------

    @cached_property
    def mask_pieces(self) -> list[slice]:
        """A mask travels in these, each with a key of its own: piece c as that of round c."""
        size = 0 if self.masks == "seeded" else self.ring.width * self.entries
        return pieces_of(self.entries, max(1, -(-size // MOST_PIECE_BYTES)))

    def _mask_size(self, piece: slice) -> int:
        """A key and, unless masks are seeded, so many entries."""
        entries = 0 if self.masks == "seeded" else piece.stop - piece.start
        return SEED_BYTES + self.ring.width * entries

    @property
    def mask_bytes(self) -> int:
        """Of all its pieces."""
        return sum(map(self._mask_size, self.mask_pieces))

    @property
    def last_round(self) -> int:
        """No envelope has a later one."""
        return max(self.scheme.most_rounds, len(self.mask_pieces) - 1)

    @property
    def mask_numbers(self) -> int:
        """The vector's, as in the paper; a key alone counts as the numbers that would take its
        place."""
        key_numbers = -(-8 * SEED_BYTES // self.ring.bits)
        return key_numbers if self.masks == "seeded" else self.entries

    def draw(self, source: MaskSource, piece: int = 0) -> SentMask:
        """What one edge is sent, fresh."""
        key, words, part = source.seed(), source.words, self.mask_pieces[piece]
        entries = part.stop - part.start
        return SentMask(key, None if self.masks == "seeded" else self.ring.uniform(entries, words))

    def write(self, sent: SentMask) -> bytes:
        return b"".join(
            [sent.key] if sent.drawn is None else [sent.key, *self.ring.to_buffers(sent.drawn)]
        )

    def _read_mask(self, piece: slice, payload: Payload) -> SentMask:
        if len(payload) != self._mask_size(piece):
            raise MessageError(
                f"a MASK payload of {len(payload)} bytes where {self._mask_size(piece)} were "
                "expected"
            )
        key, rest, entries = (
            bytes(payload[:SEED_BYTES]),
            payload[SEED_BYTES:],
            piece.stop - piece.start,
        )
        return SentMask(
            key, None if self.masks == "seeded" else self.ring.from_bytes(rest, entries)
        )

    @staticmethod
    def check_shape(found: tuple[int, ...], planned: tuple[int, ...]) -> None:
        if found != planned:
            raise PlanError(f"an input of shape {found} where {planned} was planned")

    def without_carried_one(self, total: Residues) -> Residues:
        """Check and remove the carried total; anything but m means masks did not cancel."""
        expected = len(self.network) % self.ring.modulus
        if not self.counting and self.ring.to_ints(total[:, -1:]) != [expected]:
            raise RecoveryError(
                "the masks did not cancel: the carried 1s do not add up to the number of parties",
                hint="some party's vector was lost, altered or counted twice; start a new run",
            )
        return total[:, :-1]

    # -- what may arrive ----------------------------------------------------------------------

    def senders(self, party: int, round_: int) -> frozenset[tuple[int, Kind]]:
        """Who may send what to this party in this round, masks and all."""
        found = self.scheme.senders(party, round_) if round_ else frozenset()
        if round_ < len(self.mask_pieces):
            found |= {(sender, Kind.MASK) for sender in self.network.in_neighbours(party)}
        return found

    def read(self, kind: Kind, sender: int, round_: int, payload: Payload) -> Any:
        """What a payload says; MessageError if no party following this plan would send it."""
        if round_ and kind is not Kind.MASK:
            return self.scheme.read(kind, sender, round_, payload)
        if kind is not Kind.MASK or round_ >= len(self.mask_pieces):
            raise MessageError(f"an envelope of kind {kind.name} in round {round_}")
        return self._read_mask(self.mask_pieces[round_], payload)

    def show(self, envelope: Envelope, binding: Binding) -> Shown:
        """What an envelope of this sum shows whoever sees it: of a MASK, the mask it stands for."""
        kind, sender, receiver, round_, payload = envelope
        content = self.read(kind, sender, round_, payload)
        if kind is Kind.MASK:
            part = self.mask_pieces[round_]
            entries = range(part.start, part.stop)
            made = binding.mask(content, (sender, receiver), self.ring, len(entries))
            return Shown(kind, sender, receiver, entries, made, NO_ORIGINS)
        entries = self.scheme.entries_of(kind, sender, round_)
        numbers, told = self.scheme.numbers_of(content), self.scheme.told_in(content)
        return Shown(kind, sender, receiver, entries, *numbers, told)

    def numbers_in(self, envelope: Envelope) -> int:
        """What a payload counts in the paper's units."""
        if envelope.kind is not Kind.MASK:
            return self.scheme.count(envelope)
        part = self.mask_pieces[envelope.round]
        return self.mask_numbers if self.masks == "seeded" else part.stop - part.start


def _scheme(recovery: str, choices: Choices, lines: Lines | None, relays: RelayMode) -> Scheme:
    """The one that is named, or the quickest that `auto` may take.

    Top-k sends more than the others in as many rounds; it is there when asked for by name or by k.
    """
    if recovery != "auto":
        named = RECOVERIES[recovery]
        if choices.k is not None and not named.takes_k:
            takers = ", ".join(f'"{name}"' for name in RECOVERIES if RECOVERIES[name].takes_k)
            raise PlanError(
                f"k={choices.k} has no meaning for {recovery}",
                hint=f"only {takers} takes a k",
                choice="k",
            )
        return _checked(named.of(choices), relays)
    candidates = [
        _checked(scheme.of(choices), relays)
        for scheme in reversed(RECOVERIES.values())
        if scheme.takes_k == (choices.k is not None)
        and len(choices.network) <= scheme.weighed_up_to
    ]
    if len(candidates) == 1:
        return candidates[0]
    if lines is None:
        lines = Lines.alike(choices.network, NANOSECONDS, choices.round_bytes)
    return min(candidates, key=lines.recovery)


def _checked(scheme: Scheme, relays: RelayMode) -> Scheme:
    """Where origins sign their vectors there is nothing to be checked."""
    needed = relays == "checked" and not scheme.signed_by_origin
    return Checked.around(scheme) if needed else scheme


def _choice(what: str, given: str, allowed: tuple[str, ...]) -> None:
    if given not in allowed:
        raise PlanError(
            f"{what}={given!r} is unknown", hint=f"one of {', '.join(allowed)}", choice=what
        )
