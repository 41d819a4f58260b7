"""A campaign of SIGKILL: a child writes a journal, dies at a random moment, and we look.

Run as a program, so that its forks come from a process with one thread:
    python -m tests.study.killed DIRECTORY KILLS SEED
Prints one line of JSON: what was acknowledged, and what was found of it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from tests.study.runs import beginning, body, fixed, mask_frame
from titan.study.frames import Frame
from titan.study.journal import Journal


def frame(sequence: int) -> Frame:
    """Small and large ones, masks and others."""
    kind = "MASK" if sequence % 3 == 0 else "TOTAL"
    return Frame("east", sequence, kind, body(sequence, sequence * 7919 % 60_000), 0, sequence % 9)


def write_forever(path: Path, say: int) -> None:
    """One or three frames a transaction; their number is said once they may be acknowledged."""
    with Journal.open(path) as journal:
        beginning(journal, nonce=os.urandom(32), keys=[os.urandom(32), os.urandom(32)])
        sequence = sum(1 for _ in journal.incoming())
        while True:
            with journal.batch():
                for _ in range(1 + 2 * (sequence % 2)):
                    journal.record_incoming(frame(sequence))
                    journal.sending(frame(sequence))
                    sequence += 1
            journal.sync()
            os.write(say, b"%d\n" % sequence)


def kill_a_writer(path: Path, rng: random.Random) -> int:
    """Let it write for a few frames and a fraction of one more; how many it acknowledged."""
    listen, say = os.pipe()
    child = os.fork()
    if not child:
        os.close(listen)
        write_forever(path, say)
    os.close(say)
    with os.fdopen(listen, "rb") as heard:
        for _ in range(rng.randrange(8)):
            heard.readline()
        time.sleep(rng.random() * 0.004)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        lines = heard.read().split(b"\n")
    return int(lines[-2]) if len(lines) > 1 else 0


def look(path: Path, said: int) -> tuple[int, bytes]:
    """How many frames are there; all that were acknowledged, whole, in order, nothing torn."""
    with Journal.open(path) as journal:
        state = journal.state
        count = 0
        for count, found in enumerate(journal.incoming(), 1):
            assert found == frame(count - 1), "a torn frame"
        assert count >= said, "an acknowledged frame is lost"
        sent = [m for m in journal.messages() if m.sender == "north"]
        assert len(sent) >= count, "half a batch"  # of long ones that came, rows alone may be left
        if state is None:
            assert not count, "frames without a beginning"
            return 0, b""
        assert len(state.keys) == 2, "half a beginning"
        return count, state.nonce + b"".join(state.keys)


def campaign(directory: Path, kills: int, rng: random.Random) -> dict[str, int]:
    path, before, identity = directory / "run.journal", 0, b""
    for _ in range(kills):
        said = kill_a_writer(path, rng)
        count, now = look(path, max(said, before))
        assert not identity or identity == now, "the run changed its nonce or keys"
        before, identity = count, now
    return {"kills": kills, "frames": before}


def erase_and_die(directory: Path, rng: random.Random) -> str:
    """Kill a child while it erases; what is found next is all secrets or none."""
    path = directory / f"{rng.random()}.journal"
    with Journal.open(path) as journal:
        beginning(journal)
        for at in range(12):
            journal.record_incoming(mask_frame("east", at, 30_000))
        journal.finish(b"an answer", b"")
    child = os.fork()
    if not child:
        with Journal.open(path) as journal:
            journal.erase_secrets()
        os._exit(0)
    time.sleep(rng.random() * 0.012)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with Journal.open(path) as journal:
        state = journal.state
        assert state is not None
        masks = sum(1 for _ in journal.incoming())
    assert (len(state.keys), masks) == ((0, 0) if state.erased else (2, 12)), "half erased"
    assert Path(f"{path}.secret").exists() is not state.erased, "half erased"
    if state.erased:
        left = path.read_bytes()
        assert fixed("key 0") not in left, "a key survived"
        assert mask_frame("east", 3, 30_000).body[:64] not in left, "a mask survived"
    for file in directory.glob(f"{path.name}*"):
        file.unlink()
    return "erased" if state.erased else "kept"


def main(directory: Path, kills: int, seed: int) -> None:
    rng = random.Random(seed)
    found: dict[str, int] = campaign(directory, kills, rng)
    for _ in range(kills // 3):
        outcome = erase_and_die(directory, rng)
        found[outcome] = found.get(outcome, 0) + 1
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
