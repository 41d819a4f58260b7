"""Parties on hosts of their own: Linux network namespaces, joined by a switch; one is cut off.

Every party has its own address and nothing but the switch between it and the others. Nobody is told
of a cut: packets vanish, as they do in the world.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.party.campaign import files
from tests.party.campaign.switch import Switch, enter, missing
from tests.party.joining import PATIENCE, calm

ROOT = Path(__file__).parents[2]
NAMES = ("north", "east", "south", "west")
CYCLE = tuple(zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True))
PORT = 7443


@pytest.fixture
def switch() -> Iterator[Switch]:
    if why := missing():
        pytest.skip(why)
    made = Switch(NAMES)
    try:
        made.__enter__()
    except (subprocess.CalledProcessError, OSError) as error:
        pytest.skip(f"no network namespaces here: {error}")
    yield made
    made.__exit__()


def _join(switch: Switch, folder: Path, name: str) -> subprocess.Popen[str]:
    command = [
        sys.executable, "-m", "titan", "join", str(folder / "study.toml"), "--as", name, "--yes",
        "--data", str(folder / f"{name}.csv"), "--key", str(folder / f"{name}.key"),
        "--save", str(folder / f"{name}.json"), "--wait", str(PATIENCE),
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}
    with (folder / f"{name}.err").open("w") as err:
        return subprocess.Popen(
            ["ip", "netns", "exec", switch.namespace(name), *command],
            stdout=subprocess.DEVNULL, stderr=err, text=True, env=environment,
        )  # fmt: skip


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "this hangs"
        time.sleep(0.02)


def _socket(switch: Switch, name: str) -> socket.socket:
    """One that lives in the namespace of a party, which only the thread that makes it enters."""

    def make() -> socket.socket:
        enter(switch.namespace(name))
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind((switch.address(name), PORT))
        return made

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make).result()


def test_the_switch_delays_loses_and_cuts_one_way(switch: Switch) -> None:
    with _socket(switch, "north") as north, _socket(switch, "east") as east:
        sockets = {"north": north, "east": east}

        def say(sender: str, receiver: str, text: bytes) -> None:
            before = switch.counts.total()
            sockets[sender].sendto(text, (switch.address(receiver), PORT))
            _until(lambda: switch.counts.total() > before)

        switch.delays["north", "east"] = 0.05
        for text in (b"one", b"two"):
            say("north", "east", text)
        assert [east.recv(9), east.recv(9)] == [b"one", b"two"], "in order, however late"
        switch.cut.add(("north", "east"))
        say("north", "east", b"lost")
        say("east", "north", b"heard")
        assert north.recv(9) == b"heard", "a cut is one way"
        assert switch.counts == {"passed": 3, "withheld": 1}
        switch.mend()
        switch.loss = 1.0
        say("north", "east", b"lost")
        switch.loss = 0.0
        say("north", "east", b"again")
        assert east.recv(9) == b"again"
        assert switch.counts["lost"] == 1


def test_one_is_cut_off_in_the_middle_and_comes_back(switch: Switch, tmp_path: Path) -> None:
    """North, east and south are connected; south is cut off; west comes and waits in vain."""
    scenario = calm(*CYCLE)
    addresses = {name: f"{switch.address(name)}:{PORT}" for name in NAMES}
    expected = files.write(scenario, tmp_path, addresses).answer

    def said(name: str) -> str:
        return (tmp_path / f"{name}.err").read_text()

    with ExitStack() as stack:

        def start(name: str) -> subprocess.Popen[str]:
            process = _join(switch, tmp_path, name)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return process

        parties = {name: start(name) for name in NAMES[:3]}
        _until(lambda: "connecting, waiting for west" in said("south"))
        switch.cut_off("south")
        parties["west"] = start("west")
        _until(lambda: "connecting, waiting for" in said("west"))
        assert all(party.poll() is None for party in parties.values())
        switch.mend()
        assert [party.wait(PATIENCE) for party in parties.values()] == [0, 0, 0, 0]
    for name in NAMES:
        found = files.load(tmp_path / f"{name}.json")
        assert {key: found.get(key) for key in expected} == expected
