"""Who says that somebody else is why it stopped is named beside that one, wherever it is heard.

A word beside the messages says it where a journal is lost. Nobody else can say it in one's name.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, answers_agree, run
from tests.party.simulated_party import Process
from tests.party.tables import Codes
from tests.party.test_lost_vectors import started
from tests.party.test_put_back import NAMES, PutBack, ends, short_grace
from tests.party.test_session_rules import deliver
from titan.errors import MessageError, PeerError
from titan.party import wire
from titan.party.conversation import Conversation
from titan.party.lost_journals import LostJournals
from titan.party.messages import END, Told
from titan.party.stops import STOPPED, Stop
from titan.party.wire import Lost

NORTH, EAST, SOUTH, WEST = range(4)
CONTEXT, OTHER_CONTEXT = b"a study, run 1", b"a study, run 2"


@pytest.mark.parametrize("died", ["begun", "one_total"])
def test_nobody_is_named_alone_for_what_another_says(tmp_path: Path, died: str) -> None:
    """West (malicious) says that it ended the run because of south."""
    g = Gathering(tmp_path, names=NAMES)
    because_of = LostJournals._own_stop

    def lying(self: LostJournals) -> Any:
        with patch.object(LostJournals, "_cause", "south"):
            return because_of(self)

    def own_stop(self: LostJournals) -> Any:
        return (lying if self.durable.session.run.name == "west" else because_of)(self)

    with patch.object(LostJournals, "_own_stop", own_stop):
        found = ends(g, PutBack(g, "nothing", died))
    for name in ("north", "east", "south"):
        assert isinstance(found[name], PeerError)
        assert "south" not in found[name].named or "west" in found[name].named, found[name]
        assert found[name].named != ("east",), found[name]


def test_a_neighbour_cannot_say_of_this_party_that_it_is_lost(tmp_path: Path) -> None:
    """Without a proof that costs the stream alone: the run goes on, and answers."""
    g = Gathering(tmp_path)
    send, lied = Conversation._send_acks, list[bool]()

    async def lying(self: Conversation) -> None:
        if not lied and self.durable.session.run.name == "east":
            lied.append(True)
            await self._write(wire.encode(Lost(yours=True)))
        await send(self)

    with patch.object(Conversation, "_send_acks", lying), short_grace():
        run(g.all())
    assert lied
    answers_agree(g)


def test_a_stop_is_of_this_run_and_of_who_signed_it() -> None:
    stop = Stop(SOUTH, NORTH)
    good = stop.told(Codes(SOUTH), CONTEXT, STOPPED)
    assert Stop.heard(good, Codes(EAST), 4, (END, bytes(32)), (STOPPED, CONTEXT)) == stop
    bad = [
        stop.told(Codes(WEST), CONTEXT, STOPPED),
        stop.told(Codes(SOUTH), OTHER_CONTEXT, STOPPED),
        stop.told(Codes(SOUTH), CONTEXT, END),
        Stop(SOUTH, 4).told(Codes(SOUTH), CONTEXT, STOPPED),
        Told(WEST, good.signature, good.content),
        Told(4, good.signature, good.content),
        Told(SOUTH, good.signature, WEST.to_bytes(4, "little")),
        Told(SOUTH, good.signature, b"\0"),
        Told(SOUTH, good.signature, good.content + b"\0"),
        Told(SOUTH, good.signature, bytes(1 << 19)),
    ]
    for told in bad:
        with pytest.raises(MessageError):
            Stop.heard(told, Codes(EAST), 4, (STOPPED, CONTEXT))


def test_what_was_heard_is_passed_on_as_it_was_said_also_after_a_restart(tmp_path: Path) -> None:
    parties = started(tmp_path)
    deliver(parties, held=("south", "north"))
    north, told = parties[NORTH], Told(SOUTH, bytes(range(64)), EAST.to_bytes(4, "little"))

    def last(it: Process) -> list[bytes]:
        assert it.durable.stopped_by == told
        return [bytes(f.body) for f in it.durable.outgoing["east"].waiting if f.kind == END]

    north.durable.stop("south", PeerError("south ended the run", named=["south", "east"]), told)
    assert last(north) == [told.encode(END)]
    north.die()
    parties[NORTH] = Process(north.place, Random(0), lambda _: None)
    assert last(parties[NORTH]) == [told.encode(END)]
    for each in parties:
        each.die()
