"""The service unit is one that systemd understands, and does with exit statuses what they mean."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import titan
from tests.party.loopback import Gathering
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


def started(
    credentials: Path, state: Path, data: Path, etc: Path = Path("/etc/titan")
) -> list[str]:
    """The words of the unit's command, as systemd would fill them in."""
    [line] = settings(UNIT.read_text())["ExecStart"]
    program, *words = shlex.split(line)
    assert program == PROGRAM
    values = {"${PARTY}": "north", "${DATA}": str(data), "${RUN}": "1", "%i": "care"}
    values |= {"%d": str(credentials), "%S/titan": str(state), "$OPTIONS": "--wait=1"}
    for name, value in {**values, "/etc/titan": str(etc)}.items():
        assert any(name in word for word in words)
        words = [word.replace(name, value) for word in words]
    return words


def test_each_run_is_saved_under_a_name_of_its_own() -> None:
    """Else the second one would end, since the first one's answer is there."""
    [line] = settings(UNIT.read_text())["ExecStart"]
    words = shlex.split(line)
    assert "${RUN}" in words[words.index("--save") + 1]


def test_its_command_is_one_of_ours(tmp_path: Path) -> None:
    """Every option exists: with files that do not, it is the study that is missed."""
    done = titan(*started(tmp_path, tmp_path, tmp_path / "rows.csv"), cwd=tmp_path)
    assert (done.returncode, "care.toml cannot be read" in done.stderr) == (1, True)


def run_with_closed(folder: Path, words: list[str]) -> subprocess.CompletedProcess[str]:
    """The program, where nobody can write to this folder: in truth, so not on every machine."""
    command = [sys.executable, "-m", "titan", *words]
    if os.geteuid() == 0:  # a mode does not stop root
        quoted = shlex.quote(str(folder))
        mounted = f"mount --bind {quoted} {quoted} && mount -o remount,ro,bind {quoted} || exit 99"
        command = ["unshare", "--mount", "sh", "-c", f'{mounted}; exec "$@"', "sh", *command]
    folder.chmod(0o500)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    finally:
        folder.chmod(0o700)
    if os.geteuid() == 0 and (done.returncode == 99 or done.stderr.startswith("unshare:")):
        pytest.skip("nothing can be mounted here")
    return done


def test_it_runs_with_a_key_in_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """LoadCredential= hands it over so: the others are waited for, and a lost ledger is missed."""
    g = Gathering(tmp_path)
    g.save()
    credentials, state = tmp_path / "credentials", tmp_path / "state"
    credentials.mkdir()
    state.mkdir()
    (tmp_path / "north.key").rename(credentials / "key")
    (tmp_path / "study.toml").rename(tmp_path / "care.toml")
    words = started(credentials, state, tmp_path / "north.csv", etc=tmp_path)
    done = run_with_closed(credentials, words)
    assert done.returncode == WaitError.exit_status, done.stderr
    (state / "north.ledger").unlink()
    done = run_with_closed(credentials, words)
    assert (done.returncode, "has taken part in runs" in done.stderr) == (1, True), done.stderr
    assert [each.name for each in credentials.iterdir()] == ["key"]


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
