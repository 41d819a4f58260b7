"""Errors advise what can be done with the command that was typed, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import titan
from tests.study.studies import study
from titan.cli.advice import typed, typed_hint

DROP = 'missing="drop" leaves such rows out'
GRID = "grid=12 would do, or until=45 with grid=3; else use less"
IN_THE_STUDY = 'missing = "drop" in the study leaves such rows out'


@pytest.mark.parametrize(
    ("command", "hint", "said"),
    [
        ("fit a.csv", DROP, "--missing drop leaves such rows out"),
        ("moments a.csv", DROP, "--missing drop leaves such rows out"),
        ("study new", DROP, "--missing drop leaves such rows out"),
        ("join study.toml --as a", DROP, IN_THE_STUDY),
        ("study check study.toml", DROP, IN_THE_STUDY),
        ("solve a.csv", DROP, ""),
        ("fit a.csv", "try bits=192; or leave out x", "try --bits 192; or leave out x"),
        ("join study.toml", "try bits=192; or leave out x",
         "try bits = 192 in the study; or leave out x"),
        ("moments a.csv", "try bits=192; or leave out x", "leave out x"),
        ("solve a.csv b.csv", "allow_small=True if all agree", "--allow-small if all agree"),
        ("join study.toml", "allow_small=True if all agree", ""),
        ("network design 5", "leave out degree= or max_diameter=", ""),
        ("keys new", "force=True replaces it", "--force replaces it"),
        ("privacy net.csv", "or take Network.design(5, tau=2)",
         "take the one of: titan network design 5 --tau 2"),
        ("audit run", "start a new run", "start a new run"),
        ("audit run", "name it: --ledger x; or look for it", "look for it"),
        ("join study.toml", "name it: --ledger x; or look", "name it: --ledger x; or look"),
        ("audit run", "titan join takes --passphrase-file", "titan join takes --passphrase-file"),
        ("fit a.csv", "--levels sex=f,m; or leave it out", "leave it out"),
        ("study new", "cov_type=HC0, or more parties", "cov_type=HC0, or more parties"),
        ("rehearse a.csv", "cov_type=HC0, or more parties", "cov_type=HC0, or more parties"),
        ("join study.toml", "cov_type=HC0, or more parties",
         "cov_type = HC0 in the study, or more parties"),
        ("audit run", "cov_type=HC0, or more parties", ""),
        ("fit a.csv", 'add a ridge penalty: alpha=1; or family="poisson"',
         "add a ridge penalty: --alpha 1; or --family poisson"),
        ("join study.toml", "add a ridge penalty: alpha=1", "add a ridge penalty: alpha=1"),
        ("show run", "add a ridge penalty: alpha=1", "add a ridge penalty: alpha=1"),
        ("survival a.csv", GRID, "--grid 12 would do, or --until 45 with --grid 3; else use less"),
        ("study new", GRID, GRID),
        ("rehearse a.csv", GRID, GRID),
        ("join study.toml", GRID, GRID),
        ("nonsense", DROP, ""),
        ("", DROP, ""),
    ],
)  # fmt: skip
def test_a_hint_names_options_of_its_command(
    command: str, hint: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["titan", *command.split()])
    assert typed_hint(hint) == said


def test_what_went_wrong_is_always_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["titan", "average", "a.txt"])
    assert typed("rounds=1 is below the diameter") == "--rounds 1 is below the diameter"
    monkeypatch.setattr(sys, "argv", ["titan", "audit", "run"])
    assert typed("rounds=1 is below the diameter") == "rounds=1 is below the diameter"


def test_a_study_is_told_in_its_own_words(tmp_path: Path) -> None:
    study(rounds=1).save(tmp_path / "study.toml")
    done = titan("study", "check", tmp_path / "study.toml")
    assert done.returncode == 1
    assert "titan: error: rounds = 1 in the study is below the network's diameter" in done.stderr
    assert "--rounds" not in done.stderr
