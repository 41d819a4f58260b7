"""Invariant: with a part a party brings what it would bring with its rows, bit for bit.

Its parts in all questions, its ledger's entries and every look at its rows are the same. A part
that does not fit (the study, the party, the ledger, the rows, the file's mode) is refused before
anything leaves; `test_part_files.py` has the file itself.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.joint.trial import COLUMNS, asking, by_party, trial
from tests.party.loopback import Gathering, answers_agree, run
from tests.study.studies import regression
from titan.errors import DataError, FileError, InputError
from titan.joint.kinds import Question
from titan.moments import open_source
from titan.moments.rows import ModelRows
from titan.party.part_file import PartFile, decode, encode, load, save
from titan.party.part_making import PartMaker
from titan.party.part_using import UsedPart
from titan.party.preparing import prepare, rows_for
from titan.party.taking_part import Party
from titan.release import Dictionary, Flag, Number
from titan.release.kept_rows import KeptRows
from titan.study import Study, digesting, spool
from titan.study.differencing import LedgerQuestion
from titan.study.ledger import Ledger
from titan.study.row_digests import RowKey

KEY = RowKey(bytes(range(32)))
TABLE = Question("describe", "table", (("columns", ("x", "z")),))
PENALTY = Question("ridge", "penalty", (("formula", "y ~ x"), ("alphas", ("1",))))


def made(
    study: Study, data: Any, *, party: str = "north", key: RowKey = KEY, asked: Any = ()
) -> PartFile:
    """As `titan prepare` makes it, written and read again."""
    maker = PartMaker(study, party, key, asked)
    maker.parts(rows_for(study, data))
    return decode(encode(maker.part()), "north.part")


def used(part: PartFile, study: Study, data: Any = None) -> UsedPart:
    return UsedPart("north.part", part, study, data is not None)


def joining(g: Gathering, name: str, part: PartFile, data: Any = None) -> Party:
    """The party with its part, as the command line makes it."""
    it = used(part, g.study, data)
    return replace(g.party(name), rows=it.rows(data), part=it)


async def ends(g: Gathering, party: Party, name: str = "north") -> dict[str, Any]:
    """How it ends for each, where one of them has a part."""

    def show(outcome: Any) -> None:
        g.shown[name] = outcome.results

    others = [each for each in g.names if each != name]
    work = [party.join(show), *(g.join(each) for each in others)]
    found = await asyncio.gather(*work, return_exceptions=True)
    return dict(zip([name, *others], found, strict=True))


# -- the same as with the rows --------------------------------------------------------------------


def without_rows(part: Any) -> Any:
    """What can be compared of a part."""
    if isinstance(part, np.ndarray):
        return part.tolist()
    changes: dict[str, Any] = {"source": None} if hasattr(part, "source") else {}
    if hasattr(part, "earlier"):
        changes["earlier"] = tuple(str(each.model) for each in part.earlier)
    return replace(part, **changes) if changes else part


def masks(entry: LedgerQuestion) -> list[bool]:
    """Whether its question uses each row."""
    pieces = entry.own.pieces
    return [bool(used) for piece in pieces for used in piece.used[entry.question].load()]


def same_as_with_rows(study: Study, data: Any, asked: Any = (), key: RowKey = KEY) -> None:
    expected, entries = prepare(study, 7, rows_for(study, data), key, asked)
    part = made(study, data, asked=asked, key=key)
    it = used(part, study)
    found, listed = it.prepare(study, 7, it.rows(None), key, asked)
    assert list(found) == list(expected)
    for name in expected:
        assert without_rows(found[name]) == without_rows(expected[name]), name
    for one, other in zip(listed, entries, strict=True):
        assert replace(one, own=other.own) == other
        assert one.rows.fingerprint == other.rows.fingerprint
        assert one.own.finer == other.own.finer
        assert one.own.uses.patterns == other.own.uses.patterns
        assert masks(one) == masks(other)
        assert {c: n.tolist() for c, n in one.rows.parts.items()} == {
            c: n.tolist() for c, n in other.rows.parts.items()
        }


def numbers(count: int = 90, seed: int = 3) -> dict[str, list[Any]]:
    rng = random.Random(seed)
    table: dict[str, list[Any]] = {
        name: [rng.randrange(99) for _ in range(count)] for name in "xzy"
    }
    table["w"] = [rng.choice([1, 2, 5]) for _ in range(count)]
    table["g"] = [rng.choice("uv") for _ in range(count)]
    table["died"] = [rng.randrange(2) for _ in range(count)]
    table["z"][7] = table["x"][11] = None
    return table


MODELS = (
    regression("y ~ x + C(g, levels=['u', 'v']) + I(x**2)", name="main"),
    regression("y ~ z", name="other", weights="w"),
    PENALTY,
    TABLE,
)


@pytest.mark.parametrize(
    ("questions", "data"),
    [
        (MODELS, numbers()),
        (MODELS[:1], numbers()),
        ((Question("average", "mean", (("columns", ("x", "y")),)),), {"x": [4], "y": [-3]}),
        ((asking(by=["arm"], grid="6", until="36"),), by_party(trial())["north"]),
    ],
)
def test_parts_and_entries_are_those_of_the_rows(
    tmp_path: Path, questions: Any, data: dict[str, list[Any]]
) -> None:
    g = Gathering(tmp_path, changes={"questions": questions, "missing": "drop", "columns": COLUMNS})
    same_as_with_rows(g.study, data)


def test_rows_in_many_pieces_that_lie_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of very many rows: read in blocks of seven, of which none is held in memory."""
    monkeypatch.setattr(digesting, "BATCH_ROWS", 7)
    monkeypatch.setattr(digesting, "_LEAST_ROWS", 1)
    monkeypatch.setattr(spool, "MOST_HELD", 0)
    g = Gathering(tmp_path, changes={"questions": MODELS, "missing": "drop", "columns": COLUMNS})
    same_as_with_rows(g.study, numbers())
    part = made(g.study, numbers())
    (source,) = part.sources
    assert len(source.own.pieces) == 13
    assert encode(part) == encode(decode(encode(part), "north.part"))
    save(part, tmp_path / "north.part")
    assert encode(load(tmp_path / "north.part")) == encode(part)


