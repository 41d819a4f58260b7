"""Words that nobody signed, from a neighbour that says that its journal is lost: no honest party
ends because of them, nor believes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, answers_agree, run
from titan.errors import MessageError
from titan.party.arrival_queue import ArrivalQueue
from titan.party.engine import Engine
from titan.party.lost_journals import LostJournals
from titan.party.wire import What, Word

SOUTH = 2


@contextmanager
def told_digests(tell: Callable[[LostJournals], None]) -> Iterator[None]:
    """Once north has told its digest it hears what `tell` says; mostly the others' come later."""
    begin, take, engines = Engine.__aenter__, ArrivalQueue._hand_over, list[Engine]()

    async def beginning(it: Engine) -> Engine:
        if it._session.run.name == "north":
            engines.append(it)
        return await begin(it)

    def taking(it: ArrivalQueue, arrivals: Any) -> None:
        take(it, arrivals)
        session = it._durable.session
        if session.run.party == 0 and session.announced and engines:
            tell(engines.pop().lost)

    with (
        patch.object(Engine, "__aenter__", beginning),
        patch.object(ArrivalQueue, "_hand_over", taking),
    ):
        yield
    assert not engines


@pytest.mark.parametrize("what", What)
def test_the_run_goes_on(tmp_path: Path, what: What) -> None:
    g = Gathering(tmp_path)

    def tell(lost: LostJournals) -> None:
        lost.durable.lost.add("east")
        lost.take("east", Word(what, SOUTH, bytes(64), bytes(32)))
        lost.durable.lost.remove("east")

    with told_digests(tell):
        run(g.all())
    answers_agree(g)


def test_so_it_does_where_one_that_can_go_on_says_so(tmp_path: Path) -> None:
    g = Gathering(tmp_path)

    def tell(lost: LostJournals) -> None:
        assert "east" not in lost.durable.lost
        with pytest.raises(MessageError, match="from a party that can go on"):
            lost.take("east", Word(What.AGREED, SOUTH, bytes(64), bytes(32)))

    with told_digests(tell):
        run(g.all())
    answers_agree(g)


def test_who_cannot_go_on_believes_no_stop_that_nobody_signed(tmp_path: Path) -> None:
    g, seen = Gathering(tmp_path), list[bool | None]()

    def tell(lost: LostJournals) -> None:
        with patch.object(LostJournals, "here", object()):
            with pytest.raises(MessageError, match="party 2 did not sign"):
                lost.take("east", Word(What.STOPPED, SOUTH, bytes(64), bytes(4)))
            seen.append(lost.verdict)

    with told_digests(tell):
        run(g.all())
    assert seen == [None]
