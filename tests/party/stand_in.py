"""A stand-in for `titan join` as a program: its "rows" are a script of what to say and do.

python stand_in.py STUDY --as NAME --data FILE …, where each line of FILE is one of

say WORDS      a line on stderr
sleep SECONDS
ignore         signals that ask to end
pid FILE       write this process' number there
await FILE     until it is there
end STATUS     leave
kill           this process, at once
print WORDS    on stdout
answer JSON    on stdout, with what every party's answer has
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path


def main() -> None:
    started = time.monotonic()
    words = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=False))
    for line in Path(words["--data"]).read_text().splitlines():
        verb, _, rest = line.partition(" ")
        if verb == "say":
            print(rest, file=sys.stderr, flush=True)
        elif verb == "sleep":
            time.sleep(float(rest))
        elif verb == "ignore":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        elif verb == "pid":
            Path(rest + ".new").write_text(str(os.getpid()))
            Path(rest + ".new").rename(rest)
        elif verb == "await":
            while not Path(rest).exists():
                time.sleep(0.01)
        elif verb == "end":
            sys.exit(int(rest))
        elif verb == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif verb == "print":
            print(rest)
        elif verb == "answer":
            times = {"connected": 0.1, "pooled": 0.2, "answered": 0.3}
            own = {"party": words["--as"], "folder": words["--runs"], "started": started}
            print(json.dumps({**own, "times": times, "run": 1, **json.loads(rest)}))


main()
