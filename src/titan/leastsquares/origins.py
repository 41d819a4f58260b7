"""What a fit was made of, beyond its numbers: so that it can predict raw rows and be asked again.

Its formula, the means of what is centred, the column of weights. None of it is in older files; in
a file each stands only where there is something to say, but for a regression's formula, which may
be null.
"""

from __future__ import annotations

import shlex
from typing import Any, Protocol

from titan import canonical
from titan.canonical import exact_text, read_exact
from titan.errors import FormulaError
from titan.moments.centring import Centres
from titan.moments.model import Model

MOST_FORMULA = 1_000_000
"""Characters of a formula in a file."""


class Origins(Protocol):
    """What has them."""

    @property
    def formula(self) -> str | None: ...
    @property
    def centres(self) -> Centres: ...
    @property
    def weights(self) -> str | None: ...


def model_of(fit: Origins) -> Model | None:
    """What makes its columns of raw rows; None where columns came as they are."""
    return None if fit.formula is None else Model(fit.formula, centres=fit.centres)


def ask(fit: Origins, response: str = "…", **options: Any) -> str:
    """The --ask line of the same model with other options."""
    weights = [] if fit.weights is None else [f"weights={fit.weights}"]
    said = [f"regression: {fit.formula or f'{response} ~ …'}", *weights]
    return f"--ask {shlex.quote('; '.join([*said, *(f'{k}={v}' for k, v in options.items())]))}"


def to_state(fit: Origins) -> dict[str, Any]:
    """All but the formula, as far as there is any."""
    centres = {text: exact_text(mean) for text, mean in fit.centres.items()}
    weights = {} if fit.weights is None else {"weights": fit.weights}
    return ({"centres": centres} if centres else {}) | weights


def taken_from(state: dict[str, Any]) -> dict[str, Any]:
    """The same of a file, taken out of it."""
    found: dict[str, Any] = {}
    if "weights" in state:
        found["weights"] = canonical.text(state.pop("weights"))
    if "centres" in state:
        centres = canonical.mapping(state.pop("centres"))
        if not centres:
            raise ValueError("it names means of which there are none")
        found["centres"] = {_text(text): read_exact(mean) for text, mean in centres.items()}
    return found


def read_formula(formula: object, centres: Centres, names: tuple[str, ...]) -> str | None:
    """ValueError, of a file, where this is not the formula of these columns."""
    if formula is None:
        return None
    text = _text(formula)
    try:
        found = Model(text, centres=centres).names[:-1]
    except FormulaError:
        raise ValueError("its formula cannot be read") from None
    if sorted(found) != sorted(names):
        raise ValueError("its formula is not that of its columns")
    return text


def _text(value: object) -> str:
    return canonical.text(value, MOST_FORMULA)
