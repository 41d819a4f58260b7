"""Wrong usage: what is wrong in the words that were typed, and not in what they name.

The library says of which choice the value cannot be used (`InputError.choice`). Where that choice
is an option of the command, and was typed or came from a variable, the words are wrong, and the
exit status is 2. The same error about a study's file stays what it is there: 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
        message = _naming(parameter, error)
        raise UsageError(message, hint=error.hint, choice=error.choice) from error


def _typed_for(choice: str, ctx: Any) -> Any:
    """The parameter that made this choice; None where nobody typed it."""
    for name in (choice, *_ALSO_SAID_BY.get(choice, ())):
        for parameter in ctx.command.params:
            source = ctx.get_parameter_source(parameter.name)
            if parameter.name == name and source is not None and source.name in _TYPED:
                return parameter
    return None


def _naming(parameter: Any, error: InputError) -> str:
    """The message, with the option before it where neither message nor hint names it.

    Its value is not repeated: a proxy or a database may be given with a password.
    """
    if parameter.param_type_name != "option":
        return error.message
    said = f"{typed(error.message)} {typed_hint(error.hint)}"
    if any(option in said for option in parameter.opts if option.startswith("--")):
        return error.message
    return f"{max(parameter.opts, key=len)}: {error.message}"
