"""titan demo --view: a picture of a real run, in which noise is all that was seen of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_commands import titan
from titan_lab.cli.demo import _run as run_demo
from titan_lab.cli.demo_view import masked_vectors, sight
from titan_lab.pictures.heatmaps import Sight

PNG, SVG = b"\x89PNG", b"<?xml"


def test_bare_it_writes_a_picture_here_and_says_so(tmp_path: Path) -> None:
    done = titan("demo", "--view", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    file = tmp_path / "titan-view.png"
    assert file.read_bytes().startswith(PNG)
    assert "The picture is in titan-view.png" in done.stdout
    assert "8 messages received, 8 sent" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    again = titan("demo", "--view", cwd=tmp_path)
    assert again.returncode == 1
    assert "--force" in again.stderr


def test_another_file_and_json(tmp_path: Path) -> None:
    file = tmp_path / "view.svg"
    done = titan("demo", "--out", file, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["picture"] == str(file)
    assert file.read_bytes().startswith(SVG)


@pytest.mark.parametrize(
    ("name", "said", "status"),
    [
        ("no/view.png", "no directory", 1),
        ("view.nonsense", ".png or .svg", 2),
        (".", "is a directory", 1),
    ],
)
def test_a_place_that_cannot_be_written(name: str, said: str, status: int, tmp_path: Path) -> None:
    done = titan("demo", "--view", "--out", name, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_error_says_what_to_install(tmp_path: Path) -> None:
    done = titan("demo", "--view", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "titan-consensus[plot]" in done.stderr
    assert titan("demo", cwd=tmp_path).returncode == 0, "all else needs no pictures"


@pytest.fixture(scope="module")
def shown() -> Any:
    return run_demo()


@pytest.fixture(scope="module")
def seen(shown: Any) -> Sight:
    return sight(shown.view, shown.moments, shown.model.names)


def test_above_are_the_hospitals_own_sums(shown: Any, seen: Sight) -> None:
    assert seen.parts[0].party == seen.curious == "Budapest"
    for part in seen.parts:
        assert part.private.shape == part.masked.shape == (9, 10)
        assert part.private[0, 0] == shown.moments[part.party].rows
        assert np.array_equal(part.private[:, :9], part.private[:, :9].T)


def test_both_rows_add_up_to_what_all_learn(seen: Sight) -> None:
    """`pooled` is made of the masked vectors alone; the private matrices give the same."""
    private = sum(part.private for part in seen.parts)
    np.testing.assert_allclose(seen.pooled, private, rtol=1e-13)
    assert seen.pooled[0, 0] == 854


def test_what_was_seen_is_spread_over_the_ring_and_new_in_every_run(
    shown: Any, seen: Sight
) -> None:
    """Where the matrices have zeros and equal entries, too: no place shows what is in it."""
    for part in seen.parts:
        residues = np.append(np.triu(part.masked[:, :9])[np.triu_indices(9)], part.masked[:, 9])
        assert len(set(residues)) == residues.size == 54
        assert residues.min() < 0.5
        assert residues.max() > 0.5
        assert 0.25 < residues.mean() < 0.75  # six standard deviations of a uniform mean
    again = run_demo()
    for at in (0, 1):
        before, now = masked_vectors(shown.view, at), masked_vectors(again.view, at)
        assert all(x != y for p in before for x, y in zip(before[p], now[p], strict=True))


def test_nothing_secret_is_printed(seen: Sight) -> None:
    assert "array" not in repr(seen)
