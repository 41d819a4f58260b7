"""The view of a rehearsal is that of a run in one process with the same masks, and no more.

Two rehearsals of real processes. Their journals' keys are put into agents in this process: whatever
those send is what the journals must show.
"""

from __future__ import annotations

import csv
import shutil
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titan
from tests.cli.test_commands import titan as command
from titan.engines import local
from titan.errors import FileError, InputError, NetworkError
from titan.joint import Fold
from titan.moments import open_source
from titan.party.messages import Told
from titan.party.private_sums import first_binding
from titan.party.run import run_identity
from titan.party.signed_broadcast import Signatures
from titan.party.sum_seals import SumSeals
from titan.privacy.view import PlannedSum, Record, RecordedSum, View
from titan.protocol import Kind
from titan.protocol.masking import JournaledMasks
from titan.study import Identity, Study
from titan.study.journal import Journal
from titan_lab.privacy.reconstruction import partial_sums

NAMES = ("a", "b", "c", "d")
LINKS = "from,to\n" + "\n".join(f"{p},{q}\n{q},{p}" for p, q in ("ab", "bc", "cd")) + "\n"
FORMULA = 'y ~ x + C(group, levels=["u", "v"])'


@pytest.fixture(scope="module", params=["flood", "tree"])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A path a - b - c - d, on which b and c are dangerous alone, with 10 to 13 rows each."""
    folder = tmp_path_factory.mktemp("views")
    rows = [
        f"{name},{7 * i % 5 - 2}.{i:02},{i * i % 13},{'uv'[i % 3 == 0]}"
        for at, name in enumerate(NAMES)
        for i in range(10 + at)
    ]
    (folder / "rows.csv").write_text("\n".join(["site,y,x,group", *rows]) + "\n")
    (folder / "links.csv").write_text(LINKS)
    words: list[object] = [
        "rows.csv", "--party", "site", "--formula", FORMULA, "--network", "links.csv", "--tau", 0,
        "--recovery", request.param, "--keep-journal", "--out", "kept",
    ]  # fmt: skip
    if request.param == "tree":
        words += ["--masks", "seeded", "--solver", "c"]
    done = command("rehearse", *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "kept"


def keys_of(kept: Path, name: str) -> tuple[bytes, ...]:
    (path,) = (kept / "runs" / name).glob("*/journal.db")
    with Journal.open(path) as journal:
        return journal.mask_keys()


def identity_of(kept: Path, study: Study) -> bytes:
    (path,) = (kept / "runs" / NAMES[0]).glob("*/journal.db")
    with Journal.open(path) as journal:
        state = journal.state
        assert state is not None
        nonces = [state.nonces[name] for name in study.network.parties]
    return run_identity(bytes.fromhex(study.digest) + (1).to_bytes(4, "little"), nonces)


def sums_of(kept: Path, names: str) -> list[list[int]]:
    """Rows; AᵀA; Aᵀb and bᵀb in hundredths of y: by hand."""
    files = [(kept / "data" / f"{name}.csv").read_text() for name in names]
    rows = [row for file in files for row in csv.DictReader(file.splitlines())]
    y = [int(row["y"].replace(".", "")) for row in rows]
    x, v = [int(row["x"]) for row in rows], [int(row["group"] == "v") for row in rows]
    a = [[1] * len(rows), x, v]
    gram = [_dot(a[i], a[j]) for i in range(3) for j in range(i + 1)]
    return [[len(rows)], gram, [*(_dot(each, y) for each in a), _dot(y, y)]]


def _dot(one: list[int], other: list[int]) -> int:
    return sum(p * q for p, q in zip(one, other, strict=True))


def in_process(kept: Path) -> Record:
    """The same sums, of the same rows, with the same keys, by the local engine."""
    study = Study.load(kept / "study.toml")
    rows = [open_source(kept / "data" / f"{name}.csv") for name in NAMES]
    fold = Fold(study.meeting)
    parts = [study.meeting.prepare(each) for each in rows]
    keys = [keys_of(kept, name) for name in NAMES]
    identity = identity_of(kept, study)
    binding = first_binding(identity, study.plans)
    signers = [Signatures(study, Identity.load(kept / "keys" / f"{n}.key")) for n in NAMES]
    record: list[RecordedSum] = []
    for number, plan in enumerate(study.plans):
        secrets = [fold.secret(part) for part in parts]
        sources = iter([JournaledMasks(key[number], binding.chain) for key in keys])
        stacked = np.stack(secrets, axis=1)
        source = partial(next, sources)
        signed = [SumSeals(at, each, identity + bytes([number])) for at, each in enumerate(signers)]
        out = local.run(
            plan,
            stacked,
            binding=binding,
            source=source,
            seals=signed.__getitem__,
            record=True,
        )
        unit = Fraction(1, 1 if number else 2**6)  # the counts of 42 bits in a ring of 48
        record.append(RecordedSum(PlannedSum("", plan, unit, binding), stacked, out.envelopes))
        binding = binding.after(plan.ring, out.total)
        fold.learn(out.total)
    return Record(study.network, tuple(record))


def facts(view: View) -> list[Any]:
    return [(m.sum, m.round, m.kind, m.sender, m.receiver, m.payload) for m in view]


def test_message_for_message_that_of_a_run_in_process(kept: Path) -> None:
    record = in_process(kept)
    for size in (1, 2, 3):
        for coalition in combinations(NAMES, size):
            mine, theirs = titan.view(kept, coalition), record.view(coalition)
            assert mine.coalition == theirs.coalition
            assert facts(mine) == facts(theirs)
            assert mine.inputs.keys() == theirs.inputs.keys()
            for name in coalition:
                for x, y in zip(mine.inputs[name], theirs.inputs[name], strict=True):
                    assert x.tolist() == y.tolist()
            assert [s.fraction for s in mine.sums] == [s.fraction for s in theirs.sums]
            assert [s.binding for s in mine.sums] == [s.binding for s in theirs.sums]


def test_nothing_between_honest_parties(kept: Path) -> None:
    view = titan.view(kept, ["a"])
    assert view.network.honest_components(["a"]) == [("b", "c", "d")]
    assert {frozenset((m.sender, m.receiver)) for m in view} == {frozenset("ab")}
    assert {frozenset((n.sender, n.receiver)) for n in view.notices} == {frozenset("ab")}
    assert set(view.inputs) == {"a"}
    assert {m.sender for m in view} == {"a", "b"}, "what it sent is there, too"
    hidden = [m.payload for m in titan.view(kept, ["b", "c", "d"]) if m.kind is Kind.MASK]
    shown = [m.payload for m in view if m.kind is Kind.MASK]
    assert set(shown) < set(hidden)


def test_a_dangerous_party_reconstructs_each_side(kept: Path) -> None:
    view = titan.view(kept, ["b"])
    assert len(view.sums) == 3
    for number, planned in enumerate(view.sums):
        found = partial_sums(view, number)
        assert set(found) == {("a",), ("c", "d")}
        for group, residues in found.items():
            expected = sums_of(kept, "".join(group))[number]
            entries = [each * planned.unit for each in residues]
            assert entries[: len(expected)] == expected
            assert entries[-1] == 0, "no veto"


def test_what_was_said_around_the_sums(kept: Path) -> None:
    study = Study.load(kept / "study.toml")
    view = titan.view(kept, ["b"])
    for kind in ("NONCE", "AGREED"):
        said = [n for n in view.notices if n.kind == kind and n.receiver == "b"]
        assert {Told.decode(n.payload).origin for n in said} == {0, 2, 3}
    assert {(n.sender, n.receiver) for n in view.notices if n.kind == "END"} == {
        ("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"),
    }  # fmt: skip
    assert any(n.kind == "ANSWER" for n in view.notices) == (study.solver is not None)
    signed = [m for m in view if m.kind is Kind.MASKED]
    assert all(len(m.signatures) == 64 * len(m.origins) for m in signed)
    assert bool(signed) == (study.recovery == "flood")
    assert view.notices[0].payload.hex() not in repr(view.notices[0])


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("coalition", "message"),
    [
        (["nobody"], "nobody"),
        ([], "there is nobody in the coalition"),
        (NAMES, "every"),
    ],
)
def test_what_is_no_coalition(kept: Path, coalition: Any, message: str) -> None:
    with pytest.raises((InputError, NetworkError), match=message):
        titan.view(kept, coalition)


def test_what_is_no_rehearsal(kept: Path, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is not the folder of a rehearsal: it has no study"):
        titan.view(tmp_path, ["a"])
    copy = tmp_path / "copy"
    shutil.copytree(kept, copy)
    (journal,) = (copy / "runs" / "c").glob("*/journal.db")
    journal.unlink()
    with pytest.raises(FileError, match="has 0 journals of c, and one is expected"):
        titan.view(copy, ["a"])
    assert not journal.exists(), "looking makes none"
    shutil.rmtree(copy / "runs")
    with pytest.raises(FileError, match="it has no runs"):
        titan.view(copy, ["a"])


def test_without_its_masks_nothing_is_shown(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept, tmp_path / "copy")
    (path,) = (tmp_path / "copy" / "runs" / "d").glob("*/journal.db")
    with Journal.open(path) as journal:
        journal.erase_secrets()
    with pytest.raises(InputError, match="masks of this rehearsal were erased") as refused:
        titan.view(tmp_path / "copy", ["a"])
    assert "--keep-journal" in (refused.value.hint or "")


def test_journals_that_do_not_belong_together(kept: Path, tmp_path: Path) -> None:
    """A mask of the right size that a did not send; and one that never arrived."""
    shutil.copytree(kept, tmp_path / "copy")
    (path,) = (tmp_path / "copy" / "runs" / "b").glob("*/journal.db")
    with Journal.open(path) as journal:
        number, body = journal._one(
            "SELECT sequence, body FROM incoming WHERE peer = 'a' AND kind = 'MASK'"
        )
        place = ("incoming", "a", number, "MASK", 0, 0)
        mask = journal._opened(body, *place)
        changed = journal._sealed(mask[:-1] + bytes([mask[-1] ^ 1]), *place)
        with journal.batch():
            journal._do("UPDATE incoming SET body = ? WHERE peer = 'a' AND body = ?", changed, body)
    with pytest.raises(FileError, match="journals of a and its neighbours do not belong together"):
        titan.view(tmp_path / "copy", ["a"])
    with Journal.open(path) as journal, journal.batch():
        journal._do("DELETE FROM incoming WHERE peer = 'a' AND body = ?", changed)
    with pytest.raises(FileError, match="journals of a and b do not agree"):
        titan.view(tmp_path / "copy", ["a"])
