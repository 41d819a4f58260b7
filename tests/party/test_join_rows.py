"""What rows `join` takes: ranges and weights are those of the study, at both ends, for all."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import titan
from tests.party.loopback import NAMES, Gathering, rows, run
from titan.errors import DataError, ReleaseError, VetoError
from titan.study.audit import JOURNAL

RANGES = {"x": ("0", "998"), "z": ("0", "998"), "y": ("-5", "1000")}


def gathered(folder: Path, **changes: Any) -> Gathering:
    return Gathering(folder, changes={"ranges": RANGES} | changes)


def with_cell(g: Gathering, name: str, column: int, value: str) -> None:
    header, first, *rest = rows(name).splitlines()
    cells = first.split(",")
    cells[column] = value
    g.write(name, "\n".join([header, ",".join(cells), *rest]) + "\n")


@pytest.mark.parametrize(
    ("column", "value"), [(0, "-1"), (0, "999"), (1, "999"), (2, "-6"), (2, "1001"), (2, "-5.51")]
)
def test_a_value_outside_its_range_is_a_veto_for_a_reason_that_stays_at_home(
    tmp_path: Path, column: int, value: str
) -> None:
    g = gathered(tmp_path)
    with_cell(g, "east", column, value)
    found = run(g.ends())
    own = found["east"]
    assert isinstance(own, ReleaseError)
    assert own.rule == "range"
    assert f'"{"xzy"[column]}"' in own.message or f"'{'xzy'[column]}'" in own.message
    assert value not in own.message, "no cell in an error"
    for name in ("north", "south"):
        assert type(found[name]) is VetoError
        assert "range" not in str(found[name])
        assert "east" not in str(found[name])
    assert not g.shown


@pytest.mark.parametrize(("column", "value"), [(0, "0"), (0, "998"), (2, "-5"), (2, "1000")])
def test_the_ends_of_a_range_are_in_it(tmp_path: Path, column: int, value: str) -> None:
    g = gathered(tmp_path)
    with_cell(g, "east", column, value)
    run(g.all())
    assert len(g.shown) == 3


def weighted(g: Gathering, name: str, first: str) -> None:
    g.write(name, rows(name))
    g.add_column(name, "w", [first, *(1 + at % 4 for at in range(1, 12))])


def test_weights_are_those_of_the_rows(tmp_path: Path) -> None:
    g = gathered(tmp_path, weights="w", ranges=RANGES | {"w": ("0", "9")})
    for name in NAMES:
        weighted(g, name, "2")
    run(g.all())
    data = {name: tmp_path / f"{name}.csv" for name in NAMES}
    expected = titan.fit(data, g.study.network, formula="y ~ x + z", weights="w").to_dict()
    plain = titan.fit(data, g.study.network, formula="y ~ x + z").to_dict()
    for name in NAMES:
        shown = g.shown[name].to_dict()
        assert shown["params"] == pytest.approx(expected["params"], rel=1e-12)
        assert shown["params"] != pytest.approx(plain["params"], rel=1e-3)


def test_a_negative_weight_outside_the_range_is_a_veto(tmp_path: Path) -> None:
    g = gathered(tmp_path, weights="w", ranges=RANGES | {"w": ("0", "9")})
    for name in NAMES:
        weighted(g, name, "-1" if name == "east" else "2")
    found = run(g.ends())
    assert isinstance(found["east"], ReleaseError)
    assert found["east"].rule == "range"
    assert all(type(found[name]) is VetoError for name in ("north", "south"))


def test_a_negative_weight_is_the_owner_s_mistake_and_nothing_leaves(tmp_path: Path) -> None:
    """Also where the range would allow it: it can be mended, and the run has not begun."""
    g = gathered(tmp_path, weights="w", ranges=RANGES | {"w": ("-9", "9")})
    for name in NAMES:
        weighted(g, name, "-1" if name == "east" else "2")

    async def story() -> None:
        others = [g.joining(name) for name in ("north", "south")]
        with pytest.raises(DataError, match='column "w": a negative weight') as refused:
            await g.join("east")
        assert not isinstance(refused.value, ReleaseError)
        assert "-1" not in str(refused.value)
        assert not (g.folder / "east.ledger").exists()
        assert not any(other.done() for other in others), "they are told nothing, and wait"
        weighted(g, "east", "2")
        await asyncio.gather(g.join("east"), *others)

    run(story())
    assert len(g.shown) == 3
    assert (g.run_folder("east") / JOURNAL).exists()
