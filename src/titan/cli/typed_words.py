"""Wrong usage: what is wrong in the words that were typed, and not in what they name.

The library says of which choice the value cannot be used (`InputError.choice`). Where that choice
is an option of the command, and was typed or came from a variable, the words are wrong, and the
exit status is 2. The same error about a study's file stays what it is there: 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from titan.cli import log
from titan.cli.advice import typed, typed_hint
from titan.errors import InputError, UsageError

_TYPED = {"COMMANDLINE", "ENVIRONMENT"}
_MODEL = ("formula", "columns", "response")
_ALSO_SAID_BY = {
    "alpha": ("ridge",),
    "columns": ("range", "levels", "flag"),
    "formula": (*_MODEL, "ask"),
    "min_rows_party": ("min_rows",),
    "questions": ("ask", *_MODEL),
}
"""Choices that an option of another name makes."""


@contextmanager
def wrong_words(ctx: Any) -> Iterator[None]:
    """Errors about what was typed are wrong usage, and name the option."""
    try:
        yield
    except InputError as error:
        parameter = _typed_for(error.choice, ctx)
        if parameter is None or error.exit_status not in (1, UsageError.exit_status):
            raise
        message = _naming(parameter, error, ctx)
        raise UsageError(message, hint=error.hint, choice=error.choice) from error


@contextmanager
def wrong_types(ctx: Any) -> Iterator[None]:
    """A wrong type, such as text for a number: the error names the variable it is from.

    To programs it is told as all errors are.
    """
    try:
        yield
    except Exception as error:
        parameter = getattr(error, "param", None)
        variable = "" if parameter is None else _variable_with(parameter, ctx)
        if variable and getattr(error, "param_hint", "") is None:
            error.param_hint = f"{_name(parameter)} (variable {variable})"  # type: ignore[attr-defined]
        if log.is_json() and hasattr(error, "format_message"):
            said = error.format_message()
            raise UsageError(f"{said[:1].lower()}{said[1:].removesuffix('.')}") from None
        raise


def wants_json_log(ctx: Any, args: Sequence[str]) -> bool:
    """Whether the log is for programs, as far as can be known before the words are understood."""
    option = next((p for p in ctx.command.params if p.name == "log_format"), None)
    if option is None:
        return False
    last = os.environ.get(variable_of(option, ctx), "")
    for word, after in zip(args, [*args[1:], ""], strict=False):
        name, equals, value = word.partition("=")
        if name in option.opts:
            last = value if equals else after
    return last == "json"


def leave_reading_to_us(parameter: Any) -> None:
    """A file that cannot be read was typed rightly: whoever reads it says so, with status 1.

    typer would call that wrong usage. Where it notes that it looks, depends on its version.
    """
    since_0_29 = getattr(getattr(parameter, "type_descriptor", None), "parameter_info", None)
    found: Any
    for found in (getattr(parameter, "type", None), since_0_29):
        if getattr(found, "readable", False):
            found.readable = False


def variable_of(parameter: Any, ctx: Any) -> str:
    """Where else its value may come from; empty if from nowhere."""
    prefix = getattr(ctx, "auto_envvar_prefix", None)
    return parameter.envvar or (f"{prefix}_{parameter.name.upper()}" if prefix else "")


def _variable_with(parameter: Any, ctx: Any) -> str:
    """Where its value did come from, if that was a variable."""
    source = ctx.get_parameter_source(parameter.name)
    from_variable = source is not None and source.name == "ENVIRONMENT"
    return variable_of(parameter, ctx) if from_variable else ""


def _typed_for(choice: str, ctx: Any) -> Any:
    """The parameter that made this choice; None where nobody typed it."""
    for name in (choice, *_ALSO_SAID_BY.get(choice, ())):
        for parameter in ctx.command.params:
            source = ctx.get_parameter_source(parameter.name)
            if parameter.name == name and source is not None and source.name in _TYPED:
                return parameter
    return None


def _naming(parameter: Any, error: InputError, ctx: Any) -> str:
    """The message, with the option before it where neither message nor hint names it.

    Its value is not repeated: a proxy or a database may be given with a password.
    """
    if variable := _variable_with(parameter, ctx):
        return f"{variable}: {error.message}"
    if parameter.param_type_name != "option":
        return error.message
    said = f"{typed(error.message)} {typed_hint(error.hint)}"
    if any(option in said for option in parameter.opts if option.startswith("--")):
        return error.message
    return f"{_name(parameter)}: {error.message}"


def _name(parameter: Any) -> str:
    return str(max(parameter.opts, key=len))