def test_earlier_questions_are_those_of_the_ledger(tmp_path: Path) -> None:
    """They are known when the part is made with the ledger, and looked at with today's."""
    g = Gathering(tmp_path)
    earlier = ["regression: y ~ x", "regression: y ~ unknown"]
    same_as_with_rows(g.study, tmp_path / "north.csv", earlier)
    part = made(g.study, tmp_path / "north.csv", asked=earlier)
    assert part.parts["q1"]["earlier"] == ["y ~ 1 + x"]


def test_a_party_with_a_part_has_everybodys_answer(tmp_path: Path) -> None:
    g = Gathering(
        tmp_path, changes={"questions": (regression("y ~ x + z", name="main"), TABLE, PENALTY)}
    )
    part = made(g.study, tmp_path / "north.csv")
    assert part.again == {}
    g.write("north", "x,z,y\n")  # its rows are elsewhere
    run(ends(g, joining(g, "north", part)))
    answers_agree(g)


def test_of_many_rows_the_part_has_few(tmp_path: Path) -> None:
    """Digests of each cell for the ledger; of the rows themselves, next to none."""
    g = Gathering(tmp_path)
    part = made(
        g.study,
        {name: numbers(5000)[name] for name in "xzy"}
        | {"z": [1, 2, 3, 4, 5] * 1000, "x": [3, 1, 4, 1] * 1250},
    )
    (source,) = part.sources
    assert {len(look["high_leverage"]) for look in source.looks.values()} == {0}
    assert len(encode(part)) < 5000 * 8 * 3 + 5000 // 8 + 20_000


# -- where the rows are needed again --------------------------------------------------------------

AGAIN = (
    regression("y ~ x", name="robust", cov_type="HC0"),
    Question("glm", "risk", (("formula", "died ~ x"), ("family", "binomial"))),
    TABLE,
)
KNOWN = Dictionary.of({"died": Flag(), "x": Number.read("0", "100", "1")})


def needing_rows(folder: Path) -> Gathering:
    g = Gathering(folder, changes={"questions": AGAIN, "columns": KNOWN})
    for seed, name in enumerate(g.names):
        table = numbers(60, seed)
        lines = zip(*(table[c] for c in ("x", "z", "y", "died")), strict=True)
        text = [",".join("5" if v is None else str(v) for v in line) for line in lines]
        g.write(name, "\n".join(["x,z,y,died", *text]) + "\n")
    return g


