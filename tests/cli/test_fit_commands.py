"""titan fit, solve and moments: the same answers as the library, and no traceback."""

from __future__ import annotations

import json
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import titan as library
from titan import Network
from titan_lab import datasets

from .test_commands import answer, titan

HEART = datasets.path("heart_disease")
FORMULA = "thalach ~ age + sex"
FILES = ["north.csv", "east.csv", "south.csv"]


@pytest.fixture
def parties(tmp_path: Path) -> Path:
    """The first 30 rows of the heart data, ten for each of three parties."""
    header, *rows = HEART.read_text().splitlines()[:31]
    for at, name in enumerate(FILES):
        (tmp_path / name).write_text("\n".join([header, *rows[10 * at : 10 * at + 10]]) + "\n")
    (tmp_path / "all.csv").write_text("\n".join([header, *rows]) + "\n")
    return tmp_path


def close(a: dict[str, float], b: dict[str, float]) -> bool:
    return a == pytest.approx(b, rel=1e-13)


# -- fit --------------------------------------------------------------------------------------


def test_fit_has_the_agreed_keys_and_equals_the_fit_of_all_rows(parties: Path) -> None:
    words = ["fit", *FILES, "--formula", FORMULA, "--network", "cycle", "--tau", 1]
    out = answer(*words, "--save", "fit.json", cwd=parties)
    alone = answer("fit", "all.csv", "--formula", FORMULA, cwd=parties)
    for key in ("params", "bse", "error_bound"):
        assert list(out[key]) == ["Intercept", "age", "sex"]
    assert close(out["params"], alone["params"])
    assert close(out["bse"], alone["bse"])
    assert out["rsquared"] == pytest.approx(alone["rsquared"], rel=1e-14)
    assert out["nobs"] == 30
    assert out["parties"] == ["north", "east", "south"]
    assert set(out["cost"]["bytes_sent"]) == set(out["parties"])
    assert alone["cost"] is None
    assert json.loads((parties / "fit.json").read_text()) == out
    assert sorted(path.name for path in parties.glob(".*")) == [], "nothing is left beside it"


def test_fit_of_one_file_divided_by_a_column() -> None:
    reference = datasets.facts("heart_disease")
    formula = "thalach ~ " + " + ".join(reference["predictors"])
    out = answer("fit", HEART, "--party", "hospital", "--formula", formula, "--tau", 1)
    assert out["parties"] == ["Cleveland Clinic", "Budapest", "Zurich-Basel", "VA Long Beach"]
    for name, text in reference["exact_fit"]["params"].items():
        error = abs(Fraction(out["params"][name]) - Fraction(text))
        assert error <= Fraction(out["error_bound"][name]) + Fraction(1, 10**27)  # 30 digits


def test_options_reach_the_library(parties: Path) -> None:
    words = ["--response", "thalach", "--columns", "age, oldpeak", "--no-intercept"]
    choices = ["--recovery", "tree", "--bits", 192, "--masks", "seeded", "--engine", "vectorised"]
    out = answer("fit", *FILES, *words, *choices, "--weights", "trestbps", cwd=parties)
    assert list(out["params"]) == ["age", "oldpeak"]
    expected = library.fit(
        [parties / name for name in FILES],
        Network.cycle(["north", "east", "south"]),
        formula="thalach ~ age + oldpeak - 1",
        weights="trestbps",
        recovery="tree",
        bits=192,
        masks="seeded",
        engine="vectorised",
    )
    assert out["params"] == dict(expected.params)
    assert out["cost"] == expected.cost.as_dict()
    topk = ["--recovery", "topk", "-k", 3, "--rounds", 4]
    assert answer("fit", *FILES, *words, *topk, cwd=parties)["cost"]["recovery_rounds"] == 2 * 4


