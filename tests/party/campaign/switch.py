"""Hosts of their own on one machine, far from each other: a switch that delays and loses packets.

Every party has a network namespace with one TUN device, whose other end is this process. A packet
goes from one device to another after the delay of that way, or nowhere: lost by chance, or withheld
by a cut, of which nobody is told. A cut is one way; the other way may stay open.

Needs root and iproute2, and nothing of the kernel but TUN: netem is not in all of them.
"""

# Rule 1: packets of one way keep their order.
# Rule 2: what is lost is drawn from one seed; nothing else here is random.

from __future__ import annotations

import ctypes
import fcntl
import heapq
import itertools
import os
import selectors
import shutil
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 0x0001, 0x1000
_CLONE_NEWNET = 0x40000000
_MOST_PACKET = 1 << 16
_NET = (10, 87)

_NUMBERS = itertools.count()  # of the switches of this process

Way = tuple[str, str]
"""From whom, to whom."""


def missing() -> str:
    """Why there can be no switch here; empty if there can."""
    if shutil.which("ip") is None:
        return "there is no ip command (iproute2)"
    if os.geteuid() != 0:
        return "network namespaces need root"
    return "" if Path("/dev/net/tun").exists() else "there is no /dev/net/tun"


def enter(namespace: str) -> None:
    """Have this process live in a network namespace from now on."""
    descriptor = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(descriptor, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    finally:
        os.close(descriptor)


class Switch:
    """A context manager: inside it the hosts are there, and packets flow."""

    def __init__(
        self, names: Sequence[str], *, delay: float = 0.0, loss: float = 0.0, seed: int = 0
    ) -> None:
        self.names = tuple(names)
        self.delay = delay
        """Seconds, one way; of single ways see `delays`."""
        self.delays: dict[Way, float] = {}
        self.loss = loss
        self.cut: set[Way] = set()
        """Ways on which every packet vanishes."""
        self.counts: Counter[str] = Counter()
        """Packets passed, lost, and withheld."""
        self.withheld: Counter[Way] = Counter()
        self._rng = Random(seed)
        self._number = next(_NUMBERS)
        self._prefix = f"titan-{os.getpid()}-{self._number}"
        self._made: list[str] = []
        self._devices: list[int] = []
        self._wake, self._woken = os.pipe()[::-1]
        self._thread = threading.Thread(target=self._pass_on, daemon=True)

    def namespace(self, name: str) -> str:
        return f"{self._prefix}-{self.names.index(name)}"

    def address(self, name: str) -> str:
        return ".".join(map(str, (*_NET, *divmod(self.names.index(name) + 1, 250))))

    def cut_off(self, name: str) -> None:
        """Both ways, to and from everybody."""
        for other in self.names:
            self.cut |= {(name, other), (other, name)}

    def withheld_on(self, ways: set[Way]) -> int:
        """Packets, so far."""
        return sum(self.withheld[way] for way in ways)

    def mend(self) -> None:
        self.cut.clear()

    # -- hosts --------------------------------------------------------------------------------

    def __enter__(self) -> Switch:
        try:
            for name in self.names:
                self._host(name)
        except BaseException:
            self._remove()
            raise
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._wake, b".")
        self._thread.join()
        self._remove()

    def _host(self, name: str) -> None:
        place, namespace = len(self._devices), self.namespace(name)
        device = f"t{os.getpid() % 100_000}x{self._number}x{place}"
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        self._devices.append(descriptor)
        wanted = struct.pack("16sH22x", device.encode(), _IFF_TUN | _IFF_NO_PI)
        fcntl.ioctl(descriptor, _TUNSETIFF, wanted)
        _ip("netns", "add", namespace)
        self._made.append(namespace)
        _ip("link", "set", device, "netns", namespace, "name", "eth0")
        _ip("-n", namespace, "addr", "add", f"{self.address(name)}/16", "dev", "eth0")
        _ip("-n", namespace, "link", "set", "eth0", "up")
        _ip("-n", namespace, "link", "set", "lo", "up")

    def _remove(self) -> None:
        for descriptor in (*self._devices, self._wake, self._woken):
            os.close(descriptor)
        for namespace in self._made:
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "del", namespace)

    # -- packets ------------------------------------------------------------------------------

    def _pass_on(self) -> None:
        """In a thread of its own, until it is woken."""
        late: list[tuple[float, int, int, bytes]] = []  # when, in which order, where to, what
        with selectors.DefaultSelector() as ready:
            ready.register(self._woken, selectors.EVENT_READ)
            for place, descriptor in enumerate(self._devices):
                ready.register(descriptor, selectors.EVENT_READ, place)
            while True:
                wait = max(0.0, late[0][0] - time.monotonic()) if late else None
                for key, _ in ready.select(wait):
                    if key.fd == self._woken:
                        return
                    self._take(key.data, key.fd, late)
                now = time.monotonic()
                while late and late[0][0] <= now:
                    _, _, place, packet = heapq.heappop(late)
                    with suppress(OSError):  # its host is full, or gone
                        os.write(self._devices[place], packet)

    def _take(self, sender: int, device: int, late: list[tuple[float, int, int, bytes]]) -> None:
        """All that a host has sent by now."""
        while True:
            try:
                packet = os.read(device, _MOST_PACKET)
            except BlockingIOError:
                return
            if len(packet) < 20 or packet[0] >> 4 != 4 or tuple(packet[16:18]) != _NET:
                continue  # nobody here speaks anything else
            receiver = 250 * packet[18] + packet[19] - 1
            if not 0 <= receiver < len(self.names):
                continue
            way = self.names[sender], self.names[receiver]
            if way in self.cut:
                self.counts["withheld"] += 1
                self.withheld[way] += 1
            elif self._rng.random() < self.loss:
                self.counts["lost"] += 1
            else:
                self.counts["passed"] += 1
                due = time.monotonic() + self.delays.get(way, self.delay)
                heapq.heappush(late, (due, self.counts["passed"], receiver, packet))


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
