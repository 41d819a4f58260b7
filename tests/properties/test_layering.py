"""Imports point one way: a room knows only the rooms before it, and the inner ones do no I/O."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import titan

ROOT = Path(titan.__file__).parent
ORDER = [
    "errors", "ring", "network", "protocol", "privacy", "moments", "leastsquares", "datasets",
    "engines", "averaging", "pooling", "matrices", "study", "fitting", "party", "compare",
    "experiments", "cli", "__main__",
]  # fmt: skip
NO_IO = {"asyncio", "logging", "socket", "threading", "multiprocessing", "subprocess", "grpc"}
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


def room(file: Path) -> str:
    first = file.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def test_every_room_has_its_place() -> None:
    rooms = {room(file) for file in ROOT.rglob("*.py")} - {"__init__"}
    assert rooms <= set(ORDER), "give a new room its place in ORDER"


def test_imports_point_upwards_only() -> None:
    checked = 0
    for file in ROOT.rglob("*.py"):
        here = room(file)
        if here == "__init__":
            continue
        for name in imports(file):
            if name.startswith("titan."):
                there = name.split(".")[1]
                if there in ORDER:
                    checked += 1
                    assert ORDER.index(there) <= ORDER.index(here), f"{file} imports {name}"
    assert checked > 50


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
    for file in ROOT.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name != "masking.py":
            assert "urandom" not in text, file
            assert "import secrets" not in text, file
        if "random" in {name.split(".")[0] for name in imports(file)} or "np.random" in text:
            assert room(file) == "compare" or file.relative_to(ROOT).as_posix() in {
                "network/families.py", "network/design.py", "engines/local.py",
            }, file  # fmt: skip


def test_help_imports_only_what_it_needs() -> None:
    """`titan --help` must be quick: the heavy libraries stay on the shelf."""
    code = (
        "import sys, titan.cli\n"
        "heavy = {'scipy', 'networkx', 'cryptography', 'pandas', 'pyarrow', 'matplotlib'}\n"
        "heavy |= {'flint', 'statsmodels', 'sklearn'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
