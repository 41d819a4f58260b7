"""Why a run ends without an answer, as a party's last messages tell it to all.

Who ends a run signs that it does, and because of whom; who ends it for no reason but this passes it
on as it is. So everybody knows whom to ask, not the neighbours alone, and nobody can put an end of
its own down to another.

Where a journal is lost the same is said beside the messages, in a word (STOPPED). It is signed for
the run's number alone, since not all nonces need be known then; a last message passes that on, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from titan.errors import CheckError, MessageError, PeerError, TitanError
from titan.listing import listing
from titan.party.messages import END, Told
from titan.party.run import OTHERS_MAY_HAVE_ANSWER
from titan.party.signed_broadcast import Signer, signed_data

if TYPE_CHECKING:
    from titan.party.private_sums import PrivateSums

STOPPED = "STOPPED"
Statement = tuple[str, bytes]
"""END and a run's identity, or STOPPED and its context: as what a stop is signed."""
_PARTY_BYTES = 4
_A_TOTAL = (1 << 8 * _PARTY_BYTES) - 1


@dataclass(frozen=True)
class Stop:
    """Party number `origin` ended the run because of party number `cause`, perhaps itself; or, with
    None, because of a total, as everybody does who has it."""

    origin: int
    cause: int | None

    @classmethod
    def because_of(cls, error: TitanError, origin: int, names: Sequence[str]) -> Stop:
        """What the party that has this error says; of several it names the first."""
        named = error.named if isinstance(error, PeerError) else ()
        return cls(origin, names.index(named[0]) if named else origin)

    def told(self, signer: Signer, run: bytes, kind: str = END) -> Told:
        """Signed, for the run of this identity or, where it is STOPPED, of this context."""
        cause = _A_TOTAL if self.cause is None else self.cause
        content = cause.to_bytes(_PARTY_BYTES, "little")
        signature = signer.sign(signed_data(kind, run, self.origin, content))
        return Told(self.origin, signature, content)

    @classmethod
    def heard(cls, told: Told, signer: Signer, parties: int, *signed_as: Statement) -> Stop:
        """From whomever; MessageError unless it is signed by who is said to have ended the run."""
        number = int.from_bytes(told.content, "little")
        cause = None if number == _A_TOTAL else number
        if len(told.content) != _PARTY_BYTES or max(told.origin, cause or 0) >= parties:
            raise MessageError("a last message of no party, or because of none")
        data = [signed_data(*each, told.origin, told.content) for each in signed_as]
        if not any(signer.signed_by(told.origin, told.signature, each) for each in data):
            raise MessageError(f"a last message that party {told.origin} did not sign")
        return cls(told.origin, cause)

    def named(self, names: Sequence[str]) -> list[str]:
        """Who is to be asked."""
        parties = dict.fromkeys((self.origin, self.cause))
        return [names[each] for each in parties if each is not None]

    def words(self, names: Sequence[str]) -> str:
        """'east ended the run', and because of whom or what."""
        origin, *others = self.named(names)
        cause = "a total" if self.cause is None else listing(others)
        return f"{origin} ended the run" + (f" because of {cause}" if cause else "")

    def without_answer(self, names: Sequence[str], hint: str) -> PeerError:
        """Why the run ends, for whoever knows no more of it."""
        how = f"{self.words(names)} before there was an answer"
        return PeerError(how, named=self.named(names), hint=hint)

    def error(self, names: Sequence[str], run: int, sums: PrivateSums) -> PeerError:
        """Why the run ends for whoever still needs something in these sums.

        It is said of all alike, so that everybody asks the same party.
        """
        named, who, which = self.named(names), self.words(names), len(sums.totals) + 1
        hint = f"ask {listing(named)} why; then agree on run {run + 1}"
        if sums.done and not sums.opening:  # its digest was told
            hint = f"ask {listing(named)} why; {OTHERS_MAY_HAVE_ANSWER.format(next=run + 1)}"
        if not sums.checking:
            return self.without_answer(names, hint)
        how = f"sum {which} could not be checked: {who} before everybody had told what it knew"
        if sums.opening:
            how = f"sum {which} was falsified, and {who} before all had shown what they sent"
        if self.cause is None and sums.opening and (sums.told_later or not sums.reopened):
            named = []  # nobody who has that total could do otherwise
            hint = f"find out why before you agree on run {run + 1}"
        return CheckError(how, named=named, hint=hint)
