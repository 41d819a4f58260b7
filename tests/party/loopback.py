"""Real parties on loopback, all in one process and one event loop: TLS, journals, ledgers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.party.ports import free_port
from tests.study.parties import identity
from tests.study.studies import asked
from titan import Network
from titan.errors import TitanError
from titan.moments import open_source
from titan.party.engine import Engine, Watch
from titan.party.run import RunProgress
from titan.party.run_to_answer import Outcome
from titan.party.taking_part import Choices, Party
from titan.results import Results
from titan.study import Identity, Link, Study

NAMES = ("north", "east", "south")
WAIT = 60.0  # seconds; far more than any of these runs takes, on a busy machine too


def at(it: Identity, port: int) -> Identity:
    return Identity(replace(it.card, address=f"127.0.0.1:{port}"), it._key)


def rows(name: str, count: int = 12) -> str:
    rng = random.Random(name)
    lines = [
        f"{rng.randrange(999)},{rng.randrange(999)},{rng.randrange(999)}" for _ in range(count)
    ]
    return "\n".join(["x,z,y", *lines]) + "\n"


@dataclass
class Gathering:
    """A study on loopback, and a folder of its own for each party."""

    folder: Path
    names: tuple[str, ...] = NAMES
    dial: str = "push"
    network: Network | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    told: dict[str, list[str]] = field(default_factory=dict)
    phases: dict[str, list[str]] = field(default_factory=dict)
    shown: dict[str, Results] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.identities = {name: at(identity(name), free_port()) for name in self.names}
        network = self.network or Network.cycle(list(self.names))
        content: dict[str, Any] = {
            "title": "On loopback",
            "formula": "y ~ x + z",
            "tau": 1,
            "parties": tuple(self.identities[name].card for name in self.names),
            "links": tuple(Link(a, b, self.dial) for a, b in network.edges),  # type: ignore[arg-type]
            "recovery": "flood",
        }
        self.study = Study(**asked(content | self.changes))
        for name in self.names:
            self.write(name, rows(name))

    def write(self, name: str, text: str) -> None:
        (self.folder / f"{name}.csv").write_text(text)

    def add_column(self, name: str, column: str, values: Iterable[object]) -> None:
        """To the rows of one party, a value for each."""
        header, *lines = (self.folder / f"{name}.csv").read_text().splitlines()
        longer = [f"{line},{value}" for line, value in zip(lines, values, strict=True)]
        self.write(name, "\n".join([f"{header},{column}", *longer]) + "\n")

    def add_levels_of_one(self, owner: str = "east", others: str = "v" + "u" * 11) -> None:
        """A column g, whose level v one party has, and the others in too few rows beside."""
        for name in self.names:
            self.add_column(name, "g", "vvvvvvuuuuuu" if name == owner else others)

    def save(self) -> None:
        """The study and the keys as files, for the command line."""
        self.study.save(self.folder / "study.toml")
        for found in self.identities.values():
            found.save(self.folder)

    def words(self, name: str, *more: object) -> list[object]:
        """Of `titan join`, once it is saved."""
        found: list[object] = ["join", "study.toml", "--as", name, "--data", f"{name}.csv"]
        return [*found, "--key", f"{name}.key", "--yes", *more]

    def party(self, name: str, study: Study | None = None, **choices: Any) -> Party:
        told, phases = self.told.setdefault(name, []), self.phases.setdefault(name, [])

        def note(progress: RunProgress) -> None:
            phases.append(str(progress))

        which = study or self.study
        run = choices.get("run", 1)
        return Party(
            which,
            Identity(which.card(name), self.identities[name]._key),
            open_source(str(self.folder / f"{name}.csv")),
            self.run_folder(name, run),
            self.folder / f"{name}.ledger",
            Choices(**({"wait": WAIT} | choices)),
            Watch(lambda notice: told.append(str(notice)), note),
        )

    def run_folder(self, name: str, run: int = 1) -> Path:
        return self.folder / f"{name}-run{run}"

    async def join(self, name: str, study: Study | None = None, **choices: Any) -> Outcome:
        def show(outcome: Outcome) -> None:
            self.shown[name] = outcome.results

        return await self.party(name, study, **choices).join(show)

    def joining(self, name: str, **choices: Any) -> asyncio.Task[Outcome]:
        return asyncio.ensure_future(self.join(name, **choices))

    async def all(self, **choices: Any) -> dict[str, Outcome]:
        done = await asyncio.gather(*(self.join(name, **choices) for name in self.names))
        return dict(zip(self.names, done, strict=True))

    async def ends(self, **choices: Any) -> dict[str, Any]:
        """How it ends for each: its outcome, or its error."""
        work = (self.joining(name, **choices) for name in self.names)
        found = await asyncio.gather(*work, return_exceptions=True)
        return dict(zip(self.names, found, strict=True))

    async def errors(self, **choices: Any) -> dict[str, TitanError]:
        """With which error it ends for each."""
        found = await self.ends(**choices)
        assert all(isinstance(each, TitanError) for each in found.values()), found
        return found


_ROUNDED = {"condition", "error_bound"}  # float64 bounds: their last digit is the machine's


def answers_agree(g: Gathering, names: Sequence[str] = ()) -> None:
    """Everybody (or these) has the answer, and it is the same."""
    results = [
        {key: value for key, value in g.shown[name].to_dict().items() if key not in _ROUNDED}
        for name in names or g.names
    ]
    for result in results:
        assert result == results[0]
    assert "error" not in results[0]


class Patience:
    """Parties of one process that wait in vain until the test says so, instead of some seconds: how
    far they come within a time is the machine's business."""

    def __init__(self) -> None:
        self.engines: dict[str, Engine] = {}
        self._over: set[str] = set()

    def give_up(self, *names: str) -> None:
        """They have waited long enough for what they are waiting for now."""
        self._over.update(names)
        for name in names:
            self.engines[name]._events.changed()

    @contextmanager
    def patched(self) -> Iterator[None]:
        wait_for = Engine.until

        async def until(engine: Engine, condition: Callable[[], bool], wait: float) -> None:
            name = engine._session.run.name
            self.engines[name] = engine
            await wait_for(engine, lambda: name in self._over or condition(), wait)
            if not condition():
                raise engine._waited_in_vain(wait)

        with patch.object(Engine, "until", until):
            yield


async def until(condition: Callable[[], bool], seconds: float = WAIT) -> None:
    """Wait for something that will be so; TimeoutError is a failed test."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


def run(work: Coroutine[Any, Any, Any] | Awaitable[Any]) -> Any:
    async def bounded() -> Any:
        async with asyncio.timeout(2 * WAIT):
            return await work

    return asyncio.run(bounded())
