"""A report leaves all its files, each with seed and versions; without matplotlib, its tables."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from titan.errors import FileError
from titan_lab.experiments.report import Report, Table, as_markdown, make_folder, versions, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def picture() -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    figure.subplots().plot([1, 2, 3])
    return figure


def report() -> Report:
    table = Table(("name", "error"), (("a, b", 1e-17), ("ü", None)))
    return Report("thing", "# A page\n", {"thing": table}, {"thing": picture}, seed=7)


def test_all_files_are_written_and_say_what_made_them(tmp_path: Path) -> None:
    made = report()
    written = write(made, tmp_path / "new" / "folder")
    assert [file.name for file in written.files] == [
        "thing.csv", "thing.md", "thing.svg", "thing.png",
    ]  # fmt: skip
    assert written.missing is None
    assert {"titan", "python", "numpy", "python-flint", "matplotlib"} <= set(made.versions)
    for file in written.files:
        content = file.read_bytes()
        for package in ("titan", "numpy", "python-flint", "matplotlib"):
            assert f"{package} {made.versions[package]}".encode() in content, file
        assert (b"7" if file.suffix == ".csv" else b"Seed 7") in content, file
    assert sorted(file.name for file in (tmp_path / "new" / "folder").iterdir()) == sorted(
        file.name for file in written.files
    )


def test_a_table_keeps_every_digit_and_its_origin_in_columns(tmp_path: Path) -> None:
    write(report(), tmp_path)
    with (tmp_path / "thing.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["name"], row["error"], row["seed"]) for row in rows] == [
        ("a, b", "1e-17", "7"),
        ("ü", "", "7"),
    ]


def test_the_same_picture_is_the_same_file(tmp_path: Path) -> None:
    write(report(), tmp_path / "a")
    write(report(), tmp_path / "b")
    for name in ("thing.svg", "thing.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_tables_are_written(tmp_path: Path) -> None:
    written = write(report(), tmp_path)
    assert [file.name for file in written.files] == ["thing.csv", "thing.md"]
    assert written.missing == "matplotlib is not installed, so there are no pictures"


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="file cannot be made: file exists"):
        make_folder(tmp_path / "file")


def test_a_table_in_markdown() -> None:
    assert as_markdown(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | --: |\n| x | 1 |\n"


def test_further_packages_that_are_not_installed_are_left_out() -> None:
    assert "no-such-package" not in versions("no-such-package", "scipy")
    assert "scipy" in versions("scipy")