def test_fit_as_text_says_what_was_learned(parties: Path) -> None:
    done = titan("fit", *FILES, "--formula", FORMULA, "--tau", 1, cwd=parties)
    assert "OLS Regression Results" in done.stdout
    assert "pooled AᵀA (3×3), Aᵀb, bᵀb, 30 rows; nothing else." in done.stdout
    assert "Cost: 3 parties," in done.stdout
    assert done.stderr == "", "no progress bar in a pipe"
    two = titan("fit", *FILES[:2], "--formula", FORMULA, cwd=parties).stdout
    assert "nothing else" not in two
    assert "each can subtract its own" in " ".join(two.split())
    (parties / "path.csv").write_text("from,to\nnorth,east\neast,north\neast,south\nsouth,east\n")
    path = titan("fit", *FILES, "--formula", FORMULA, "--network", "path.csv", cwd=parties).stdout
    assert "nothing else" not in path
    assert "nothing sent" in titan("fit", "all.csv", "--formula", FORMULA, cwd=parties).stdout


def test_an_exact_fit_has_null_for_infinity(tmp_path: Path) -> None:
    (tmp_path / "line.csv").write_text("x,y\n1,3\n2,5\n3,7\n4,9\n")
    out = answer("fit", "line.csv", "--formula", "y ~ x", cwd=tmp_path)
    assert out["params"] == {"Intercept": 1, "x": 2}
    assert out["fvalue"] is None
    assert out["tvalues"]["x"] is None


def test_missing_values_are_refused_or_dropped(parties: Path) -> None:
    with (parties / "all.csv").open("a") as file:
        file.write("Nowhere,NA,50,1,120,0,0,0,0,0\n")
    done = titan("fit", "all.csv", "--formula", FORMULA, cwd=parties)
    assert '1 missing in "thalach"' in done.stderr
    words = ["fit", "all.csv", "--formula", FORMULA, "--missing", "drop"]
    assert answer(*words, cwd=parties)["nobs"] == 30


# -- moments ----------------------------------------------------------------------------------


def of_moments(found: dict[str, Any], *, likelihood: bool = True) -> dict[str, Any]:
    """What moments can tell, too: not how rows became them."""
    unknown = {"formula", "dropped"} | (set() if likelihood else {"llf", "aic", "bic"})
    return {key: v for key, v in found.items() if key.removesuffix("_error") not in unknown}


def test_moments_are_saved_for_their_owner_and_fit_takes_them(parties: Path) -> None:
    made = answer("moments", "all.csv", "--formula", FORMULA, cwd=parties)
    assert made == {
        "names": ["Intercept", "age", "sex", "thalach"],
        "response": "thalach",
        "rows": 30,
        "dropped": 0,
        "files": {"all.csv": 30},
        "out": "all.moments",
    }
    assert stat.S_IMODE((parties / "all.moments").stat().st_mode) == 0o600
    rows = answer("fit", "all.csv", "--formula", FORMULA, cwd=parties)
    assert of_moments(answer("fit", "all.moments", cwd=parties)) == of_moments(rows)
    smaller = ["--formula", "thalach ~ age"]
    selected = answer("fit", "all.moments", *smaller, cwd=parties)
    assert of_moments(selected) == of_moments(answer("fit", "all.csv", *smaller, cwd=parties))


