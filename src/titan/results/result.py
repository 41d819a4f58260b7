"""What every result has, whatever was computed: a kind, a state that rebuilds it, a way to a file.

    class Histogram(Result, kind="histogram"): …

is all it takes: the kind is what saved files call the class, and the table of kinds learns of it
when the class is made. All results have `cost` (None without a network) and `record` (everything
that was sent, of a run with record=True); where they are defined `names`, `params`, `bse`, `nobs`.
"""

# Rule 1: nothing here knows a network: a record is whatever has a view of a coalition.
# Rule 2: a state is JSON and exact: what is rebuilt from it gives the same numbers.
# Rule 3: a record holds everybody's secrets: it is neither saved nor pickled.

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any, ClassVar, Protocol, Self, SupportsIndex

import titan
from titan.errors import InputError

KINDS: dict[str, type[Result]] = {}
"""Every kind of result there is in this process."""


def kind_of_result(name: str) -> type[Result] | None:
    """The class that saved files call so. Those of the program itself may not be loaded yet."""
    if name not in KINDS:
        for public in titan.__all__:
            if public[0].isupper():
                getattr(titan, public)
    return KINDS.get(name)


class Recorded(Protocol):
    """A run of which every message was kept."""

    def view(self, coalition: Iterable[str | SupportsIndex]) -> Any: ...


class Result:
    """The answer to one question. Subclasses are frozen dataclasses, or behave like them."""

    kind: ClassVar[str]
    cost: Any = None
    record: Recorded | None = None

    def __init_subclass__(cls, kind: str | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if kind is None:
            return
        other = KINDS.get(kind, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise InputError(
                f"the kind {kind!r} is taken, by {other.__module__}.{other.__qualname__}",
                hint="call the new kind of result something else",
            )
        cls.kind = kind
        KINDS[kind] = cls

    # -- what a subclass says -----------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the numbers that people read."""
        raise NotImplementedError

    def to_state(self) -> dict[str, Any]:
        """What rebuilds this result, in JSON, but for its cost."""
        raise NotImplementedError

    @classmethod
    def from_state(cls, state: object, cost: Any = None) -> Self:
        """The inverse of `to_state`; ValueError, in words that fit after "…: ", for all else."""
        raise NotImplementedError

    def summary(self) -> str:
        """What is printed for people."""
        return repr(self)

    # -- what all of them can do --------------------------------------------------------------

    def view(self, coalition: Iterable[str | SupportsIndex]) -> Any:
        """Exactly what these parties saw, of a run with record=True."""
        if self.record is None:
            raise InputError(
                "nothing was recorded of this run, so nobody's view can be shown",
                hint='run it again with record=True and engine="local"',
            )
        return self.record.view(coalition)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file of mode 600, for `titan.load`; an older one at this place is replaced."""
        from titan.results.result_file import save

        save(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self.to_state(), self.cost)

    def __copy__(self) -> Self:
        return self  # nothing of it can change

    def __deepcopy__(self, memo: Any) -> Self:
        return self
