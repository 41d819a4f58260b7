"""A command whose reader has gone away, as that of `titan status | true` has."""

from __future__ import annotations

import os
import subprocess
import sys


def unread(*words: object, **variables: str) -> subprocess.CompletedProcess[str]:
    gone, pipe = os.pipe()
    os.close(gone)
    command = [sys.executable, "-m", "titan", *map(str, words)]
    everything = os.environ | variables
    try:
        return subprocess.run(
            command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False, env=everything
        )
    finally:
        os.close(pipe)
