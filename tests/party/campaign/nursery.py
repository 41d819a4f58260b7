"""Starts parties: a process that has imported everything, and forks one for each command.

A Python that starts, with all that `titan join` needs, takes the better part of a second of
processor time; a fork takes none. Orders come on stdin and news go to stdout, a line of JSON each:

    {"id": 3, "argv": […], "stdout": path, "stderr": path, "noise": […], "kill": […]}
    (and "descriptors": how many it may open; "namespace": where; "inside": what is different there)
    {"id": 3, "pid": 4711}        {"id": 3, "status": -9}
"""

# Rule: nothing here starts a thread or opens a connection: what is forked has neither.

from __future__ import annotations

import json
import os
import resource
import selectors
import signal
import sys
import traceback
from typing import Any, NoReturn

import flint  # noqa: F401
import pyarrow.csv  # noqa: F401
import scipy.special  # noqa: F401

import titan.cli
import titan.party.taking_part
from tests.party.campaign import inside, noise, switch

Order = dict[str, Any]


class Nursery:
    """Reads orders, forks, and tells who has ended and how."""

    def __init__(self) -> None:
        self._children: dict[int, int] = {}  # process → the order's id
        self._rest = b""

    def run(self) -> None:
        """Until stdin ends; whoever still runs then is killed."""
        awake, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with selectors.DefaultSelector() as selector:
            selector.register(0, selectors.EVENT_READ)
            selector.register(awake, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fd == awake:
                        os.read(awake, 1 << 10)
                        self._reap()
                    elif not self._take_orders():
                        return

    def _take_orders(self) -> bool:
        data = os.read(0, 1 << 16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            order = json.loads(line)
            pid = os.fork()
            if pid == 0:
                _become_party(order)
            self._children[pid] = order["id"]
            _say({"id": order["id"], "pid": pid})
        if not data:
            for pid in self._children:
                os.kill(pid, signal.SIGKILL)
        return bool(data)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            _say({"id": self._children.pop(pid), "status": code})


def _say(news: dict[str, int]) -> None:
    os.write(1, json.dumps(news).encode() + b"\n")


def _become_party(order: Order) -> NoReturn:
    """From here on this is `titan join`, with what the order adds to it."""
    signal.set_wakeup_fd(-1)
    for each in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)  # whoever started the tests may ignore some (nohup)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for target, path in ((1, order["stdout"]), (2, order["stderr"])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), target)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)  # it knew what the old one was
    status = 99
    try:
        if most := order.get("descriptors"):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        if order.get("namespace"):
            switch.enter(order["namespace"])
        inside.change(order.get("inside", {}))
        if order["noise"]:
            noise.make_noise(*order["noise"])
        if order["kill"]:
            when, *how = order["kill"]
            noise.KILLS[when](*how)
        if order.get("lie"):
            noise.LIES[order["lie"]]()
        sys.argv = ["titan", *order["argv"]]
        titan.cli.main()
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(bool(leaving.code))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    Nursery().run()
