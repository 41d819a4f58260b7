"""A clock that is wrong: what the program reads of it, and what OpenSSL compares certificates with.

Nothing of the kernel changes. The monotonic clock stays right, as it does when a real clock is set.
"""

# Rule: a fault is noted when the program reads a wrong clock, not when one is wanted.

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from tests.party.campaign import noise
from titan.cli import log
from titan.party import status_file, taking_part, tls
from titan.party.connection import Connection
from titan.party.tls import Expected, Tls
from titan.study import Card, Identity
from titan.study.journal import Journal

WRONG, REFUSED = "c", "e"
"""A process that reads a wrong clock; a handshake at a time for which no certificate is made."""
READERS = log, status_file, taking_part, tls
"""Whatever reads the clock in `titan join`."""


class _Wrong:
    """How wrong it is now."""

    def __init__(self, days: float, commits: int, jump: float, lasting: float) -> None:
        self._days, self._left, self._jump, self._lasting = days, commits, jump, lasting
        self._jumped: float | None = None

    def commits(self) -> bool:
        """Whether it jumps with this commit."""
        self._left -= 1
        if self._left == 0:
            self._jumped = time.monotonic()
        return self._left == 0

    @property
    def days(self) -> float:
        """It is put right some time after the jump."""
        if self._jumped is None:
            return self._days
        over = time.monotonic() - self._jumped > self._lasting
        return 0.0 if over else self._days + self._jump


def set_clock(notes: str, days: float, commits: int, jump: float, lasting: float) -> None:
    """Wrong by so many days; by more from a commit on, for so many seconds. Then it is right.

    With the jump all connections break, so that certificates are looked at.
    """
    wrong, noted = _Wrong(days, commits, jump, lasting), set[str]()

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Clock:
            off = wrong.days
            if off and WRONG not in noted:
                noted.add(WRONG)
                noise.note(notes, WRONG)
            there = datetime.now(UTC) + timedelta(days=off)
            return cls.fromtimestamp(there.timestamp(), tz)

    for module in READERS:
        vars(module)["datetime"] = Clock
    _look_at_certificates(Clock, notes)
    _break_connections(wrong)


def _look_at_certificates(clock: type[datetime], notes: str) -> None:
    """A store takes a time once: by a wrong clock, connections have a context of their own."""
    begin, make = Tls.__init__, Expected.__init__
    given: WeakKeyDictionary[Expected, tuple[Identity, list[Card]]] = WeakKeyDictionary()

    def made(expected: Expected, identity: Identity, cards: Iterable[Card]) -> None:
        given[expected] = identity, list(cards)
        make(expected, *given[expected])

    def begun(tls: Tls, expected: Expected, *, dials: bool) -> None:
        now, (identity, cards) = clock.now(UTC), given[expected]
        right = expected.context
        if not all(card.not_before <= now <= card.not_after for card in cards):
            noise.note(notes, REFUSED)
            expected.context = Expected(identity, cards).context
            store = expected.context.get_cert_store()
            assert store is not None
            store.set_time(now)
        begin(tls, expected, dials=dials)
        expected.context = right

    Expected.__init__, Tls.__init__ = made, begun  # type: ignore[method-assign, assignment]


def _break_connections(wrong: _Wrong) -> None:
    made, commit = Connection.connection_made, Journal._commit
    there: WeakSet[Connection] = WeakSet()

    def noticed(connection: Connection, transport: Any) -> None:
        there.add(connection)
        made(connection, transport)

    def jumps(journal: Journal) -> None:
        if wrong.commits():
            for connection in tuple(there):
                connection._loop.call_soon_threadsafe(connection.abort)
        commit(journal)

    Connection.connection_made = noticed  # type: ignore[method-assign, assignment]
    Journal._commit = jumps  # type: ignore[method-assign, assignment]
