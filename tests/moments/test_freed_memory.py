"""Memory that was fetched ahead, or used and freed, is not fetched again: no page of it faults."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from unittest.mock import patch

import numpy as np
import pytest

from titan.moments import freed_memory

BYTES = 40 << 20
STORY = f"""
import sys
import numpy as np
from titan.moments.freed_memory import fetch_memory, keep_freed_memory

def bytes_fetched():
    rss = [line for line in open("/proc/self/status") if line.startswith("VmRSS")]
    return 1024 * int(rss[0].split()[1])

keep_freed_memory()
if sys.argv[1] == "ahead":
    fetch_memory({BYTES})
before = bytes_fetched()
blocks = [np.ones(1 << 20, np.uint64) for _ in range({BYTES} >> 23)]
print(bytes_fetched() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library: nothing changes")
def test_what_was_fetched_ahead_is_at_hand() -> None:
    def fetched(when: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", STORY, when], check=True, capture_output=True, text=True
        )
        return int(done.stdout)

    assert fetched("later") > 0.9 * BYTES
    assert fetched("ahead") < 0.1 * BYTES


def test_too_little_memory_to_fetch_ahead_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A party may need less than what would be fetched for it, under a limit of its process say."""
    monkeypatch.setattr(freed_memory, "_kept", BYTES)
    with patch.object(np, "empty", side_effect=MemoryError) as fetched:
        freed_memory.fetch_memory(BYTES)
    assert fetched.called


def test_with_another_c_library_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is freed there goes back to the system at once."""
    monkeypatch.setattr(freed_memory, "_kept", 0)
    monkeypatch.setattr(sys, "platform", "linux")
    with patch.object(ctypes, "CDLL", return_value=object()), patch.object(np, "empty") as fetched:
        freed_memory.keep_freed_memory()
        freed_memory.fetch_memory(BYTES)
    assert not fetched.called
