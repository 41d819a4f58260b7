"""Well-formed lies: what an altered mask, vector, partial sum, total or list can do.

In flood a relay that alters a vector is found out and named. What no recovery can tell from another
input is a party that lies about its own: an altered vector in a mask shifts the sum as an altered
row would. `tree` and `topk` trust relays to compute: there a relay can falsify the answer for all
alike, and that is what `study check` says. Altering it for some only is found out by all, for
digests differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.party.tables import NAMES, TOTALS, Table
from tests.study.parties import NOW
from tests.study.studies import study
from titan import Network
from titan.errors import TitanError
from titan.party import messages
from titan.party.messages import HEAD_BYTES
from titan.protocol import RecoveryName
from titan.protocol.masking import SEED_BYTES
from titan.protocol.messages import HEADER_BYTES, Kind
from titan.study import preflight

WORD = 8  # bytes of an entry: the ring has 64 bits
CARRIED = 3  # the entry that carries the 1
CHORDED = Network([*Network.cycle(list(NAMES)).edges, ("north", "south"), ("south", "north")])
Alter = Callable[[bytes], bytes]


def entry(number: int, start: int = 0) -> Alter:
    """Add 1 to an entry of the payload's vector that begins at `start`."""

    def alter(message: bytes) -> bytes:
        at = HEAD_BYTES + HEADER_BYTES + start + WORD * number
        new = (int.from_bytes(message[at : at + WORD], "little") + 1) % 2**64
        return message[:at] + new.to_bytes(WORD, "little") + message[at + WORD :]

    return alter


Place = tuple[str, str, int, int]  # sender, receiver, sum, round


def play(table: Table, kind: Kind, place: Place | None, alter: Alter) -> dict[str, str]:
    """A run in which the message at `place` is altered by its sender; how it ended for each."""
    ends: dict[str, str] = {}
    seen: list[Place] = []
    while due := table.due():
        for sender, receiver, _ in due:
            if sender not in table.seats or receiver not in table.seats:
                continue
            message = table.message(sender, receiver)
            frame = messages.decode(sender, 0, message).frame
            if frame.kind == kind.name and frame.sum is not None:
                here = (sender, receiver, frame.sum, frame.round)
                seen.append(here)
                if here == place:
                    queue = table.seats[sender].durable.outgoing[receiver].waiting
                    queue[0] = replace(queue[0], body=alter(message))
                    assert queue[0].body != message
            try:
                refused = [item.reason for item in table.deliver(sender, receiver)]
            except TitanError as error:
                refused = [error.message]
            if refused:
                ends[receiver] = refused[0]
                table.leave(receiver)
    for name, seat in table.seats.items():
        stopped = seat.session.stopped
        if stopped is not None:
            ends[name] = stopped.message
        elif seat.session.agreed is not None:
            ends[name] = "right" if table.totals(name) == TOTALS else "wrong"
        else:
            ends[name] = "waiting"
    places.extend(seen)
    return ends


places: list[Place] = []


def every_place(folder: Path, recovery: RecoveryName, kind: Kind) -> list[Place]:
    places.clear()
    folder.mkdir()
    with Table(folder, CHORDED, recovery) as table:
        assert set(play(table, kind, None, lambda m: m).values()) == {"right"}
    return list(places)


def all_ends(
    folder: Path, recovery: RecoveryName, kind: Kind, alter: Alter, of: Callable[[Place], bool]
) -> Iterator[tuple[Place, dict[str, str]]]:
    found = [p for p in every_place(folder / "first", recovery, kind) if of(p)]
    assert found, "nothing of this kind was sent"
    for number, place in enumerate(found):
        (folder / str(number)).mkdir()
        with Table(folder / str(number), CHORDED, recovery) as table:
            yield place, play(table, kind, place, alter)


def anywhere(_: Place) -> bool:
    return True


def first_sum(place: Place) -> bool:
    return place[2] == 0


