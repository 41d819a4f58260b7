"""The words of a formula, and what is said to who writes one that is not in the language.

The words are ASCII: a look-alike of `log` is a stranger. A function may be written as NumPy's,
np.log(x), and is then called so in the names of columns; nothing of NumPy is looked up.
"""

# Rule 1: every character is looked at once: words are found in time linear in the text.
# Rule 2: a hint is a formula of this language that does what was meant, or says what will.

from __future__ import annotations

import re
from dataclasses import dataclass

from titan.decimals import UNSIGNED
from titan.errors import FormulaError

MOST_CHARACTERS = 200_000
NUMPY = "np."
COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")

_TOKEN = re.compile(
    rf"""(?P<space>[ \t\r\n]+)
      | (?P<number>{UNSIGNED})
      | (?P<name>(?:np\.(?=[a-z]))?[A-Za-z_][A-Za-z0-9_]*)
      | (?P<quoted>`[^`]*`)
      | (?P<text>"(?:[^"\\]|\\["'\\])*"|'(?:[^'\\]|\\["'\\])*')
      | (?P<sign>\*\*|<=|>=|==|!=|//|[-~+*/:(),=\[\]<>&|])""",
    re.VERBOSE | re.ASCII,
)

_CHARACTERS = {
    ".": "a name with a dot, or any other odd name, goes in backquotes: `a.b`; all columns are "
    "written out: a + b",
    "^": "interactions up to the second order are (a + b)**2; the square of a number is I(x ** 2)",
    "%": "make this column in the data, and use it by its name",
    "!": "not equal is !=, and what is not so is ~(x > 5), both inside I(…)",
    "@": "make this column in the data, and use it by its name",
    **dict.fromkeys("\u2212\u2013\u2014", "the sign of the keyboard is -"),
    **dict.fromkeys("\u2018\u2019\u201c\u201d\u201e", "the quotes of the keyboard are \" and '"),
}
_LEVELS = 'write C({x}, levels=["a", "b"]), or C({x}) where a study\'s dictionary has the levels'
_DOTTED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)+(\()?", re.ASCII)

_SCALE = (
    "write center({x}), and multiply its coefficient by the standard deviation, which is in "
    "fit.stds; or I(({x} - 50) / 10), with numbers that all agree on"
)
_SPLINE = (
    "its knots follow from all parties' rows: choose one yourself, as in {x} + "
    "I(({x} > 50) * ({x} - 50)), or write poly({x}, 3, raw=True)"
)
_FUNCTIONS = {
    "scale": _SCALE,
    "standardize": _SCALE,
    "bs": _SPLINE,
    "cr": _SPLINE,
    "cs": _SPLINE,
    "cc": _SPLINE,
    "ns": _SPLINE,
    "factor": _LEVELS,
    "as.factor": _LEVELS,
    "relevel": 'write C({x}, Treatment("b"), levels=["a", "b"])',
    "interaction": "write {x}:z, or {x}*z with what is below it",
    "ifelse": "write a comparison: I({x} > 5)",
    "cut": "write a comparison for each end: I({x} > 5) + I({x} > 7)",
    "square": "write I({x} ** 2)",
    "power": "write I({x} ** 2)",
    "absolute": "write abs({x})",
    "fabs": "write abs({x})",
    "ln": "the natural logarithm is log({x})",
    "where": "write a comparison: I({x} > 5)",
    "pow": "write I({x} ** 2)",
    "offset": "take it from the response: I(y - {x}) ~ …",
}


@dataclass(frozen=True)
class Token:
    """A word, of what kind, and at which character."""

    kind: str
    text: str
    at: int


def tokens(text: str) -> list[Token]:
    """The words of a text, and one that says that it ends."""
    if len(text) > MOST_CHARACTERS:
        raise FormulaError(
            f"a formula of {len(text)} characters, where {MOST_CHARACTERS} are the most"
        )
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _refused(text, at)
        if match.lastgroup != "space":
            found.append(Token(str(match.lastgroup), match[0], at))
        at = match.end()
    return [*found, Token("end", "", len(text))]


def _refused(text: str, at: int) -> FormulaError:
    hint = _CHARACTERS.get(text[at], "names other than plain ones go in backquotes")
    begin = at
    while begin and (text[begin - 1].isalnum() or text[begin - 1] in "_."):
        begin -= 1
    if text[at] == "." and (word := _DOTTED.match(text, begin)) is not None:
        hint = _dotted(word, text)
    return FormulaError(
        f"formula, character {at + 1}: {text[at]!a} is not part of the language", hint=hint
    )


def _dotted(word: re.Match[str], text: str) -> str:
    """A column with a dot in its name, or a function of some package."""
    name = word[0].rstrip("(")
    if not word[1]:
        return f"a name with a dot goes in backquotes: `{name}`"
    package, _, function = name.rpartition(".")
    argument = re.match(r"\s*(\w*)", text[word.end() :])
    known = _FUNCTIONS.get(name) or _FUNCTIONS.get(function)
    if known is not None:
        return _filled(known, argument[1] if argument else "x")
    if package in ("numpy", "math"):
        return f"write {NUMPY}{function}(…) or {function}(…), if it is among the functions"
    return "only NumPy's names may have a dot, as np.log(x): make this column in the data"


def center_hint(centred: object, *, inside: bool = False) -> str:
    """What to write instead of center(…) where that cannot be, by itself or inside arithmetic."""
    text = str(centred)
    moved = f"{text if text.isidentifier() or text.endswith(')') else f'({text})'} - 50"
    return (
        f"write {f'({moved})' if inside else f'I({moved})'}, with a number near the mean that all "
        "agree on: slopes and their errors are the same"
    )


def hint_for(function: str, argument: str, known: str) -> str:
    """What to write instead of a function that is not there; `argument` is its first word."""
    said = _FUNCTIONS.get(function.removeprefix(NUMPY))
    return (
        _filled(said, argument) if said else f"there are {known}; or make this column in the data"
    )


def _filled(hint: str, argument: str) -> str:
    return hint.format(x=argument if argument.isidentifier() else "x")
