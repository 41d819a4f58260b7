"""Errors and hints of the library in the words of the command that was typed.

The library says `missing="drop"`. A command that has the option says `--missing drop`; one that
reads a study says `missing = "drop" in the study`; in any other the advice is left out. So is one
that names an option which the command does not have, unless it says of which command. What is said
of a question stays as it is where --ask says it. What the library says of CSV files by one mapping,
csv={"delimiter": ";"}, are options of their own.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from functools import cache
from typing import Any

from typer.main import get_command

_CHOICE = re.compile(
    r"\b(allow_differencing|allow_small|alpha|bits|bound|budget|cov_type|csv|decimal_comma|degree"
    r"|delimiter|encoding|engine|family|force|grid|k|masks|max_diameter|missing|precision|record"
    r"|recovery|relays|rounds|tau|tolerance|until)=([^\s,;)]*)"
)
_OF_A_QUESTION = {"cov_type"}
_OF_A_MODEL = {"alpha", "family", "grid", "precision", "until"}
"""Said of the question wherever there is no such option, so never left out."""
_OF_A_STUDY = {
    "bits", "k", "masks", "missing", "recovery", "relays", "rounds", "tau", *_OF_A_QUESTION,
}  # fmt: skip
_COLUMN = re.compile(r"--(range|step|levels|flag) ([^\s=;,]+)(?:=([^\s;]+))?")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
_CSV = re.compile(r"\bcsv=(\{[^}]*\})")
_DESIGN = re.compile(r"Network\.design\(([0-9]+), tau=([0-9]+)\)")


def typed(text: str) -> str:
    """Choices as they are made here; one that cannot be made here stays as the library has it."""
    text = _DESIGN.sub(r"the one of: titan network design \1 --tau \2", text)
    return _CHOICE.sub(_as_typed, _COLUMN.sub(_of_column, _CSV.sub(_of_csv, text)))


def typed_hint(hint: str) -> str:
    """The same, but only the parts that can be followed here."""
    parts = [part for part in typed(hint).split("; ") if _can_be_followed(part)]
    return "; ".join(parts).removeprefix("or ")


def _can_be_followed(part: str) -> bool:
    """It names no choice, and no option, that the command which was typed does not have."""
    known = {option for parameter in _running().params for option in parameter.opts}
    left = {choice[1] for choice in _CHOICE.finditer(part)} - _OF_A_MODEL
    if left - (_OF_A_QUESTION if "--ask" in known else set()):
        return False
    return "titan " in part or known.issuperset(_OPTION.findall(part))


def _as_typed(choice: re.Match[str]) -> str:
    name, value, parameters = choice[1], choice[2], _running().params
    option, plain = "--" + name.replace("_", "-"), value.strip('"')
    if any(option in parameter.opts for parameter in parameters):
        return option if plain in ("", "True") else f"{option} {plain}"
    if name in _OF_A_STUDY and any(parameter.metavar == "STUDY" for parameter in parameters):
        return f"{name} = {value} in the study"
    return choice[0]


def _of_csv(choice: re.Match[str]) -> str:
    """What a CSV file is like, option by option, where there are such."""
    if not any("--csv" in parameter.opts for parameter in _running().params):
        return choice[0]
    said = json.loads(choice[1].replace("True", "true"))
    words = (["--" + key.replace("_", "-"), *([] if v is True else [v])] for key, v in said.items())
    return " ".join(shlex.join(each) for each in words)


def _of_column(option: re.Match[str]) -> str:
    """What is said of a column, where it stands in a study."""
    parameters = _running().params
    if any(f"--{option[1]}" in parameter.opts for parameter in parameters) or not any(
        parameter.metavar == "STUDY" for parameter in parameters
    ):
        return option[0]
    values = re.split("[:,]", option[3] or option[1])
    shown = ", ".join(f'"{value}"' for value in values)
    key = "kind" if option[1] == "flag" else option[1]
    listed = f"[{shown}]" if key in ("range", "levels") else shown
    return f"{key} = {listed} of [columns.{option[2]}]"


def _running() -> Any:
    """The command that was typed. (The context that would tell is gone when an error ends it.)"""
    command = _every_command()
    for word in sys.argv[1:]:
        if hasattr(command, "get_command"):
            command = command.get_command(None, word) or command
    return command


@cache
def _every_command() -> Any:
    from titan.cli import app

    return get_command(app)
