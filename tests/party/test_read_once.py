"""What arrives is decoded once and read once, and a replay reads it once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.tables import NAMES, TOTALS, Table
from titan import Network
from titan.party import messages
from titan.party.durable_session import DurableSession
from titan.party.messages import HEAD_BYTES, Told
from titan.protocol import Envelope, Plan, RecoveryName


@contextmanager
def counting() -> Iterator[Counter[str]]:
    """How often messages are taken, envelopes and statements decoded, and payloads read."""
    calls: Counter[str] = Counter()

    def counted(of: type, name: str, what: str) -> Any:
        original: Callable[..., Any] = vars(of)[name]
        plain = getattr(original, "__func__", original)

        def call(*args: Any, **named: Any) -> Any:
            calls[what] += 1
            return plain(*args, **named)

        wrapped = classmethod(call) if isinstance(original, classmethod) else call
        return patch.object(of, name, wrapped)

    with ExitStack() as stack:
        stack.enter_context(counted(Envelope, "decode", "envelopes"))
        stack.enter_context(counted(Told, "decode", "statements"))
        stack.enter_context(counted(Plan, "read", "payloads"))
        yield calls


@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
def test_every_message_of_a_run(tmp_path: Path, recovery: RecoveryName) -> None:
    with Table(tmp_path, recovery=recovery) as table:
        with counting() as calls:
            table.run()
        assert all(table.totals(name) == TOTALS for name in NAMES)
        expected = _received(table, NAMES)
        # in flood each party reads its own first envelope, whose vector it signs, in both sums
        expected["payloads"] += 2 * len(NAMES) if recovery == "flood" else 0
        assert calls == expected
        assert calls["envelopes"] >= 20 < calls["statements"]


def test_a_message_for_a_sum_that_has_not_begun(tmp_path: Path) -> None:
    """It is kept as it was read."""
    network, early, order = Network.complete(list(NAMES)), 0, Random(1)
    with Table(tmp_path, network, "tree") as table, counting() as calls:
        while due := table.due():
            assert table.deliver(*order.choice(due)[:2]) == []
            early += sum(len(seat.session.sums._waiting) for seat in table.seats.values())
        assert early, "some were kept for a while"
        assert all(table.totals(name) == TOTALS for name in NAMES)
        assert calls == _received(table, NAMES)


def test_a_replay(tmp_path: Path) -> None:
    with Table(tmp_path, recovery="tree") as table:
        table.run()
        before = _received(table, ["north"])
        table.leave("north")
        with counting() as calls:
            table.sit("north")
        assert calls == before


def _received(table: Table, names: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    for name in names:
        durable: DurableSession = table.seats[name].durable
        for frame in durable.journal.incoming():
            if frame.sum is not None:
                found.update(envelopes=1, payloads=1)
            elif frame.kind not in ("END", "WORK"):
                found.update(statements=(len(frame.body) - HEAD_BYTES) // messages._ITEM_BYTES)
    return found
