"""A run that goes on whether or not somebody looks: one party in a thread of its own."""

# Rule 1: pages read what is here; only the run's own thread writes it.
# Rule 2: whoever stops the pages stops the run in good order, and it goes on later.

from __future__ import annotations

import asyncio
import threading
from collections import deque
from dataclasses import dataclass, field, replace

from titan.errors import TitanError
from titan.party.notices import Notice
from titan.party.run import RunProgress
from titan.party.run_events import Watch
from titan.party.run_to_answer import Outcome
from titan.party.taking_part import Party

_LINES = 30
_PATIENCE = 15.0  # seconds that a run may take to stop


@dataclass(eq=False)
class Running:
    """One run, from the click on."""

    party: Party = field(repr=False)
    progress: RunProgress = field(default_factory=lambda: RunProgress("beginning"))
    notices: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    answered: bool = False
    """The answer is certain; this party may stay for others."""
    stopped: bool = False
    """By a person; the same form goes on."""
    error: TitanError | None = None

    def __post_init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[Outcome] | None = None
        self._thread = threading.Thread(target=self._run, name="titan run", daemon=True)

    @property
    def name(self) -> str:
        return self.party.folder.name

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """As Ctrl-C does in a terminal."""
        self.stopped = True
        task = self._task
        if task is not None and self.alive:
            self._loop.call_soon_threadsafe(task.cancel)

    def wait(self) -> None:
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        party = replace(self.party, watch=Watch(self._tell, self._note, self._answered))
        asyncio.set_event_loop(self._loop)
        self._task = self._loop.create_task(party.join(lambda _: None))
        try:
            outcome = self._loop.run_until_complete(self._task)
            self.error = outcome.refused
        except asyncio.CancelledError:
            self.stopped = True
        except TitanError as error:
            self.error = error
        except Exception as error:  # whatever it is, a page must say it
            self.error = TitanError(f"the run failed with {type(error).__name__}: report it")
        finally:
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
            self._loop.close()

    def _tell(self, notice: Notice) -> None:
        self.notices.append(str(notice))

    def _note(self, progress: RunProgress) -> None:
        self.progress = progress

    def _answered(self) -> None:
        self.answered = True


@dataclass
class Runs:
    """Those that were begun here, by the name of their folder."""

    _known: dict[str, Running] = field(default_factory=dict)

    def start(self, party: Party) -> Running:
        """Begin, or go on; a run that is going on already is that one."""
        before = self._known.get(party.folder.name)
        if before is not None and before.alive:
            return before
        run = self._known[party.folder.name] = Running(party)
        run.start()
        return run

    def get(self, name: str) -> Running | None:
        return self._known.get(name)

    def alive(self) -> list[str]:
        return [name for name, run in self._known.items() if run.alive]

    def stop_all(self) -> list[str]:
        """Of those that had not ended; all of them go on later."""
        alive = [run for run in self._known.values() if run.alive]
        for run in alive:
            run.stop()
        for run in alive:
            run.wait()
        return [run.name for run in alive]
