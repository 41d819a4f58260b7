"""The one Python into which a reader copies all of a page's Python blocks."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

_LOOP = """
import json, os, sys, traceback
names, end = {"__name__": "__main__"}, END
for line in sys.stdin:
    asked, status = json.loads(line), 0
    os.chdir(asked["where"])
    try:
        exec(compile(asked["code"], "<page>", "exec"), names)
    except BaseException:
        traceback.print_exc()
        status = 1
    print(end, status, sep="", flush=True)
"""
_END = "\0ended\0"


class Interpreter:
    """It keeps its names from block to block."""

    def __init__(self, environment: Mapping[str, str], where: Path) -> None:
        self._process = subprocess.Popen(
            ["python", "-c", _LOOP.replace("END", repr(_END))],
            cwd=where,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, code: str, where: Path) -> tuple[int, str]:
        """Its status and what it printed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"code": code, "where": str(where)}) + "\n")
        self._process.stdin.flush()
        printed = ""
        for line in self._process.stdout:
            before, ended, status = line.partition(_END)
            printed += before
            if ended:
                return int(status), printed
        return self._process.wait(), printed

    def close(self) -> None:
        self._process.communicate()
