"""The service unit is one that systemd understands, and does with exit statuses what they mean."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_commands import titan
from titan import errors
from titan.errors import ReleaseError, TitanError, WaitError

ROOT = Path(__file__).parent.parent
UNIT = ROOT / "deploy" / "titan@.service"
CONTAINER = ROOT / "deploy" / "Containerfile"
PROGRAM = "/opt/titan/bin/titan"


def settings(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if "=" in line and not line.startswith("#"):
            key, _, value = line.partition("=")
            found.setdefault(key, []).append(value)
    return found


def analysed(folder: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """With a program that is there in place of the one that may not be."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = folder / UNIT.name
    unit.write_text(text.replace(PROGRAM, "/bin/sh"))
    command = [program, *words, str(unit)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def complaints(folder: Path, text: str) -> list[str]:
    done = analysed(folder, text, "verify", "--man=no")
    shown = (done.stdout + done.stderr).splitlines()
    return [line for line in shown if "titan@" in line] + ["failed"] * (done.returncode != 0)


def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    text = UNIT.read_text()
    assert complaints(tmp_path, text) == []
    for spoiled in ("ProtectHom=", "NoNewPrivileges=maybe\nX="):
        assert complaints(tmp_path, text.replace("ProtectHome=", spoiled)), "it would say so"


def test_the_unit_is_confined(tmp_path: Path) -> None:
    """By systemd's own measure, from 0 to 10; a unit that says nothing has 9.6."""
    done = analysed(tmp_path, UNIT.read_text(), "security", "--offline=true", "--no-pager")
    if done.returncode and "offline" in done.stderr:
        pytest.skip("this systemd-analyze cannot look at a file")
    (level,) = re.findall(r"exposure level for .*: ([0-9.]+)", done.stdout)
    assert float(level) < 2.0


def test_it_is_started_again_where_that_helps() -> None:
    """All that a command can end with; 75 above all, and a crash."""
    found = settings(UNIT.read_text())
    classes = [
        c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, TitanError)
    ]
    known = {c.exit_status for c in classes} | {2}
    again = WaitError.exit_status
    assert known == {TitanError.exit_status, 2, ReleaseError.exit_status, again}
    assert found["Restart"] == ["on-failure"]
    assert set(map(int, found["RestartPreventExitStatus"][0].split())) == known - {again}
    assert found["RestartForceExitStatus"] == found["SuccessExitStatus"] == [str(again)]
    assert found["StartLimitIntervalSec"] == ["0"]


def test_its_command_is_one_of_ours(tmp_path: Path) -> None:
    """Every option exists: with files that do not, it is the study that is missed."""
    [line] = settings(UNIT.read_text())["ExecStart"]
    program, *words = shlex.split(line)
    values = {"${PARTY}": "north", "${DATA}": "rows.csv", "${RUN}": "1", "%i": "care"}
    values |= {"%d": str(tmp_path), "%S/titan": str(tmp_path), "$OPTIONS": "--wait=1"}
    for name, value in values.items():
        assert any(name in word for word in words)
        words = [word.replace(name, value) for word in words]
    done = titan(*words, cwd=tmp_path)
    assert program == PROGRAM
    assert (done.returncode, "care.toml cannot be read" in done.stderr) == (1, True)


def test_the_example_names_what_the_unit_asks_for() -> None:
    wanted = set(re.findall(r"\$\{?([A-Z]+)\b", UNIT.read_text()))
    said = set(re.findall(r"(?m)^#? ?([A-Z]+)=", (ROOT / "deploy" / "example.conf").read_text()))
    assert wanted == said == {"PARTY", "DATA", "RUN", "OPTIONS"}


def test_the_container_is_made_of_what_is_there() -> None:
    """It is not built here: what can be seen without is looked at."""
    steps = [s.split(maxsplit=1) for s in CONTAINER.read_text().replace("\\\n", "").splitlines()]
    found = [(step[0], step[1]) for step in steps if step and step[0] != "#"]
    for name, rest in found:
        if name == "COPY" and "--from" not in rest:
            *sources, _ = rest.split()
            assert all((ROOT / source).exists() for source in sources)
    assert [rest for name, rest in found if name == "ENTRYPOINT"] == [f'["{PROGRAM}"]']
    (user,) = (rest for name, rest in found if name == "USER")
    assert int(user) > 0, "not root"
    assert "://" not in CONTAINER.read_text()
    ignored = (ROOT / ".containerignore").read_text().split()
    assert ignored[0] == "*", "no rows, keys or runs that lie about"
