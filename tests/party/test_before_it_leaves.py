"""In a run over the network, what a party looks at itself before its numbers leave its machine.

The ledger has the study before the first masked vector, and the counts of all rows are looked at
between the two sums: where one is too small, no message of the second sum exists.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.party.loopback import NAMES, Gathering, answers_agree, run
from titan.errors import DataError, FileError, InputError, PeerError, TitanError
from titan.network import Network
from titan.party.durable_session import DurableSession
from titan.party.engine import Engine
from titan.party.ready import Ready
from titan.release import Dictionary, Number
from titan.study import Link
from titan.study.frames import Frame
from titan.study.journal import Journal
from titan.study.kinds import CONTROL
from titan.study.ledger import Ledger

LEVELS = "y ~ x + C(g, levels=['u', 'v', 'w'])"


def entries(path: Path) -> list[str]:
    with Ledger.open(path) as ledger:
        return [run.study for run in ledger.recorded()]


def sums_begun(folder: Path) -> set[int | None]:
    """Of which sums anything was sent or received."""
    with Journal.open(folder / "journal.db") as journal:
        return {message.sum for message in journal.messages()}


async def errors_of(g: Gathering) -> list[TitanError]:
    return list((await g.errors()).values())


def with_levels(g: Gathering, letters: str) -> None:
    """One level for each row of all parties, in turn."""
    for at, name in enumerate(g.names):
        g.add_column(name, "g", letters[at :: len(g.names)])


def a_mask_left(folder: Path) -> None:
    """Or may have: it is written down."""
    with Journal.open(folder / "journal.db") as journal:
        journal.sending(Frame("east", 1000, "MASK", b"r", 0))


# -- the ledger -------------------------------------------------------------------------------


def test_the_ledger_is_written_before_anything_is_sent(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    known: list[bool] = []
    write_down = DurableSession.write_down

    def looking(self: DurableSession, ready: Ready) -> None:
        if any(frame.kind not in CONTROL for frame in ready.frames):
            name = self.journal.path.parent.name.removesuffix("-run1")
            known.append(entries(tmp_path / f"{name}.ledger") == [g.study.digest])
        write_down(self, ready)

    with patch.object(DurableSession, "write_down", looking):
        run(g.all())
    answers_agree(g)
    assert len(known) >= 2 * len(NAMES), "masks and masked vectors of every party"
    assert all(known)


def test_a_run_that_came_to_nothing_counts(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with pytest.raises(TitanError, match="south"):
        run(g.join("north", wait=0.3))
    assert entries(tmp_path / "north.ledger") == [g.study.digest]


def test_what_the_ledger_refuses_is_not_even_dialled(tmp_path: Path) -> None:
    """The same study without one party, after one with it."""
    g = Gathering(tmp_path, names=(*NAMES, "west"))
    run(g.all())
    links = tuple(Link(a, b) for a, b in Network.cycle(list(NAMES)).edges)
    fewer = replace(g.study, parties=g.study.parties[:3], links=links, min_rows_total=30)
    with patch.object(Engine, "__init__") as engine:
        with pytest.raises(InputError, match=r"differ from those of study .* only by west"):
            run(g.join("north", fewer, run=2))
        assert not engine.called
    assert sums_begun(g.run_folder("north", 2)) == set()
    assert entries(tmp_path / "north.ledger") == [g.study.digest]


def test_what_the_ledger_refuses_binds_no_run(tmp_path: Path) -> None:
    """Its hint is to use the same rows as then, so that must be possible."""
    g = Gathering(tmp_path)
    run(g.all())
    path = tmp_path / "north.csv"
    rows = path.read_text()
    g.write("north", "".join(rows.splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="only a few of this party's rows differ"):
        run(g.join("north", run=2))
    g.write("north", rows)
    with pytest.raises(PeerError, match="nothing came"):
        run(g.join("north", run=2, wait=0.3))
    assert entries(tmp_path / "north.ledger") == [g.study.digest] * 2


def test_what_the_journal_refuses_is_not_in_the_ledger(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with pytest.raises(PeerError, match="nothing came"):
        run(g.join("north", wait=0.3))
    a_mask_left(g.run_folder("north"))
    g.write("north", (tmp_path / "south.csv").read_text())
    with pytest.raises(DataError, match="changed since the run began"):
        run(g.join("north"))
    assert entries(tmp_path / "north.ledger") == [g.study.digest]


@pytest.mark.parametrize("step", ["record", "forget_other_rows"])
def test_a_ledger_that_cannot_be_written_is_not_taken_for_the_journal(
    tmp_path: Path, step: str
) -> None:
    """Of a journal it is said that its run cannot go on. Others are told nothing: it can."""
    g, do = Gathering(tmp_path), getattr(Ledger, step)
    if step == "forget_other_rows":
        with pytest.raises(PeerError, match="nothing came"):
            run(g.join("north", wait=0.3))

    def read_only(self: Ledger, *words: Any, **more: Any) -> Any:
        self._connection.execute("PRAGMA query_only = ON")
        return do(self, *words, **more)

    g.write("north", (tmp_path / "south.csv").read_text())
    with patch.object(Ledger, step, read_only), pytest.raises(FileError) as caught:
        run(g.join("north", wait=0.3))
    assert f'the ledger "{tmp_path / "north.ledger"}" cannot be used' in caught.value.message
    assert caught.value.to_others == ""


def test_digits_that_only_the_study_sees_are_the_data_too(tmp_path: Path) -> None:
    """An earlier study had coarser steps, on which the ledger compares rows for good."""
    names = ("x", "y", "z")

    def stated(step: str) -> Dictionary:
        return Dictionary.of({name: Number.read("0", "1000", step) for name in names})

    g = Gathering(tmp_path, changes={"columns": stated("1")})
    with pytest.raises(PeerError, match="nothing came"):
        run(g.join("north", wait=0.1))
    finer, rows = replace(g.study, columns=stated("0.1")), (tmp_path / "north.csv").read_text()
    for text, error in ((rows, PeerError), (rows.replace("\n", ".1\n", 2), DataError)):
        g.write("north", text.replace(".1", "", 1))  # the first is the header's
        with pytest.raises(error):
            run(g.join("north", finer, run=2, wait=0.1))
        a_mask_left(g.run_folder("north", 2))


# -- counts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "letters", "said"),
    [
        ({"min_rows_total": 37}, "uvw" * 12, "36 rows in all, and 3 parties need at least 37"),
        ({"rows_per_parameter": 10}, "uvw" * 12, "36 rows in all for 4 parameters"),
        ({}, "uv" * 17 + "ww", "g = w holds for 2 rows in all"),
        ({}, "wwww" + "v" * 31 + "u", "g = u holds for 1 row in all"),
    ],
)
def test_too_few_in_all_end_every_party_alike_before_the_second_sum(
    tmp_path: Path, changes: dict[str, Any], letters: str, said: str
) -> None:
    g = Gathering(tmp_path, changes={"formula": LEVELS, **changes})
    with_levels(g, letters)
    errors = run(errors_of(g))
    assert all(isinstance(error, DataError) for error in errors)
    assert len({str(error) for error in errors}) == 1
    assert said in str(errors[0])
    assert not g.shown
    for name in NAMES:
        assert sums_begun(g.run_folder(name)) == {None, 0}


def test_as_many_as_needed_are_answered(tmp_path: Path) -> None:
    g = Gathering(tmp_path, changes={"formula": LEVELS})
    with_levels(g, "uv" * 13 + "u" + "w" * 9)
    run(g.all(keep_journal=True))
    answers_agree(g)
    assert sums_begun(g.run_folder("north")) == {None, 0, 1, 2}
