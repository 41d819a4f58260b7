"""Invariant: a ledger says the same of rows in however many pieces, runs and ranges it has them.

Here these are tiny, so that a few hundred rows are many pieces and most of them lie in a file, and
what the ledger finds is compared with counting by hand, in Python's own sets and counters.
"""

from __future__ import annotations

import itertools
import pickle
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.study.digests import cells, digests
from tests.study.test_ledger import entry
from titan.errors import DamagedError, FileError
from titan.study import digest_order, ledger_rows, spool
from titan.study.differencing import LedgerQuestion
from titan.study.digest_order import PARTS, Alike, InOrder, Reader, Stretch, ranges
from titan.study.ledger import Ledger
from titan.study.matched_rows import Before, match
from titan.study.row_classes import Class, exposed_rows
from titan.study.row_digests import OwnRows, Piece, RowKey, RowSet
from titan.study.spool import Held, InFile, Spool

Row = dict[str, bytes]
QUESTIONS = ("q1", "q2", "q3")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of 7 rows, ranges of 40, pieces of 3 digests, nothing in memory."""
    monkeypatch.setattr(digest_order, "RUN_ROWS", 7)
    monkeypatch.setattr(digest_order, "RANGE_ROWS", 40)
    monkeypatch.setattr(ledger_rows, "PIECE_DIGESTS", 3)
    monkeypatch.setattr(spool, "MOST_HELD", 0)


# -- arrays and their order -----------------------------------------------------------------------


def test_what_is_kept_is_what_was_given() -> None:
    rng = np.random.default_rng(3)
    kept_in, arrays = Spool(100), [rng.integers(0, 9, n).astype(np.uint64) for n in range(20)]
    kept = [kept_in.keep(each) for each in arrays]
    assert {type(each) for each in kept} == {Held, InFile}
    for one, other in zip(kept, arrays, strict=True):
        assert np.array_equal(one.load(), other)
        assert np.array_equal(one.load(2, 5), other[2:5])
        sent = pickle.loads(pickle.dumps(one))  # noqa: S301 - our own
        assert np.array_equal(sent.load(), other)
        assert len(one) == len(other)


def test_equal_values_take_no_room_and_no_file_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    it = Spool(0)
    equal = it.keep(np.full(1000, 7))
    assert isinstance(equal, Held)
    assert equal.load().strides == (0,)
    assert isinstance(it.keep(np.arange(1000)), InFile)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_with_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(FileError, match="nowhere cannot be written: no such file") as refused:
        Spool(0).keep(np.arange(9))
    assert "TMPDIR" in refused.value.hint


def test_rows_come_in_order_whatever_the_runs(tiny: None) -> None:
    rng = random.Random(5)
    order, expected = InOrder(Spool()), Counter[tuple[int, int]]()
    for _ in range(40):
        some = [rng.randrange(30) * 0x0765_4321_0FED_CBA9 for _ in range(rng.randrange(6))]
        uses = [rng.randrange(2) for _ in some]
        expected.update(zip(some, uses, strict=True))
        order.add(Alike.single(np.array(some, np.uint64), np.array(uses, np.uint32)))
    found = list(order.all())
    assert len(found) > 2
    listed = [
        (int(d), int(u), int(n))
        for each in found
        for d, u, n in zip(each.digests, each.uses, each.counts, strict=True)
    ]
    assert listed == sorted((*pair, count) for pair, count in expected.items())
    assert order.rows == expected.total()


def test_stretches_are_read_by_ranges() -> None:
    rng = random.Random(7)
    every = np.unique(np.array([rng.getrandbits(64) for _ in range(300)], np.uint64))
    cuts = sorted(rng.sample(range(300), 40))
    stretches = [Stretch(part, np.ones(len(part), int)) for part in np.split(every, cuts)]
    for step in (1, 64, PARTS):
        reader, found = Reader(stretches), []
        for last in range(step, PARTS + 1, step):
            digests_there = reader.until(last).digests.tolist()
            assert all((last - step) << 52 <= each < last << 52 for each in digests_there)
            found += digests_there
        assert found == every.tolist()


@pytest.mark.parametrize("rows", [0, 1, 1 << 20, (1 << 20) + 1, 10**9, 1 << 34, 1 << 50])
def test_ranges_are_small_enough_and_cover_all(rows: int) -> None:
    found = list(ranges(rows))
    assert [first for first, _ in found] == [0, *(last for _, last in found)][:-1]
    assert found[-1][1] == PARTS
    assert len(found) in (PARTS, 1) or rows / len(found) <= digest_order.RANGE_ROWS
    assert rows > digest_order.RANGE_ROWS or len(found) == 1


# -- a ledger beside counting by hand -------------------------------------------------------------


def in_pieces(key: RowKey, rows: Sequence[Row], used: Mapping[str, Sequence[bool]]) -> OwnRows:
    """Rows in pieces of four, all of them in a file but for equal ones."""
    kept_in, pieces = Spool(0), []
    for start in range(0, len(rows), 4):
        some = rows[start : start + 4]
        found = {name: Held(cells((row[name] for row in some), key)) for name in rows[0]}
        masks = {q: Held(np.array(its[start : start + 4])) for q, its in used.items()}
        pieces.append(Piece(len(some), found, masks).kept(kept_in))
    return OwnRows(key, pieces)


def in_one(key: RowKey, rows: Sequence[Row], used: Mapping[str, Sequence[bool]]) -> OwnRows:
    found = {name: cells((row[name] for row in rows), key) for name in rows[0]}
    return OwnRows.of(key, found, {q: np.array(its) for q, its in used.items()})


class ByHand:
    """What was used before, as rows; finds small classes by going through them one by one."""

    def __init__(self) -> None:
        self.before: list[tuple[str, int, tuple[str, ...], Counter[tuple[bytes, ...]]]] = []

    def record(self, rows: Sequence[Row], asked: Sequence[LedgerQuestion], used: Any) -> None:
        for each in asked:
            names = tuple(sorted(each.columns))
            kept = zip(rows, used[each.question], strict=True)
            held = Counter(tuple(row[n] for n in names) for row, it in kept if it)
            self.before.append((each.study, each.minimum, names, held))

    def exposed(self, rows: Sequence[Row], asked: Sequence[LedgerQuestion], used: Any) -> set[str]:
        return {study for each in asked for study in self._by(rows, asked, used, each)}

    def _by(
        self, rows: Sequence[Row], asked: Sequence[LedgerQuestion], used: Any, mine: LedgerQuestion
    ) -> Iterator[str]:
        near = [each for each in asked if {*each.columns} & {*mine.columns}]
        sharing = [each for each in self.before if {*each[2]} & {*mine.columns}]
        needed = max([e.minimum for e in near] + [minimum for _, minimum, _, _ in sharing])
        frames: dict[tuple[str, ...], list[Any]] = {}
        for each in sharing:
            frames.setdefault(each[2], []).append(each)
        everywhere: list[tuple[str, set[int]]] = []
        for names, sets in frames.items():
            sizes, places, equal = self._frame(rows, asked, used, near, names, sets)
            classes = [Class(pattern, size) for pattern, size in sizes.items() if any(pattern)]
            small = exposed_rows(classes, needed, len(near), certain=not equal)
            yield from self._named(small, near, mine, [each[0] for each in sets])
            if not equal:
                everywhere += zip((each[0] for each in sets), places, strict=True)
        if len(frames) != 1:
            sizes = Counter()
            for at in range(len(rows)):
                today = tuple(used[e.question][at] for e in near)
                if any(today):
                    sizes[today + tuple(at in its for _, its in everywhere)] += 1
            classes = [Class(pattern, size) for pattern, size in sizes.items()]
            small = exposed_rows(classes, needed, len(near), certain=True)
            yield from self._named(small, near, mine, [study for study, _ in everywhere])

    @staticmethod
    def _frame(
        rows: Sequence[Row], asked: Any, used: Any, near: Any, names: Any, sets: Any
    ) -> tuple[Counter[tuple[bool, ...]], list[set[int]], bool]:
        """Of equal rows the most used are the first; the nth is in questions that have n."""
        patterns = [tuple(used[q][at] for q in QUESTIONS) for at in range(len(rows))]
        here = {e.question for e in asked}
        times = {at: sum(used[q][at] for q in here) for at in range(len(rows))}
        order = sorted((at for at in times if times[at]), key=lambda a: (-times[a], patterns[a]))
        number: Counter[tuple[bytes, ...]] = Counter()
        sizes, places = Counter[tuple[bool, ...]](), [set[int]() for _ in sets]
        for at in order:
            value = tuple(rows[at][name] for name in names)
            number[value] += 1
            held = [its[value] >= number[value] for *_, its in sets]
            for place, it in zip(places, held, strict=True):
                place |= {at} if it else set()
            sizes[(*(used[e.question][at] for e in near), *held)] += 1
        for value in set().union(*(its for *_, its in sets)):
            for n in range(number[value] + 1, max(its[value] for *_, its in sets) + 1):
                sizes[(*(False for _ in near), *(its[value] >= n for *_, its in sets))] += 1
        counters = [number, *(its for *_, its in sets)]
        return sizes, places, any(n > 1 for its in counters for n in its.values())

    @staticmethod
    def _named(
        small: Sequence[Class],
        near: Sequence[LedgerQuestion],
        mine: LedgerQuestion,
        studies: Sequence[str],
    ) -> Iterator[str]:
        for each in small:
            pairs = zip(studies, each.pattern[len(near) :], strict=True)
            others = [study for study, it in pairs if it != each.pattern[near.index(mine)]]
            yield from others or [mine.study]


def some_study(rng: random.Random, people: Sequence[Row], number: int) -> tuple[Any, Any]:
    """Some of the people, with gaps, and the columns of one to three questions."""
    size = rng.choice([len(people), len(people) - 2, rng.randrange(10, len(people))])
    rows = rng.sample(list(people), size)
    used = {}
    for question in QUESTIONS:
        gaps = rng.choice([0, 0, 0, 1, 20])
        used[question] = [at >= gaps for at in rng.sample(range(size), size)]
    asked = [
        (question, rng.sample(list(people[0]), rng.randrange(1, 4)))
        for question in QUESTIONS[: rng.randrange(1, 4)]
    ]
    return (rows, used), asked


@pytest.mark.parametrize("seed", range(12))
def test_conflicts_are_those_of_counting_by_hand(tiny: None, tmp_path: Path, seed: int) -> None:
    """Columns of few values, of many, and of one for each person."""
    rng = random.Random(seed)
    people = [
        {
            "sex": b"%d" % (n % 2),
            "age": b"%d" % rng.randrange(40),
            "id": b"%d" % n,
            "y": b"y%d" % n,
        }
        for n in range(60)
    ]
    by_hand = ByHand()
    with Ledger.open(tmp_path / "ledger") as ledger:
        for number in range(6):
            (rows, used), asked = some_study(rng, people, number)
            found = {}
            for make in (in_pieces, in_one):
                own = make(ledger.row_key, rows, used)
                entries = [
                    entry(ledger, own=own, columns=columns, study=f"{number:064}",
                          question=question, model=question, minimum=3)
                    for question, columns in asked
                ]  # fmt: skip
                conflicts = ledger.check(entries)
                found[make] = {c.study for c in conflicts if c.reason == "rows"}
            assert found[in_pieces] == found[in_one]
            assert found[in_pieces] == by_hand.exposed(rows, entries, used)
            ledger.record(entries, allow_differencing=True)
            by_hand.record(rows, entries, used)


def test_by_hand_something_is_found_and_something_not(tmp_path: Path, tiny: None) -> None:
    """The comparison above compares something."""
    outcomes = Counter[bool]()
    for seed in range(4):
        rng = random.Random(seed)
        people = [{"id": b"%d" % n, "age": b"%d" % (n % 40)} for n in range(60)]
        by_hand = ByHand()
        with Ledger.open(tmp_path / f"{seed}") as ledger:
            for number in range(4):
                rows = people[rng.choice([0, 0, 1, 20]) :]
                used = {q: [True] * len(rows) for q in QUESTIONS}
                own = in_pieces(ledger.row_key, rows, used)
                it = entry(ledger, own=own, columns=["id"], study=f"{number:064}", minimum=3)
                outcomes[bool(by_hand.exposed(rows, [it], used))] += 1
                by_hand.record(rows, [it], used)
    assert outcomes[True] > 2 < outcomes[False]


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
def test_of_equal_rows_the_most_used_are_those_of_before(order: list[int]) -> None:
    """Whichever comes first in the file: one was used before, and it is the one of all three."""
    uses = [(True, False, False), (True, True, False), (True, True, True)]
    used = {q: [uses[at][n] for at in order] for n, q in enumerate(QUESTIONS)}
    own = in_one(RowKey(b"k" * 32), [{"x": b"1"}] * 3, used)
    (stretch,) = RowSet.of(own, "q3", ["x"]).stretches()
    before = Before(1, 1, lambda: iter([stretch]), dict)
    found = match(own, QUESTIONS, (("x", "x"),), [before])
    counted = {(own.uses.patterns[k.use], k.earlier): n for k, n in found.sizes.items()}
    assert counted == {(each, (each == (True, True, True),)): 1 for each in uses}
    assert found.equal_today


def test_rows_are_stored_in_pieces_and_read_again(tiny: None, ledger: Ledger) -> None:
    rows = [{"x": b"%d" % (n % 40)} for n in range(50)]
    own = in_pieces(ledger.row_key, rows, {"q1": [n > 4 for n in range(50)]})
    it = entry(ledger, own=own, columns=["x"])
    ledger.record([it])
    (count,) = ledger._one("SELECT count(*) FROM row_pieces")
    assert count >= 13
    stretches = list(ledger._stretches(1))
    assert max(len(each.digests) for each in stretches) <= 3
    stored = [int(d) for s in stretches for d, n in zip(*s, strict=True) for _ in range(n)]
    assert stored == digests(it.rows) == sorted(stored)
    assert len(stored) == len(it.rows) == 45
    assert ledger.has_rows_of(it)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM row_pieces WHERE place = 4",
        "DELETE FROM row_pieces WHERE place = (SELECT max(place) FROM row_pieces)",
        "DELETE FROM row_pieces",
        "UPDATE row_pieces SET counts = NULL",
        "UPDATE row_pieces SET counts = zeroblob(length(digests))",
        "UPDATE row_pieces SET counts = zeroblob(7)",
        "UPDATE row_pieces SET digests = zeroblob(16) WHERE place = 2",
        "UPDATE row_pieces SET digests = zeroblob(length(digests)) WHERE place = 2",
        "UPDATE row_pieces SET place = 99 - place",
        "UPDATE row_sets SET rows = rows - 1",
        "INSERT INTO row_pieces SELECT row_set, place + 100, digests, counts FROM row_pieces "
        "WHERE place = 0; UPDATE row_pieces SET place = (SELECT count(*) - 1 FROM row_pieces) "
        "WHERE place = 100",
    ],
)
def test_a_piece_that_is_lost_or_another_is_noticed(
    tiny: None, ledger: Ledger, damage: str
) -> None:
    rows = [{"x": b"%d" % (n % 20)} for n in range(30)]
    own = in_pieces(ledger.row_key, rows, {"q1": [True] * 30})
    ledger.record([entry(ledger, own=own, columns=["x"])])
    for statement in damage.split("; "):
        ledger._do(statement)
    with pytest.raises(DamagedError, match="it is damaged"):
        ledger.check([entry(ledger, own=own, columns=["x"], study="cd" * 32)])


def test_a_withdrawn_run_leaves_no_piece(tiny: None, ledger: Ledger) -> None:
    own = in_pieces(ledger.row_key, [{"x": b"%d" % n} for n in range(30)], {"q1": [True] * 30})
    ledger.record([entry(ledger, own=own, columns=["x"])], nonce=b"one")
    ledger.withdraw("ab" * 32, 1, b"one")
    for table in ("row_sets", "row_pieces", "parts"):
        assert ledger._one(f"SELECT count(*) FROM {table}") == (0,), table  # noqa: S608


def test_what_fails_in_the_middle_leaves_nothing(
    tiny: None, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pieces are written in the transaction that found no conflict, or not at all."""
    own = in_pieces(ledger.row_key, [{"x": b"%d" % n} for n in range(30)], {"q1": [True] * 30})
    whole = ledger_rows._bytes
    left = itertools.count()

    def fails(piece: Stretch) -> Any:
        if next(left) == 5:
            raise OSError("gone")
        return whole(piece)

    monkeypatch.setattr(ledger_rows, "_bytes", fails)
    with pytest.raises(FileError):
        ledger.record([entry(ledger, own=own, columns=["x"])])
    for table in ("runs", "entries", "row_sets", "row_pieces"):
        assert ledger._one(f"SELECT count(*) FROM {table}") == (0,), table  # noqa: S608
