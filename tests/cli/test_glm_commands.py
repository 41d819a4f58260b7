"""titan fit --family: the same numbers as the library, and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

import titan as library

from .test_commands import answer, titan

FILES = ("north.csv", "east.csv", "south.csv")


@pytest.fixture
def parties(tmp_path: Path) -> Path:
    for at, name in enumerate(FILES):
        rows = [f"{n % 7},{int((n * n + at) % 5 < 2 + (n % 7 > 3))},{n + 1}" for n in range(40)]
        (tmp_path / name).write_text("\n".join(["x,d,days", *rows]) + "\n")
    return tmp_path


def test_it_is_the_library_s_answer(parties: Path) -> None:
    words = ["--formula", "d ~ x", "--family", "binomial"]
    out = answer("fit", *FILES, *words, "--tau", 1, cwd=parties)
    tables = [str(parties / name) for name in FILES]
    theirs = library.glm(tables, "cycle", formula="d ~ x", tau=1)
    assert out["params"] == dict(theirs.params)
    assert out["family"] == "binomial"
    assert out["iterations"] == theirs.iterations
    assert list(out["error_bound"]) == ["Intercept", "x"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--alpha", "1"], "--alpha needs --family"),
        (["--family", "gaussian"], "family is 'gaussian'"),
        (["--family", "binomial", "--ridge", "1"], "--ridge"),
        (["--family", "binomial", "--precision", "fine"], "--precision"),
        (["--family", "binomial", "--offset", "o", "--exposure", "days"], "exposure"),
    ],
)
def test_what_does_not_fit_together(parties: Path, words: list[str], said: str) -> None:
    done = titan("fit", "north.csv", "--formula", "d ~ x", *words, cwd=parties)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr
