"""Imports point one way: a room knows only the rooms before it, and the inner ones do no I/O.

The laboratory stands outside: it imports titan, and nothing in titan imports it.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import titan
import titan_lab

ROOT = Path(titan.__file__).parent
LAB = Path(titan_lab.__file__).parent
ORDER = [
    "errors", "held_signals", "decimals", "replacing", "files", "listing", "markup", "canonical",
    "ring", "network", "protocol", "engines", "privacy", "results", "moments", "leastsquares",
    "generalised", "release", "inputs", "joint", "matrices", "study", "report", "fitting",
    "generalising", "hazards", "party", "joining", "reporting", "web", "cli", "__main__",
]  # fmt: skip
LAB_ORDER = ["attacks", "datasets", "privacy", "pictures", "compare", "experiments", "cli"]
ORDERS = pytest.mark.parametrize(
    ("root", "order"), [(ROOT, ORDER), (LAB, LAB_ORDER)], ids=["titan", "lab"]
)
NO_IO = {"asyncio", "logging", "socket", "threading", "multiprocessing", "subprocess", "OpenSSL"}
INNER = {"ring", "network", "protocol"}
ALLOWED_INSIDE = {"titan", "numpy", "scipy", "networkx", "cryptography"}


def imports(file: Path) -> set[str]:
    """Absolute names of everything a file imports, at the top or inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room(file: Path, root: Path = ROOT) -> str:
    first = file.relative_to(root).parts[0]
    return first.removesuffix(".py")


@ORDERS
def test_every_room_has_its_place(root: Path, order: list[str]) -> None:
    rooms = {room(file, root) for file in root.rglob("*.py")} - {"__init__"}
    assert rooms <= set(order), "give a new room its place in ORDER"
    assert "cli" in rooms


@ORDERS
def test_imports_point_upwards_only(root: Path, order: list[str]) -> None:
    checked = 0
    for file in root.rglob("*.py"):
        here = room(file, root)
        if here == "__init__":
            continue
        for name in imports(file):
            if name.startswith(f"{root.name}."):
                there = name.split(".")[1]
                if there in order:
                    checked += 1
                    assert order.index(there) <= order.index(here), f"{file} imports {name}"
    assert checked > 50


def test_nothing_in_titan_imports_the_laboratory() -> None:
    """Not even by a name in a string: that stands in one file, which says when it is loaded."""
    for file in ROOT.rglob("*.py"):
        assert "titan_lab" not in {name.split(".")[0] for name in imports(file)}, file
        if "titan_lab" in file.read_text(encoding="utf-8"):
            assert file.relative_to(ROOT).as_posix() == "cli/added_commands.py"


def test_the_inner_rooms_do_no_input_or_output() -> None:
    for file in ROOT.rglob("*.py"):
        if room(file) in INNER:
            for name in imports(file):
                top = name.split(".")[0]
                assert top not in NO_IO, f"{file} imports {name}"
                assert top in ALLOWED_INSIDE | set(sys.stdlib_module_names), f"{file}: {name}"


def test_randomness_of_the_program_comes_from_one_module() -> None:
    """Graphs are public and may be drawn from a seed, and the bench simulates others' methods from
    one: it never makes a mask of TITAN's. Nothing else may draw at all."""
    for root in (ROOT, LAB):
        for file in root.rglob("*.py"):
            text, at = file.read_text(encoding="utf-8"), file.relative_to(root).as_posix()
            if (root, at) != (ROOT, "protocol/masking.py"):
                assert "urandom" not in text, file
                assert "import secrets" not in text, file
            if "random" in {name.split(".")[0] for name in imports(file)} or "np.random" in text:
                public = {"network/families.py", "network/design.py", "engines/local.py"}
                assert (at in public) if root == ROOT else room(file, root) == "compare", file


def test_help_imports_only_what_it_needs() -> None:
    """`titan --help` must be quick: the heavy libraries stay on the shelf."""
    code = (
        "import contextlib, io, sys, titan.cli\n"
        "sys.argv = ['titan', '--help']\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    titan.cli.main()\n"
        "heavy = {'scipy', 'networkx', 'cryptography', 'pandas', 'pyarrow', 'matplotlib'}\n"
        "heavy |= {'flint', 'statsmodels', 'sklearn'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_comes_when_it_is_asked_for() -> None:
    """From the module that type checkers are told; and to import titan alone loads nothing."""
    told = {
        alias.name: node.module
        for node in ast.walk(ast.parse((ROOT / "__init__.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("titan.")
        for alias in node.names
    }
    assert told == titan._FROM
    assert set(told) == set(titan.__all__) - {"__version__"}
    for name, module in told.items():
        assert getattr(titan, name) is getattr(import_module(str(module)), name)
    code = "import sys, titan; print([name for name in sys.modules if name.startswith('titan.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
