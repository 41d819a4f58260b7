"""How a command's log looks on stderr: for people at a terminal, for files, and for programs.

plain   titan: south: nobody answers there yet
text    2026-03-05T08:30:00.125Z warning titan: south (192.0.2.7:7443): nobody answers there yet
json    {"time": …, "level": …, "event": …, "peer": …, "address": …, "message": …}, one per line
"""

# Rule: a line prints, and is one line: what is in it may be others' names and words.

from __future__ import annotations

import json
import sys
from dataclasses import replace
from datetime import UTC, datetime

from titan.errors import UsageError
from titan.listing import printable
from titan.party.notices import Notice

FORMATS = ("plain", "text", "json")
_chosen = ["plain"]  # for what goes wrong after a command has ended, too


def use(name: str | None = None) -> str:
    """Choose a format for this process; without a name what fits where stderr goes."""
    if name is None:
        name = "plain" if sys.stderr.isatty() else "text"
    if name not in FORMATS:
        raise UsageError(f"--log-format {name!r}", hint=f"one of {', '.join(FORMATS)}")
    _chosen[0] = name
    return name


def is_json() -> bool:
    return _chosen[0] == "json"


def tell(notice: Notice | str, hint: str = "") -> None:
    """One line, in one write, so that lines of several threads do not mix."""
    found = Notice(notice) if isinstance(notice, str) else notice
    sys.stderr.write(f"{_line(found, hint)}\n")
    sys.stderr.flush()


def _line(notice: Notice, hint: str) -> str:
    notice = replace(notice, message=printable(notice.message))
    if _chosen[0] == "plain":
        return f"titan: {notice}"
    now = datetime.now(UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    if _chosen[0] == "text":
        more = notice.peer and notice.address  # of a stranger the message has the address
        peer = f"{notice.peer} ({notice.address})" if more else notice.peer
        return f"{now} {notice.level} titan: {f'{peer}: ' if peer else ''}{notice.message}"
    told = {
        "time": now,
        "level": notice.level,
        "event": notice.event,
        "peer": notice.peer or None,
        "address": notice.address or None,
        "message": notice.message,
    }
    return json.dumps(told | ({"hint": printable(hint)} if hint else {}), ensure_ascii=False)


def tell_error(message: str, hint: str) -> None:
    """What ends a command: two lines for people, one for programs."""
    if _chosen[0] == "json":
        tell(Notice(message, "error", "error"), hint)
        return
    tell(Notice(f"error: {message}", "error", "error"))
    if hint:
        tell(Notice(f"hint: {hint}", "error", "error"))