def test_questions_that_read_rows_again_are_named(tmp_path: Path) -> None:
    g = needing_rows(tmp_path)
    part = made(g.study, tmp_path / "north.csv")
    assert part.again == {"robust": "HC0 errors", "risk": "every step"}
    assert part.parts["risk"] is None


@pytest.mark.parametrize("questions", [AGAIN[1:2], (TABLE,)])
def test_other_rows_than_the_parts_are_refused_before_anything_leaves(
    tmp_path: Path, questions: Any
) -> None:
    g = needing_rows(tmp_path)
    g.study = replace(g.study, questions=questions)
    data = tmp_path / "north.csv"
    part = made(g.study, data)
    lines = data.read_text().splitlines()
    data.write_text("\n".join([*lines[:-1], lines[1]]) + "\n")
    with pytest.raises(DataError, match=r'changed since "north\.part" was made') as refused:
        run(joining(g, "north", part, data).join(lambda _: None))
    assert "mend the file" in refused.value.hint
    assert not g.party("north").ledger.exists(), "no study was recorded"


# -- the ledger -----------------------------------------------------------------------------------


def test_a_part_of_another_ledger_is_refused(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    with Ledger.open(tmp_path / "north.ledger") as ledger:
        key = ledger.row_key
    part = made(g.study, tmp_path / "north.csv")
    with pytest.raises(FileError, match="was made for another ledger") as refused:
        run(joining(g, "north", part).join(lambda _: None))
    assert "--ledger" in refused.value.hint
    right = used(made(g.study, tmp_path / "north.csv", key=key), g.study)
    right.prepare(g.study, 1, right.rows(None), key)


def test_a_ledger_that_went_on_since_is_noticed(tmp_path: Path) -> None:
    """Another question was answered about the same rows: what both tell must be looked at."""
    g = Gathering(tmp_path)
    data = tmp_path / "north.csv"
    with Ledger.open(tmp_path / "north.ledger") as ledger:
        ledger.record(prepare(g.study, 1, open_source(data), ledger.row_key)[1])
    more = replace(g.study, questions=(regression("y ~ x", name="less"),), title="Later")
    with Ledger.open(tmp_path / "north.ledger") as ledger:
        key, asked = ledger.row_key, ledger.asked(more.digest, 1)
    stale = made(more, data, key=key)
    it = used(stale, more)
    with pytest.raises(InputError, match="other questions on these columns than when") as refused:
        it.prepare(more, 1, it.rows(None), key, asked)
    assert "--data" in refused.value.hint
    fresh = used(made(more, data, key=key, asked=asked), more)
    parts, _ = fresh.prepare(more, 1, fresh.rows(None), key, asked)
    assert [str(each.model) for each in parts["less"].earlier] == ["y ~ 1 + x + z"]
    with_rows = used(stale, more, data)
    parts, _ = with_rows.prepare(more, 1, with_rows.rows(data), key, asked)
    assert [str(each.model) for each in parts["less"].earlier] == ["y ~ 1 + x + z"]


def test_a_column_that_the_ledger_has_met_since_is_noticed(tmp_path: Path) -> None:
    """On another grid then, so that its digests are others."""
    g = Gathering(tmp_path)
    part = made(g.study, tmp_path / "north.csv")
    coarser = {"kind": "number", "range": ["0", "1000"], "step": "10"}
    it = used(part, g.study)
    with pytest.raises(FileError, match='has met the column "x" since'):
        it.prepare(g.study, 1, it.rows(None), RowKey(KEY.secret, {"x": coarser}))


def test_nothing_reads_rows_that_are_not_there(tmp_path: Path) -> None:
    g = Gathering(tmp_path)
    it = used(made(g.study, tmp_path / "north.csv"), g.study)
    (kept,) = {*it.rows(None).values()}
    assert isinstance(kept, KeptRows)
    model = g.study.meeting.computation("q1").rows  # type: ignore[attr-defined]
    assert isinstance(model, ModelRows)
    with pytest.raises(DataError, match="what was kept of its rows is not enough"):
        kept.look(replace(model, model=type(model.model)("y ~ x")))
