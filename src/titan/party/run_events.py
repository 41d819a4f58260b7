"""What happens while somebody waits: how links stand, silence, the error that ends the run.

Links report here; whoever waits is woken, and the person who watches is told. What a link has
carried is in `links`, and survives a restart; what is here does not.
"""

# Rule 1: the clock is the machine's monotonic one, and all it decides is when to give up waiting.
# Rule 2: of several failures the first is the one that is raised.
# Rule 3: whoever does the same again and again is told of once; whoever does something else each
#         time, now and then.
#         Of strangers, of whom there may be any number, the last few are remembered.
# Rule 4: a link has one conversation at a time; whoever cancels it need not know what it does.

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from titan.errors import PeerError
from titan.party.notices import Notice, RateLimit
from titan.party.run import ANOTHER_STUDY, RunProgress
from titan.party.wire import Role
from titan.study import Study


@dataclass
class Watch:
    """Whom to tell what happens: `progress` often, `tell` when something is worth a line."""

    tell: Callable[[Notice], None] = lambda _: None
    progress: Callable[[RunProgress], None] | None = None
    answered: Callable[[], None] = lambda: None
    """The answer is certain and kept; this party may stay for others."""


_LINES, _SECONDS = 10, 60.0  # told of one peer and kind at once, and then for each further one
_STRANGERS = 100  # of whom it is remembered what was told


class RunEvents:
    """What was heard of a run, when, and by whom it is awaited."""

    def __init__(self, watch: Watch, progress: Callable[[], RunProgress]) -> None:
        self.failure: Exception | None = None
        self.last_words = b""
        """A chunk that goes out on every stream before this party leaves."""
        self.began_before: Callable[[bytes], PeerError | None] = lambda proof: None
        """The error that this party began this run before, where its own signature proves it."""
        self._watch = watch
        self._progress = progress
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._heard = time.monotonic()
        self.addresses: Mapping[str, str] = {}
        """Of the other parties, as the study has them."""
        self._told: dict[str, str] = {}  # what was said last of whom, of the parties
        self._told_of_strangers: dict[str, str] = {}  # who was told of last stands last
        self._limit = RateLimit(_LINES, _SECONDS)

    async def until(self, condition: Callable[[], bool], wait: float) -> bool:
        """Wait until something holds; False after `wait` seconds without news."""
        self._heard = time.monotonic()
        try:
            while self.failure is None and not condition():
                left = self._heard + wait - time.monotonic()
                if left <= 0:
                    return False
                if self._timer is None:  # messages do not move it: when it is up, it is set again
                    self._timer = asyncio.get_running_loop().call_later(left, self._time_is_up)
                self._changed.clear()
                await self._changed.wait()
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        if self.failure is not None:
            raise self.failure
        return True

    def _time_is_up(self) -> None:
        self._timer = None
        self._changed.set()

    def progressed(self) -> None:
        """A message was taken, here or by another."""
        self._heard = time.monotonic()
        if self._watch.progress is not None:
            self._watch.progress(self._progress())
        self._changed.set()

    def more_is_coming(self) -> None:
        """Part of a long message: nothing to look at yet, but no silence either."""
        self._heard = time.monotonic()

    def changed(self) -> None:
        """Look again whether what you wait for holds; the silence goes on."""
        self._changed.set()

    def fail(self, error: BaseException | None) -> None:
        if self.failure is None and isinstance(error, Exception):
            self.failure = error
        self._changed.set()

    def tell_once(
        self,
        peer: str,
        text: str,
        event: str = "link",
        *,
        level: Literal["info", "warning"] = "warning",
        address: str = "",
    ) -> None:
        """Whoever tries again every few seconds is not worth a line each time.

        `address` is where it dialled from. Strangers, who may come from many, count as one. They
        are named in the message: `peer` of a line is a party of the study.
        """
        known = peer in self.addresses
        told = self._told if known else self._told_of_strangers
        if told.get(peer) == text:
            return
        told.pop(peer, None)
        told[peer] = text
        if not known and len(told) > _STRANGERS:
            del told[next(iter(told))]
        of = peer if known else ""
        skipped = self._limit.passes((of, event), time.monotonic())
        if skipped is not None:
            more = f" ({skipped} others of this kind were left out before it)" if skipped else ""
            address = address or self.addresses.get(peer, "")
            text = f"{text}{more}" if of else f"{peer}: {text}{more}"
            self._watch.tell(Notice(text, level, event, of, address))

    def tell_left_out(self) -> None:
        """At the end: how many lines there would have been."""
        for (peer, event), skipped in self._limit.left_out():
            text = f"{skipped} more of this kind were left out"
            self._watch.tell(Notice(text, "warning", event, peer, self.addresses.get(peer, "")))

    def is_well(self, peer: str) -> None:
        """What is wrong with it next is worth a line, even if it is the same again."""
        self._told.pop(peer, None)


@dataclass(eq=False)
class LinkStatus:
    """Where a link stands here."""

    peer: str
    role: Role
    dials: bool = True
    """It is this end that opens the streams."""
    up: bool = False
    ever_up: bool = False
    closed: bool = False
    """Both ends know that nothing more will come along this link."""
    leaving: bool = False
    """This party goes; what is out is still sent, and nothing more is waited for."""
    trouble: str = ""
    another_study: bool = False
    """Whoever spoke there last had another one; it may have given up since."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Something is to be sent or acknowledged, or this party leaves."""
    peer_came: asyncio.Event = field(default_factory=asyncio.Event)
    """The other end is there, as somebody says: it is dialled without waiting any longer."""
    conversation: asyncio.Task[None] | None = None
    bytes_written: int = 0

    @property
    def over(self) -> bool:
        """No further stream is wanted."""
        return self.leaving or self.closed

    def opened(self) -> None:
        """Both ends have said hello."""
        self.up = self.ever_up = True
        self.trouble, self.another_study = "", False

    def note(self, trouble: str) -> None:
        self.trouble = trouble
        self.another_study |= ANOTHER_STUDY in trouble

    def break_off(self, reason: str) -> None:
        """This stream is of no more use; the link will get another."""
        self.trouble = reason
        if self.conversation is not None:
            self.conversation.cancel()

    def leave(self) -> None:
        self.leaving = True
        self.wake.set()


LinkStatuses = dict[tuple[str, str], LinkStatus]
"""By sender and receiver."""


def link_statuses(study: Study, me: str) -> LinkStatuses:
    """One for every link that begins or ends at `me`."""
    return {
        (link.sender, link.receiver): LinkStatus(
            link.receiver if link.sender == me else link.sender,
            Role.SENDER if link.sender == me else Role.RECEIVER,
            dials=link.dialler == me,
        )
        for link in study.links
        if me in (link.sender, link.receiver)
    }
