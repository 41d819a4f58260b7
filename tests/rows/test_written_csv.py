"""CSV as Excel writes it in Europe is read exactly where that is said, else refused with how."""

from __future__ import annotations

import ast
import json
import re
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_commands import titan as command

import titan
from titan.errors import DataError, FileError, InputError, TitanError
from titan.moments import Model, collect, open_source
from titan.moments.csv_format import EUROPE, PLAIN, CsvFormat

HEADER, ROWS = (
    "größe;gewicht;ort",
    ["1,5;70;Köln", "1,75;80,25;Bonn", "1,6;-3e2;Köln", "+,5;1;Bonn"],
)


def european(folder: Path, encoding: str = "cp1252", name: str = "rows.csv") -> Path:
    path = folder / name
    path.write_bytes("\r\n".join([HEADER, *ROWS, ""]).encode(encoding))
    return path


def test_what_is_read_is_exact(tmp_path: Path) -> None:
    source = open_source(european(tmp_path), csv="europe")
    assert source.column_names == ("größe", "gewicht", "ort")
    model = Model('gewicht ~ `größe` + C(ort, levels=["Bonn", "Köln"])')
    moments = collect(source, model).moments
    assert moments.fraction(1, 1) == sum(Fraction(x) ** 2 for x in ("1.5", "1.75", "1.6", "0.5"))
    assert moments.fraction(2, 2) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"])
def test_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    said = {"delimiter": ";", "decimal_comma": True, "encoding": encoding}
    source = open_source(european(tmp_path, encoding), csv=said)
    assert collect(source, Model("gewicht ~ `größe`")).moments.rows == 4


WRITTEN = [
    (b"a;b\n1,5;2\n2,5;3\n4;1\n", "between semicolons"),
    ("größe;b\n1;2\n2;3\n4;1\n".encode("cp1252"), "between semicolons"),
    (b"a\tb\n1\t2\n2\t3\n4\t1\n", "between tabs"),
    ("größe,b\n1,2\n2,3\n4,1\n".encode("cp1252"), "not UTF-8 text"),
    (b'a;b\n"1,5";2\n2,5;3\n4;1\n', "a comma inside a number"),
]
"""A file, and what is found wrong in it where nothing is said of it."""


def model_of(content: bytes) -> str:
    return "b ~ `größe`" if content.startswith("größe".encode("cp1252")) else "b ~ a"


@pytest.mark.parametrize(("content", "found"), WRITTEN)
def test_the_hint_helps_in_python(tmp_path: Path, content: bytes, found: str) -> None:
    """What it says is taken as it stands, each of its ways by itself."""
    path, formula = tmp_path / "rows.csv", model_of(content)
    path.write_bytes(content)
    said: Any = {"delimiter": ";"} if "comma" in found else None
    with pytest.raises(InputError, match=found) as caught:
        titan.fit(path, formula=formula, csv=said)
    ways = re.findall(r'csv=(\{.*?\}|".*?")', caught.value.hint)
    assert ways
    assert "--" not in caught.value.hint
    assert titan.fit(path, formula=formula, csv=ast.literal_eval(ways[0])).nobs == 3


