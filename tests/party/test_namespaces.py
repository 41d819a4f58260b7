"""Parties on hosts of their own: Linux network namespaces, joined by a switch; one is unplugged.

Every party has its own address and nothing but the switch between it and the others. When the plug
is pulled nobody is told: packets vanish, as they do in the world.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.party.campaign import files
from tests.party.joining import PATIENCE, calm

ROOT = Path(__file__).parents[2]
NAMES = ("north", "east", "south", "west")
CYCLE = tuple(zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True))
PORT = 7443


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Switch:
    """A bridge in a namespace of its own, with a cable to the namespace of every party."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._prefix = f"titan-{os.getpid()}"
        self._switch = f"{self._prefix}-switch"
        self._ports = {name: f"to-{name}" for name in names}
        self._made: list[str] = []

    def build(self) -> None:
        self._namespace(self._switch)
        _ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", self._switch, "link", "set", "bridge", "up")
        for place, name in enumerate(self._ports):
            self._cable(name, self.address(place))

    def _namespace(self, name: str) -> None:
        _ip("netns", "add", name)
        self._made.append(name)

    def _cable(self, name: str, address: str) -> None:
        host, port = self.host(name), self._ports[name]
        self._namespace(host)
        at_host = ("name", "eth0", "netns", host)
        _ip("-n", self._switch, "link", "add", port, "type", "veth", "peer", *at_host)
        _ip("-n", self._switch, "link", "set", port, "master", "bridge", "up")
        _ip("-n", host, "addr", "add", f"{address}/24", "dev", "eth0")
        _ip("-n", host, "link", "set", "eth0", "up")
        _ip("-n", host, "link", "set", "lo", "up")

    def host(self, name: str) -> str:
        return f"{self._prefix}-{name}"

    @staticmethod
    def address(place: int) -> str:
        return f"10.87.65.{place + 1}"

    def unplug(self, name: str) -> None:
        _ip("-n", self._switch, "link", "set", self._ports[name], "down")

    def plug_in(self, name: str) -> None:
        _ip("-n", self._switch, "link", "set", self._ports[name], "up")

    def close(self) -> None:
        for name in self._made:
            _ip("netns", "del", name)


@pytest.fixture
def switch() -> Iterator[Switch]:
    if shutil.which("ip") is None:
        pytest.skip("there is no ip command (iproute2)")
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    made = Switch(NAMES)
    try:
        made.build()
    except subprocess.CalledProcessError as error:
        made.close()
        pytest.skip(f"no network namespaces here: {error.stderr.strip()}")
    yield made
    made.close()


def _join(switch: Switch, folder: Path, name: str) -> subprocess.Popen[str]:
    command = [
        sys.executable, "-m", "titan", "join", str(folder / "study.toml"), "--as", name, "--yes",
        "--data", str(folder / f"{name}.csv"), "--key", str(folder / f"{name}.key"),
        "--save", str(folder / f"{name}.json"), "--wait", str(PATIENCE),
    ]  # fmt: skip
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}
    with (folder / f"{name}.err").open("w") as err:
        return subprocess.Popen(
            ["ip", "netns", "exec", switch.host(name), *command],
            stdout=subprocess.DEVNULL, stderr=err, text=True, env=environment,
        )  # fmt: skip


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "this hangs"
        time.sleep(0.02)


def test_one_is_unplugged_in_the_middle_and_plugged_in_again(
    switch: Switch, tmp_path: Path
) -> None:
    """North, east and south are connected; south is cut off; west comes and waits in vain."""
    scenario = calm(*CYCLE)
    addresses = {name: f"{switch.address(place)}:{PORT}" for place, name in enumerate(NAMES)}
    expected = files.write(scenario, tmp_path, addresses)

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
        switch.unplug("south")
        parties["west"] = start("west")
        _until(lambda: "connecting, waiting for" in said("west"))
        assert all(party.poll() is None for party in parties.values())
        switch.plug_in("south")
        assert [party.wait(PATIENCE) for party in parties.values()] == [0, 0, 0, 0]
    for name in NAMES:
        found = files.load(tmp_path / f"{name}.json")
        assert {key: found.get(key) for key in expected} == expected
