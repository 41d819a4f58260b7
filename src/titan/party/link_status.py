"""One link as the process at one end of it sees it: up or down, and what was wrong last.

What a link has carried is in `links`, and survives a restart; what is here does not.
"""

# Rule 1: a link has one conversation at a time, and whoever cancels it need not know what it does.

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from titan.party.wire import Role
from titan.study import Study


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
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Something is to be sent or acknowledged, or this party leaves."""
    conversation: asyncio.Task[None] | None = None
    bytes_written: int = 0

    @property
    def over(self) -> bool:
        """No further stream is wanted."""
        return self.leaving or self.closed

    def opened(self) -> None:
        """Both ends have said hello."""
        self.up = self.ever_up = True
        self.trouble = ""

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