@pytest.mark.parametrize(("content", "found"), WRITTEN)
def test_the_hint_helps_on_the_command_line(tmp_path: Path, content: bytes, found: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    said = ["--delimiter", ";"] if "comma" in found else []
    words = ["fit", path, "--formula", model_of(content)]
    done = command(*words, *said)
    assert done.returncode == 1
    assert found in done.stderr
    hint = done.stderr.partition("titan: hint: ")[2]
    assert "csv=" not in hint
    option = r"--(?:csv|delimiter|encoding) (?:'[^']*'|[^\s;]+)|--decimal-comma"
    first = re.search(rf"(?:{option})(?: (?:{option}))*", hint)
    assert first is not None
    assert command(*words, *shlex.split(first[0])).returncode == 0


def test_a_command_without_the_option_does_not_name_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a;b\n1,5;2\n")
    done = command("solve", path)
    assert done.returncode == 1
    assert "csv=" not in done.stderr
    assert "--csv" not in done.stderr
    assert "titan: hint: save it with commas between cells" in done.stderr


def test_all_that_reads_files_in_python_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    rows = "".join(f"{at},5;{1 + at % 7};{at % 2}\n" for at in range(40))
    path.write_text(f"a;t;d\n{rows}", encoding="cp1252")
    assert titan.describe(path, csv="europe").nobs == 40
    assert titan.survival(path, time="t", event="d", csv="europe").nobs == 40
    assert titan.glm(path, formula="d ~ t", csv="europe").nobs == 40
    assert titan.ridge(path, formula="t ~ a", alpha=1.0, csv="europe").nobs == 40
    hazards = titan.cox(path, formula="a", time="t", event="d", csv="europe")
    assert hazards.nobs == 40


@pytest.mark.parametrize("said", ["--csv europe", "--delimiter ; --decimal-comma"])
def test_survival_takes_it_too(tmp_path: Path, said: str) -> None:
    path = tmp_path / "rows.csv"
    rows = "".join(f"{1 + at % 7},5;{at % 2}\n" for at in range(40))
    path.write_text(f"t;d\n{rows}", encoding="cp1252")
    words = ["survival", path, "--time", "t", "--event", "d", "--grid", "1"]
    refused = command(*words)
    assert refused.returncode == 1
    assert "--csv europe" in refused.stderr
    done = command(*words, *said.split())
    assert done.returncode == 0, done.stderr
    assert "40 rows" in done.stdout


@pytest.mark.parametrize("cell", ["1.5", "1.234,5", "1,2,3", "1.234"])
def test_a_point_is_not_a_number_among_decimal_commas(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"a;b\n1,5;2\n{cell};3\n")
    with pytest.raises(DataError, match=r'line 3, column "a": text') as caught:
        collect(open_source(path, csv="europe"), Model("b ~ a"))
    assert cell not in str(caught.value.message)


def test_commas_where_semicolons_were_said(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match="between commas, where semicolons were expected"):
        open_source(path, csv="europe")


@pytest.mark.parametrize(
    "csv",
    [
        "asia",
        {"decimal": ","},
        {"delimiter": ";;"},
        {"delimiter": "a"},
        {"delimiter": 1},
        {"decimal_comma": True},
        {"delimiter": ";", "decimal_comma": "yes"},
        {"encoding": "klingon"},
        {"encoding": "zlib"},
        {"encoding": 3},
        7,
    ],
)
def test_nonsense_is_refused(csv: Any) -> None:
    with pytest.raises(InputError):
        CsvFormat.of(csv)
    with pytest.raises(TitanError):
        titan.fit({"y": [1, 2, 4], "a": [1, 2, 3]}, formula="y ~ a", csv=csv)


def test_formats_by_name() -> None:
    assert CsvFormat.of("europe") == EUROPE
    assert CsvFormat.of(None) == PLAIN
    assert CsvFormat.of({"delimiter": "tab"}).delimiter == "\t"


def test_commands_take_the_same(tmp_path: Path) -> None:
    path = european(tmp_path)
    fitted = titan.fit(path, formula="gewicht ~ `größe`", csv="europe")
    options = ["--formula", "gewicht ~ `größe`", "--json"]
    short = command("fit", path, *options, "--csv", "europe")
    long = command(
        "fit", path, *options, "--delimiter", ";", "--decimal-comma", "--encoding", "cp1252"
    )
    assert short.returncode == long.returncode == 0, short.stderr
    assert short.stdout == long.stdout
    assert json.loads(short.stdout)["params"] == dict(fitted.params)
    plain = command("fit", path, *options)
    assert plain.returncode == 1
    assert "--csv europe" in plain.stderr
