"""The data that come with the package are all there, and every origin is named."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import titan
from tests.cli.test_commands import titan as titan_command
from titan.errors import InputError
from titan_lab import datasets


def test_all_sets_are_there() -> None:
    assert len(datasets.nist_names()) == 11
    assert set(datasets.names()) - set(datasets.nist_names()) == {
        "abilene", "geant2012", "grunfeld", "heart_disease", "ieee14", "ieee30",
    }  # fmt: skip


@pytest.mark.parametrize("name", datasets.names())
def test_each_set_has_data_and_facts(name: str) -> None:
    assert datasets.path(name).exists()
    assert datasets.facts(name)


@pytest.mark.parametrize("name", datasets.nist_names())
def test_certified_values_come_with_the_data(name: str) -> None:
    data = datasets.nist(name)
    with data.path.open(newline="") as file:
        assert len(list(csv.reader(file))) == data.facts["observations"] + 1
    assert len(data.facts["certified"]["parameters"]) == data.facts["parameters"]


@pytest.mark.parametrize("case", ["ieee14", "ieee30"])
@pytest.mark.parametrize("table", ["buses", "branches", "meters", "H"])
def test_power_networks_have_their_tables(case: str, table: str) -> None:
    assert datasets.power(case, table).is_file()


def test_every_origin_and_attribution_is_named() -> None:
    text = datasets.sources()
    for name in ("Janosi", "Steinbrunn", "Pfisterer", "Detrano", "CC BY 4.0", "Topology Zoo",
                 "National Institute of Standards", "Grunfeld", "University of Washington",
                 "not covered by TITAN's licence"):  # fmt: skip
        assert name in text


@pytest.mark.parametrize("name", ["nothing", "../nist/Filip", "Filip.csv", ""])
def test_what_is_not_there_is_an_error(name: str) -> None:
    for look_up in (datasets.path, datasets.facts, datasets.nist):
        with pytest.raises(InputError, match="there is no"):
            look_up(name)
    with pytest.raises(InputError, match="there is no"):
        datasets.power("ieee14", name)
    with pytest.raises(InputError, match="there is no table"):
        datasets.power("heart_disease", "buses")


def test_rows_come_one_table_per_party() -> None:
    hospitals = datasets.by_party("heart_disease")
    rows = {
        name: titan.fit(table, formula="thalach ~ age").nobs for name, table in hospitals.items()
    }
    facts = datasets.facts("heart_disease")["parties"]
    assert rows == {name: about["rows"] for name, about in facts.items()}
    with pytest.raises(InputError, match="not of several parties"):
        datasets.by_party("Filip")


def test_the_demo_writes_them_as_files(tmp_path: Path) -> None:
    """What a newcomer tries commands on is what the demo itself computes with."""
    done = titan_command("demo", "--rows", "hospitals", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    files = [tmp_path / name for name in json.loads(done.stdout)["files"]]
    fitted = titan.fit(files, "cycle", formula="thalach ~ age + sex", tau=1)
    together = titan.fit(datasets.path("heart_disease"), formula="thalach ~ age + sex")
    assert (fitted.nobs, fitted.params) == (854, together.params)
    assert titan_command("demo", "--rows", "hospitals", cwd=tmp_path).returncode == 1
    again = titan_command("demo", "--rows", "hospitals", "--force", cwd=tmp_path)
    assert again.returncode == 0
    assert max(map(len, again.stdout.splitlines())) <= 80
    assert "titan fit hospitals/*.csv" in again.stdout
    (tmp_path / "file").write_text("")
    assert "cannot be made" in titan_command("demo", "--rows", "file/x", cwd=tmp_path).stderr