# -- masks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
def test_an_altered_mask_shows_in_the_carried_ones(tmp_path: Path, recovery: RecoveryName) -> None:
    altered = all_ends(tmp_path, recovery, Kind.MASK, entry(CARRIED, SEED_BYTES), first_sum)
    for _, ends in altered:
        assert not {"right", "wrong"} & set(ends.values())
        assert any("masks did not cancel" in end for end in ends.values())


@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
def test_an_altered_mask_is_another_input_of_its_sender(
    tmp_path: Path, recovery: RecoveryName
) -> None:
    """Like rows that are not true: nobody can tell, and all get the same sum."""
    for _, ends in all_ends(
        tmp_path, recovery, Kind.MASK, entry(0, SEED_BYTES), lambda p: p[0] == "east"
    ):
        assert set(ends.values()) == {"wrong"}


def test_an_altered_key_gives_no_sum(tmp_path: Path) -> None:
    for _, ends in all_ends(tmp_path, "flood", Kind.MASK, entry(0), lambda p: p[0] == "east"):
        assert set(ends.values()) == {
            "the masks did not cancel: the carried 1s do not add up to the number of parties"
        }


# -- flood ------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, CARRIED])
def test_in_flood_whoever_alters_a_vector_is_named(tmp_path: Path, number: int) -> None:
    """A payload of one vector: its count, its origin, the vector; its signature no longer fits."""

    def alter(message: bytes) -> bytes:
        count = int.from_bytes(message[22:26], "little")
        return entry(number, 4 + 4 * count)(message) if count else message + bytes(64)

    found = 0
    for (sender, receiver, _, _), ends in all_ends(
        tmp_path, "flood", Kind.MASKED, alter, lambda p: p[2] == 0 and p[3] < 3
    ):
        assert "wrong" not in ends.values()
        assert "right" not in ends.values()
        if "bytes of signatures" not in ends[receiver]:  # there was no vector to alter
            assert f"{sender} passed on a vector" in ends[receiver]
            found += 1
    assert found > 6


# -- tree -------------------------------------------------------------------------------------


def test_in_tree_the_carried_ones_catch_a_partial_sum_that_was_lost(tmp_path: Path) -> None:
    altered = all_ends(tmp_path, "tree", Kind.PARTIAL, entry(CARRIED), anywhere)
    for _, ends in altered:
        assert not {"right", "wrong"} & set(ends.values())


def test_in_tree_a_relay_can_falsify_the_answer_for_all_alike(tmp_path: Path) -> None:
    """Which is why `study check` warns of it, and `flood` is there."""
    altered = all_ends(tmp_path, "tree", Kind.PARTIAL, entry(0), anywhere)
    for _, ends in altered:
        assert set(ends.values()) == {"wrong"}
    for recovery in ("tree", "topk"):
        warned = preflight.check(study(recovery=recovery, relays="trusted"), NOW).warnings
        assert any(f"{recovery} trusts relays to compute" in text for text in warned)
    assert not any("compute" in t for t in preflight.check(study(recovery="flood"), NOW).warnings)


def test_in_tree_a_total_that_is_altered_for_some_is_found_out_by_all(tmp_path: Path) -> None:
    """Those below the relay have another digest than those above, and both are told."""
    whole: Counter[str] = Counter()
    for place, ends in all_ends(tmp_path, "tree", Kind.TOTAL, entry(0), lambda p: p[2] == 1):
        assert set(ends) == set(NAMES)
        assert all("the pooled sums differ from those of" in end for end in ends.values()), place
        whole.update(ends.values())
    assert len(whole) > 2, "different parties name different others"


# -- topk -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, CARRIED])
def test_in_topk_an_altered_list_is_found_out_or_is_wrong_for_all_alike(
    tmp_path: Path, number: int
) -> None:
    for _, ends in all_ends(tmp_path, "topk", Kind.LIST, entry(number), lambda p: p[2] == 0):
        found = set(ends.values())
        assert found in ({"right"}, {"wrong"}) or not {"right", "wrong"} & found
        if number == CARRIED:
            assert "wrong" not in found
