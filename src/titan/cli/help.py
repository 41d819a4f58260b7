"""How --help looks: whole sentences at 80 columns, and the options that matter first.

Options without a panel come first, under "Options"; the others under the name of their panel. Where
their values may come from is said once, below, instead of at every option.
"""

# Rule 1: nothing is cut short. What is too long for a line goes on in the next.
# Rule 2: click may be typer's own or not, by typer's version: nothing is imported from it.

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from titan.cli import log
from titan.cli.typed_words import (
    leave_reading_to_us,
    variable_of,
    wants_json_log,
    wrong_types,
    wrong_words,
)

_FIRST = "Options"
_OUTPUT = "Output"
_TYPES = {
    "<str>": "TEXT", "<path>": "FILE", "<int>": "N", "<float>": "X", "PATH": "FILE",
    "INTEGER": "N", "FLOAT": "X",
}  # fmt: skip
_TYPE = re.compile(r"<(?:list\[)?(\w+)(?: range)?\]?>|(INTEGER|FLOAT) RANGE")
_FROM_VARIABLE = "Options may come from variables, as {variable} for {option}."


class Command(TyperCommand):
    """A command whose options stand in groups; errors about what was typed are wrong usage."""

    def __init__(self, *words: Any, **choices: Any) -> None:
        super().__init__(*words, **choices)
        for parameter in self.params:
            leave_reading_to_us(parameter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if wants_json_log(ctx, args):
            log.use("json")
        with wrong_types(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with wrong_words(ctx):
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        return ["[OPTIONS]", *map(_usage, arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        parameters = [p for p in self.get_params(ctx) if not getattr(p, "hidden", False)]
        arguments = [p for p in parameters if p.param_type_name == "argument"]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(_metavar(p), _said(p, ctx)) for p in arguments])
        for panel, options in _panels(p for p in parameters if p not in arguments).items():
            with formatter.section(panel):
                formatter.write_dl([(_option(p, ctx), _said(p, ctx)) for p in options])
        if variable := _variable(parameters, ctx):
            formatter.write_paragraph()
            formatter.write_text(variable)


class Group(TyperGroup):
    """A group of commands, each with the whole of its first sentence."""

    command_panels: Mapping[str, Sequence[str]] = {}
    """Heading → commands under it; those that are in none come last, under "Commands"."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return ["[OPTIONS]", "COMMAND …"]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        options = [p for p in self.get_params(ctx) if not getattr(p, "hidden", False)]
        with formatter.section(_FIRST):
            formatter.write_dl([(_option(p, ctx), _said(p, ctx)) for p in options])

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        shown = {name: _sentence(each) for name, each in found.items() if each and not each.hidden}
        panels = {
            head: [n for n in names if n in shown] for head, names in self.command_panels.items()
        }
        placed = {name for names in panels.values() for name in names}
        panels["Commands"] = [name for name in shown if name not in placed]
        wide = max(map(len, shown), default=0)
        for head, names in panels.items():
            if names:
                with formatter.section(head):
                    formatter.write_dl([(name.ljust(wide), shown[name]) for name in names])


class App(typer.Typer):
    """A typer whose help is the one of this file."""

    def __init__(self, **choices: Any) -> None:
        chosen: Any = {"cls": Group, "no_args_is_help": True} | choices
        super().__init__(**chosen)

    def command(self, name: str | None = None, **choices: Any) -> Callable[[Any], Any]:
        chosen: Any = {"cls": Command} | choices
        return super().command(name, **chosen)


# -- parts ------------------------------------------------------------------------------------


def _panels(options: Iterator[Any]) -> dict[str, list[Any]]:
    """In the order in which they first occur; the first ones first, and output last."""
    found: dict[str, list[Any]] = {_FIRST: []}
    for option in options:
        found.setdefault(getattr(option, "rich_help_panel", None) or _FIRST, []).append(option)
    if helps := [option for option in found[_FIRST] if option.name == "help"]:
        found[_FIRST].remove(helps[0])
        found.setdefault(_OUTPUT, []).append(helps[0])
    output = found.pop(_OUTPUT, [])
    only_help = not found[_FIRST] and not [o for o in output if o.name != "help"]
    panels = {name: each for name, each in found.items() if each}
    return panels | {(_FIRST if only_help or not panels else _OUTPUT): output}


def _usage(argument: Any) -> str:
    name = _metavar(argument)
    return name if argument.required else f"[{name}]"


def _metavar(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _option(option: Any, ctx: Any) -> str:
    """-k, --k N; --header / --no-header."""
    name, _ = option.get_help_record(ctx) or ("", "")
    name = _TYPE.sub(lambda found: found[2] or f"<{found[1].lower()}>", name)
    return " ".join(_TYPES.get(word, word) for word in name.split(" "))


def _said(parameter: Any, ctx: Any) -> str:
    """Its help with its default or that it is required, without the variable."""
    shown, parameter.show_envvar = parameter.show_envvar, False
    _, text = parameter.get_help_record(ctx) or ("", "")
    parameter.show_envvar = shown
    return re.sub(r"\]  \[", "; ", str(text))


def _variable(parameters: Sequence[Any], ctx: Any) -> str:
    """That options may come from variables, with one for an example."""
    for option in parameters:
        variable = variable_of(option, ctx)
        if variable and option.param_type_name == "option" and option.name != "help":
            return _FROM_VARIABLE.format(variable=variable, option=option.opts[-1])
    return ""


def _sentence(command: Any) -> str:
    """The first of what a command says of itself."""
    text = " ".join(str(command.help or "").split("\n\n")[0].split())
    return text.removesuffix(".")
