"""Run the peers named, or all, and print their tables: python -m benchmarks.peers [NAME ...]"""

from __future__ import annotations

import sys

from benchmarks.measure import tables
from benchmarks.peers.everyone import PEERS, rows


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        print(f"titan: error: no peer is called {unknown[0]!r}", file=sys.stderr)
        print(f"titan: hint: one of {', '.join(PEERS)}", file=sys.stderr)
        return 2
    print(tables(list(rows(names or PEERS))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