def test_no_row_becomes_the_names_of_saved_moments(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("76.83,53\n70,40\n60,41\n")
    done = titan("moments", "rows.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "line 1 looks like data" in done.stderr
    assert "76.83" not in done.stderr
    assert not (tmp_path / "rows.moments").exists()


def test_moments_of_several_files_add(parties: Path) -> None:
    answer("moments", "all.csv", "--formula", FORMULA, cwd=parties)
    answer("moments", "north.csv", "--formula", FORMULA, cwd=parties)
    words = ["north.moments", "east.csv", "south.csv", "--formula", FORMULA, "--out", "sum.moments"]
    assert answer("moments", *words, cwd=parties)["rows"] == 30
    sum_, all_ = (library_moments(parties / f"{name}.moments") for name in ("sum", "all"))
    assert sum_ == all_


def library_moments(path: Path) -> Any:
    from titan.moments import Moments

    return Moments.load(path)


def test_moments_and_rows_pool_together(parties: Path) -> None:
    for name in ("north.csv", "east.csv", "south.csv"):
        titan("moments", name, "--formula", FORMULA, cwd=parties)
    rows = answer("fit", *FILES, "--formula", FORMULA, cwd=parties)
    made = [name.replace(".csv", ".moments") for name in FILES]
    assert of_moments(answer("fit", *made, cwd=parties)) == of_moments(rows)
    mixed = answer("fit", made[0], *FILES[1:], "--formula", FORMULA, cwd=parties)
    assert of_moments(mixed) == of_moments(rows)


def test_columns_are_centred_from_rows_and_from_moments(parties: Path) -> None:
    """`titan moments` sums x itself, so that `titan fit` can centre it."""
    formula = "thalach ~ center(age)*sex"
    for name in FILES:
        titan("moments", name, "--formula", "thalach ~ age*sex", cwd=parties)
    rows = answer("fit", *FILES, "--formula", formula, "--allow-small", cwd=parties)
    made = [name.replace(".csv", ".moments") for name in FILES]
    again = answer("fit", *made, "--formula", formula, "--allow-small", cwd=parties)
    alone = answer("fit", "all.csv", "--formula", formula, cwd=parties)
    assert list(rows["params"]) == ["Intercept", "center(age)", "sex", "center(age):sex"]
    assert close(rows["params"], alone["params"])
    assert close(rows["params"], again["params"])
    assert rows["centres"] == again["centres"] == alone["centres"]
    refused = titan("moments", "all.csv", "--formula", formula, cwd=parties)
    assert refused.returncode == 2
    assert "titan: hint: write I(age - 50)" in refused.stderr


def test_moments_as_text_shows_no_moment(parties: Path) -> None:
    done = titan("moments", "all.csv", "--formula", FORMULA, cwd=parties)
    moments = library_moments(parties / "all.moments")
    assert done.returncode == 0
    assert ["all.csv", "30", "0"] in [line.split() for line in done.stdout.splitlines()]
    assert "thalach on Intercept, age, sex" in done.stdout
    assert str(moments.integer(1, 1)) not in done.stdout
    assert titan("moments", *FILES, "--formula", FORMULA, cwd=parties).returncode == 2


@pytest.mark.parametrize("kind", ["HC0", "cluster"])
def test_robust_errors(parties: Path, kind: str) -> None:
    words = ["fit", *FILES, "--formula", FORMULA, "--cov-type", kind]
    plain, robust = answer(*words[:-1], "nonrobust", cwd=parties), answer(*words, cwd=parties)
    assert robust["params"] == plain["params"]
    assert robust["bse"] != plain["bse"]
    assert robust["cov_type"] == kind
    assert robust["cost"]["rounds"] > plain["cost"]["rounds"]
    assert kind in titan(*words, cwd=parties).stdout
    titan("moments", "all.csv", "--formula", FORMULA, cwd=parties)
    refused = titan("fit", "all.moments", "--cov-type", "HC0", cwd=parties)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "needs rows" in refused.stderr


def test_moments_remember_their_weights_and_their_constant(parties: Path) -> None:
    words = ["--formula", FORMULA, "--weights", "trestbps"]
    titan("moments", "all.csv", *words, cwd=parties)
    rows = of_moments(answer("fit", "all.csv", *words, cwd=parties), likelihood=False)
    for more in (words, []):
        moments = answer("fit", "all.moments", *more, cwd=parties)
        assert moments["llf"] is None, "that needs the sum of the logarithms of weights"
        assert of_moments(moments, likelihood=False) == rows
    refused = titan("fit", "all.moments", "--formula", FORMULA, cwd=parties)
    assert refused.returncode == 1
    assert "made with weights trestbps" in refused.stderr
    levels = ["--formula", "thalach ~ 0 + C(sex, levels=[0, 1])"]
    titan("moments", "all.csv", *levels, "--out", "sex.moments", cwd=parties)
    assert of_moments(answer("fit", "sex.moments", cwd=parties)) == of_moments(
        answer("fit", "all.csv", *levels, cwd=parties)
    )


def test_one_party_solves_for_all(parties: Path) -> None:
    words = ["fit", *FILES, "--formula", FORMULA]
    everyone, one = answer(*words, cwd=parties), answer(*words, "--solver", "east", cwd=parties)
    assert one["cost"]["messages"] > everyone["cost"]["messages"]
    assert {**one, "cost": None} == {**everyone, "cost": None}
    for name in ("a", "b", "c"):
        (parties / f"{name}.csv").write_text(f"1,{ord(name)},2\n1,3,{ord(name)}\n")
    solve = ["solve", "a.csv", "b.csv", "c.csv", "--allow-small"]
    everyone, one = answer(*solve, cwd=parties), answer(*solve, "--solver", "c", cwd=parties)
    assert one["x"] == everyone["x"]
    assert one["cost"]["messages"] > everyone["cost"]["messages"]
    for command in (words, solve):
        refused = titan(*command, "--solver", "nobody", cwd=parties)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "nobody" in refused.stderr


def test_moments_without_a_model_leave_the_choice_to_fit(parties: Path) -> None:
    numbers = "a,b,y\n" + "".join(f"{i},{i * i % 7},{3 * i % 5}\n" for i in range(12))
    (parties / "numbers.csv").write_text(numbers)
    made = answer("moments", "numbers.csv", cwd=parties)
    assert made["names"] == ["Intercept", "a", "b", "y"]
    chosen = ["--response", "b", "--columns", "y"]
    assert of_moments(answer("fit", "numbers.moments", *chosen, cwd=parties)) == of_moments(
        answer("fit", "numbers.csv", *chosen, cwd=parties)
    )
    done = titan("moments", "all.csv", "--out", "text.moments", cwd=parties)
    assert done.returncode == 1
    assert "all.csv" in done.stderr


def test_ridge_where_ordinary_least_squares_fails(parties: Path) -> None:
    formula = "thalach ~ age + I(2*age)"
    failed = titan("fit", *FILES, "--formula", formula, cwd=parties)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "ridge" in failed.stderr
    words = ["fit", *FILES, "--formula", formula, "--ridge", "1.5"]
    together = answer(*words, cwd=parties)
    alone = answer("fit", "all.csv", *words[4:], cwd=parties)
    assert together["alpha"] == 1.5
    assert together["params"]["I(2 * age)"] == pytest.approx(2 * together["params"]["age"])
    assert together["params"] == pytest.approx(alone["params"], rel=1e-14)
    assert together["cost"]["rounds"] > 0
    assert "ridge, alpha 1.5" in titan(*words, cwd=parties).stdout


@pytest.mark.parametrize("command", ["fit all.csv --save", "moments all.csv --out"])
def test_inputs_are_never_written_over(parties: Path, command: str) -> None:
    before = (parties / "all.csv").read_bytes()
    for target in ("all.csv", str(parties / "all.csv"), "./all.csv"):
        done = titan(*command.split(), target, "--formula", FORMULA, cwd=parties)
        assert (done.returncode, done.stdout) == (2, "")
        assert "is one of the inputs" in done.stderr
        assert (parties / "all.csv").read_bytes() == before


# -- solve ------------------------------------------------------------------------------------


def test_solve_with_and_without_names(tmp_path: Path) -> None:
    rows = ["1,1,0.3", "1,2,0.5", "1,1,0.4", "1,5,1.1", "1,7,1.4", "1,7,1.6"]
    for at, name in enumerate("abc"):
        (tmp_path / f"{name}.csv").write_text("\n".join(rows[2 * at : 2 * at + 2]) + "\n")
        (tmp_path / f"{name}.named.csv").write_text(
            "one,t,y\n" + "\n".join(rows[2 * at : 2 * at + 2]) + "\n"
        )
    words = ["solve", "a.csv", "b.csv", "c.csv", "--tau", 1, "--allow-small"]
    out = answer(*words, cwd=tmp_path)
    # Σt = 23, Σt² = 129, Σy = 5.3, Σty = 28.2, 6 rows: y = 35.1/245 + 47.3/245 t
    assert out["x"] == pytest.approx({"x1": 35.1 / 245, "x2": 47.3 / 245}, rel=1e-15)
    assert max(out["error_bound"].values()) < 1e-16
    assert min(out["digits"].values()) > 30
    assert out["rows"] == 6
    assert out["cost"]["messages"] > 0
    files = ["a.named.csv", "b.named.csv", "c.named.csv", "--allow-small"]
    named = answer("solve", *files, "--response", "y", cwd=tmp_path)
    assert list(named["x"]) == ["one", "t"]
    assert list(named["x"].values()) == list(out["x"].values())
    swapped = answer("solve", *files, "--response", "one", cwd=tmp_path)
    assert list(swapped["x"]) == ["t", "y"]
    text = titan(*words, cwd=tmp_path).stdout
    assert "proven within" in text
    assert "pooled AᵀA (2×2), Aᵀb, 6 rows; nothing else." in text


def test_solve_takes_numbers_as_names_when_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1950,1960,1970\n1,2,4\n3,5,8\n2,2,1\n")
    assert answer("solve", "a.csv", cwd=tmp_path)["rows"] == 4
    out = answer("solve", "a.csv", "--header", cwd=tmp_path)
    assert (out["rows"], list(out["x"]), out["cost"]) == (3, ["1950", "1960"], None)


# -- too few rows -----------------------------------------------------------------------------


def test_too_few_rows_are_refused_unless_allowed(parties: Path) -> None:
    header, *rows = (parties / "east.csv").read_text().splitlines()
    (parties / "east.csv").write_text("\n".join([header, *rows[:9]]) + "\n")
    words = ["fit", *FILES, "--formula", FORMULA]
    for more in ([], ["--ridge", 1], ["--engine", "vectorised"], ["--cov-type", "HC0"]):
        done = titan(*words, *more, "--save", "fit.json", cwd=parties)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == (
            "titan: error: 'east' has 9 rows, and a party needs at least 10\n"
            "titan: hint: use more rows, or --allow-small if all parties agree to what so few "
            "give away\n"
        )
        assert not (parties / "fit.json").exists()
        assert answer(*words, *more, "--allow-small", cwd=parties)["nobs"] == 29


def test_too_many_parameters_are_refused_unless_allowed(parties: Path) -> None:
    eleven = "thalach ~ age + poly(chol, 9, raw=True)"
    for at, name in enumerate(FILES):
        lines = [f"{i * i % 17 + at},{i + 11 * at},{(7 * i + at) % 13}" for i in range(10)]
        (parties / name).write_text("age,chol,thalach\n" + "\n".join(lines) + "\n")
    assert answer("fit", *FILES, "--formula", "thalach ~ age + chol", cwd=parties)["nobs"] == 30
    done = titan("fit", *FILES, "--formula", eleven, cwd=parties)
    assert (done.returncode, done.stdout) == (3, "")
    assert "30 rows in all for 11 parameters, where at least 33 are needed, 3 for each" in (
        done.stderr
    )
    assert "titan: hint: name fewer columns, use more rows, or --allow-small if" in done.stderr
    allowed = ["fit", *FILES, "--formula", eleven, "--allow-small"]
    assert answer(*allowed, cwd=parties)["nobs"] == 30


def test_moments_of_few_rows_are_few_rows(parties: Path) -> None:
    header, *rows = (parties / "east.csv").read_text().splitlines()
    (parties / "east.csv").write_text("\n".join([header, *rows[:9]]) + "\n")
    titan("moments", "east.csv", "--formula", FORMULA, cwd=parties)
    words = ["fit", "north.csv", "east.moments", "south.csv", "--formula", FORMULA]
    done = titan(*words, cwd=parties)
    assert (done.returncode, done.stdout) == (3, "")
    assert "'east' has 9 rows, and a party needs at least 10" in done.stderr
    assert answer(*words, "--allow-small", cwd=parties)["nobs"] == 29


def test_rows_of_weight_zero_beside_moments_do_not_count(parties: Path) -> None:
    for name in FILES:
        weights = ["w", *["0" if i == 4 and name == "east.csv" else "1.5" for i in range(10)]]
        lines = (parties / name).read_text().splitlines()
        joined = (f"{line},{weight}" for line, weight in zip(lines, weights, strict=True))
        (parties / name).write_text("\n".join(joined) + "\n")
    model = ["--formula", FORMULA, "--weights", "w"]
    titan("moments", "north.csv", *model, cwd=parties)
    for first in ("north.csv", "north.moments"):
        done = titan("fit", first, *FILES[1:], *model, cwd=parties)
        assert (done.returncode, done.stdout) == (3, "")
        assert "'east' has 9 rows without 1 of weight zero" in done.stderr
        allowed = ["fit", first, *FILES[1:], *model, "--allow-small"]
        assert answer(*allowed, cwd=parties)["nobs"] == 30


def test_solve_refuses_too_few_rows_unless_allowed(tmp_path: Path) -> None:
    for name, count in (("a", 10), ("b", 9), ("c", 10)):
        rows = [f"1,{i},{(ord(name) * i) % 7}" for i in range(count)]
        (tmp_path / f"{name}.csv").write_text("\n".join(rows) + "\n")
    words = ["solve", "a.csv", "b.csv", "c.csv"]
    done = titan(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "'b' has 9 rows, and a party needs at least 10" in done.stderr
    assert "--allow-small if all parties agree" in done.stderr
    assert answer(*words, "--allow-small", cwd=tmp_path)["rows"] == 29
    with (tmp_path / "b.csv").open("a") as file:
        file.write("1,9,4\n")
    assert answer(*words, cwd=tmp_path)["rows"] == 30


@pytest.mark.parametrize("words", [["fit", "all.csv", "--formula", FORMULA], ["solve", "n.csv"]])
def test_one_party_alone_has_nothing_to_allow(parties: Path, words: list[str]) -> None:
    (parties / "n.csv").write_text("1,2,3\n1,5,4\n")
    assert titan(*words, cwd=parties).returncode == 0
    done = titan(*words, "--allow-small", cwd=parties)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--allow-small has no meaning for one party alone" in done.stderr


# -- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "complaint", "status"),
    [
        ("fit north.csv", "no model is given", 2),
        ("fit north.csv east.csv", "no model is given", 2),
        ("fit north.csv --formula y~x --response y --columns x", "the model is not clear", 2),
        (
            "fit north.csv --formula y~x --no-intercept",
            "--no-intercept cannot go with a formula",
            2,
        ),
        ("fit north.csv --response thalach", "the model is not clear", 2),
        ("fit nowhere.csv --formula y~x", "nowhere.csv cannot be read: no such file", 1),
        ("fit folder --formula y~x", "folder is a folder without Parquet files", 1),
        ("fit bad.parquet --formula y~x", "bad.parquet is not a Parquet file, or is damaged", 1),
        ("fit text.csv --formula y~x", 'text.csv, line 3, column "x": text where a number', 1),
        ("fit empty.csv --formula y~x", "empty.csv is empty", 1),
        ("fit header.csv --formula y~x", "header.csv has no rows", 1),
        ("fit short.csv --formula y~x", "1 rows in all for 2 coefficients", 1),
        ("fit text.csv --formula y~z", 'text.csv has no column "z"', 1),
        ("fit text.csv --formula y~exit()", "titan: error", 2),
        ("fit text.csv --formula y~__import__('os').system('true')", "titan: error", 2),
        ("fit text.csv --formula y~", "titan: error", 2),
        ("fit north.csv text.csv --formula thalach~age", 'has no column "age" nor "thalach"', 1),
        ("fit north.csv --party town --formula thalach~age", 'no column "town"', 1),
        ("fit north.csv --party hospital --formula thalach~age", "only one party", 1),
        ("fit header.csv --party x --formula y~x", "header.csv has no rows", 1),
        ("fit north.csv east.csv --party x --formula y~x", "--party divides one file", 2),
        ("fit good.moments --party x", "good.moments holds moments", 1),
        ("fit corrupt.moments", '"corrupt.moments" is not a usable moments file', 1),
        ("fit cut.moments", '"cut.moments" is not a usable moments file', 1),
        ("fit good.moments --formula thalach~cp2", 'no moments of "cp2"', 1),
        ("fit good.moments north.csv", "north.csv holds rows, and no model is given", 1),
        ("fit good.moments other.moments", "'other' has the columns", 1),
        ("fit north.csv --formula thalach~age --tau 1", "--tau has no meaning", 2),
        ("fit north.csv --formula thalach~age --network cycle", "--network has no meaning", 2),
        ("fit north.csv north.csv --formula thalach~age", "both be party 'north'", 2),
        ("fit north.csv --formula thalach~age --missing guess", "--missing 'guess'", 2),
        ("fit north.csv --formula thalach~age --save no/fit.json", "there is no directory no", 1),
        ("fit north.csv --formula thalach~age --save folder", "it is a directory", 1),
        ("fit north.csv east.csv --formula thalach~age --tau 1", "titan: error", 1),
        ("fit north.csv east.csv --formula thalach~age --bits 4", "4 bits are too few", 2),
        ("fit north.csv east.csv --formula thalach~age --engine steam", "--engine 'steam'", 2),
        ("fit all.csv --formula thalach~age+I(age*2)", "age", 1),
        ("moments north.csv", "text where a number was expected", 1),
        ("moments nowhere.csv --formula y~x", "nowhere.csv cannot be read", 1),
        ("moments north.csv --formula thalach~age --out folder", "it is a directory", 1),
        ("moments north.csv east.csv --formula thalach~age", "need a name for their sum", 2),
        ("moments good.moments --out good.moments", "is one of the inputs", 2),
        ("moments corrupt.moments --out a.moments", "not a usable moments file", 1),
        ("solve text.csv --header", 'text.csv, line 3, column "x"', 1),
        ("solve words.csv --no-header", 'words.csv, line 1, column "x1"', 1),
        ("solve one.csv", "one.csv has only one column", 1),
        (
            "solve matrix.csv wide.csv",
            "'wide' has the columns 'x1', 'x2', 'x3', 'b', 'matrix' has",
            1,
        ),
        ("solve matrix.csv --response z", 'no column "z"', 1),
        ("solve gap.csv", 'missing in "x1"', 1),
        ("solve ragged.csv", "ragged.csv, line 2", 1),
        ("solve good.moments", "good.moments holds moments", 1),
        ("solve empty.csv", "empty.csv is empty", 1),
        ("solve dependent.csv", "x1", 1),
        ("reproduce nist --out north.csv", "north.csv cannot be made", 1),
    ],
)
def test_bad_input(parties: Path, words: str, complaint: str, status: int) -> None:
    for name, text in {
        "bad.parquet": "PAR1 and nothing more",
        "text.csv": "x,y\n1,2\nlots,3\n",
        "empty.csv": "",
        "header.csv": "x,y\n",
        "short.csv": "x,y\n1,2\n",
        "words.csv": "a,b\n1,2\n",
        "one.csv": "1\n2\n",
        "matrix.csv": "1,2,3\n4,5,6\n7,8,10\n",
        "wide.csv": "1,2,3,4\n",
        "gap.csv": "1,2\n,3\n",
        "ragged.csv": "1,2\n3\n",
        "dependent.csv": "1,2,3\n2,4,6\n3,6,8\n",
    }.items():
        (parties / name).write_text(text)
    (parties / "folder").mkdir()
    titan("moments", "all.csv", "--formula", "thalach~age", "--out", "good.moments", cwd=parties)
    titan("moments", "all.csv", "--formula", "thalach~sex", "--out", "other.moments", cwd=parties)
    whole = (parties / "good.moments").read_bytes()
    (parties / "cut.moments").write_bytes(whole[:40])
    (parties / "corrupt.moments").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    before = set(parties.iterdir())
    done = titan(*words.split(" "), cwd=parties)
    assert done.returncode == status, done
    assert done.stdout == "", "no answer beside an error"
    assert done.stderr.startswith("titan: error: ")
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert set(parties.iterdir()) == before, "no file of a failed command"
