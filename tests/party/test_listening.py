"""A party listens where the study says, and nowhere else; where it cannot, it says why."""

from __future__ import annotations

import errno
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import Gathering, run
from tests.party.ports import free_port
from tests.study.parties import identity
from titan.errors import PeerError
from titan.party import addresses
from titan.party.addresses import check_port, to_listen_at
from titan.party.streams import Listener, Stream
from titan.study import Card

NORTH, EAST = identity("north"), identity("east")


def answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), 10).close()
    except ConnectionRefusedError:
        return False
    return True


async def nothing(_: Card, stream: Stream) -> None:
    await stream.finish()


@pytest.mark.parametrize(
    ("host", "elsewhere"),
    [("localhost", False), ("127.0.0.1", False), ("0.0.0.0", True)],  # noqa: S104
)
def test_at_what_a_name_stands_for_and_nowhere_else(host: str, elsewhere: bool) -> None:
    port = free_port()

    async def story() -> None:
        listener = Listener(EAST, [NORTH.card], f"{host}:{port}", nothing, lambda _: None)
        await listener.start()
        assert answers("127.0.0.1", port)
        assert answers("127.0.0.2", port) == elsewhere, "another address of this machine"
        await listener.close(0)

    run(story())


def test_a_party_listens_at_the_address_of_its_card(tmp_path: Path) -> None:
    party = Gathering(tmp_path).party("north")
    named = replace(party.identity, card=replace(party.identity.card, address="localhost:7443"))
    assert replace(party, identity=named).listen == "localhost:7443"
    chosen = replace(party.choices, listen="0.0.0.0:7")
    assert replace(party, identity=named, choices=chosen).listen == "0.0.0.0:7"


def test_an_address_of_another_machine(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with pytest.raises(PeerError) as refused:
        run(g.join("north", listen="192.0.2.7:7443"))
    assert refused.value.message == (
        "cannot listen at 192.0.2.7:7443: that is not an address of this machine"
    )
    assert "--listen 0.0.0.0:7443 stands for all" in refused.value.hint
    assert not (tmp_path / "north.ledger").exists(), "nothing is begun"


def quickly() -> Any:
    """A port that is taken is looked at again without a pause."""
    return patch.object(addresses, "TRY_AGAIN", 0.0)


def numbers(*found: str) -> Any:
    """As if names stood for these."""
    return patch.object(addresses, "_numbers", lambda *_: list(found))


def test_a_name_of_several_machines_is_listened_at_here() -> None:
    with numbers("192.0.2.7", "127.0.0.1"):
        assert to_listen_at("localhost:7443") == ["127.0.0.1:7443"]
    words = r"at north.example.org \(192.0.2.7, 2001:db8::7\): that is not"
    with numbers("192.0.2.7", "2001:db8::7"), pytest.raises(PeerError, match=words):
        to_listen_at("north.example.org:7443")


def test_a_name_that_only_this_machine_has_for_itself() -> None:
    """As Debian writes it into /etc/hosts: a party would wait there in vain."""
    with numbers("127.0.1.1"):
        with pytest.raises(PeerError, match="others could not dial it") as refused:
            to_listen_at("north.example.org:7443")
        assert to_listen_at("127.0.1.1:7443") == ["127.0.1.1:7443"], "who says so means it"
    assert "look for north.example.org in /etc/hosts" in refused.value.hint


def test_a_name_that_cannot_be_looked_up() -> None:
    with pytest.raises(PeerError, match=r"at north.invalid: the name cannot be") as refused:
        to_listen_at("north.invalid:7443")
    assert refused.value.exit_status == 75, "a resolver may be down while the machine starts"


def test_a_port_that_is_taken() -> None:
    async def story() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            place = f"127.0.0.1:{server.getsockname()[1]}"
            Listener(EAST, [NORTH.card], place, nothing, lambda _: None)

    with pytest.raises(PeerError, match="another program listens there") as refused:
        run(story())
    assert "is this party running already?" in refused.value.hint
    assert refused.value.exit_status == 75, "later it may be free"


def test_a_port_that_is_taken_is_found_before_anything_is_begun(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    before = sorted(tmp_path.iterdir())
    with socket.create_server(("127.0.0.1", 0)) as server, quickly():
        place = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(PeerError, match="another program listens there") as refused:
            run(g.join("north", listen=place))
    assert refused.value.exit_status == 75
    assert sorted(tmp_path.iterdir()) == before


def test_the_check_waits_for_a_port_that_is_taken_for_a_moment() -> None:
    tried = [OSError(errno.EADDRINUSE, "in use")] * 3
    with (
        patch.object(addresses, "_bind", side_effect=[None, *tried, None, None]) as bind,
        quickly(),
    ):
        run(check_port("127.0.0.1:7443"))
    assert bind.call_count == 6


@pytest.mark.parametrize(
    ("number", "word"),
    [(errno.EACCES, "may not use that port"), (errno.EMFILE, "no file descriptor left")],
)
def test_what_else_may_be_wrong(number: int, word: str) -> None:
    assert word in addresses.cannot_listen("127.0.0.1:80", OSError(number, "no")).message


def test_a_port_that_is_taken_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    """As by the run before, whose socket the system has not let go of yet."""
    g, made, whole = Gathering(tmp_path), list[str](), Listener.__init__

    def taken_twice(self: Listener, identity: Any, *rest: Any) -> None:
        made.append(identity.name)
        if made.count(identity.name) <= 2:
            raise PeerError("another program listens there")
        whole(self, identity, *rest)

    with patch.object(Listener, "__init__", taken_twice):
        run(g.all())
    assert {made.count(name) for name in set(made)} == {3}
    assert len(g.shown) == len(g.names)
