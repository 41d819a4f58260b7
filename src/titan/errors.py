"""Every error TITAN raises, as one tree; on the right the exit status of a command that ends so.

    TitanError                                                                                  1
    ├── InputError (a ValueError)       what the caller handed in cannot be used
    │   ├── NetworkError                the graph itself
    │   │   ├── NotStronglyConnectedError   some party cannot reach some other
    │   │   └── NotPrivateError             a cut set of at most τ parties separates others
    │   ├── NumberError                 a NaN, an infinity, or a number the ring cannot hold
    │   ├── PlanError                   recovery, k, rounds, bits or another choice
    │   ├── UsageError                  options that make no sense here, or together            2
    │   ├── FileError                   a file that is malformed: says file and line
    │   │   ├── BusyError               another process is using it                            75
    │   │   ├── FullError               there is no room for it on the disk                    75
    │   │   └── DamagedError            it is not what was written down
    │   ├── DataError                   rows: columns, levels, missing values, text among numbers
    │   │   └── ReleaseError            a rule of release: the answer would give rows away      3
    │   │       └── VetoError           some party refuses for a reason in its rows             3
    │   ├── NotThereError (a KeyError, an IndexError)   a name or position that does not exist
    │   └── FormulaError                a formula that is malformed or not allowed
    ├── WorkersError                    those who were to read rows are not there              75
    ├── RankError                       the pooled system is not provably of full rank
    └── PeerError                       what another party sent or did cannot be right
        ├── MessageError                malformed bytes, or an envelope nobody is waiting for
        ├── RecoveryError               the sum did not come out: masks did not cancel, or
        │   │                           somebody's part never arrived
        │   └── CheckError              a checked sum was falsified on its way; names who did it,
        │                               where that can be told
        ├── AbsentError                 another party does not take part, and says so          75
        └── WaitError                   nothing came in time, and the journal is kept          75

Status 0 is an answer, 1 that there will be none, 2 wrong usage of the command line, 3 a
refusal by a rule of release, 75 that the same command may go on later. An InputError about a
`choice` that was typed on the command line is wrong usage too; in a file it is not.

An error says what was found and what was expected; its `hint` says what to do. Neither ever
contains a row, a moment, a mask or a key: positions, names, sizes and bounds only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any


class TitanError(Exception):
    """The root of the tree; `hint` is one line on what to do about it, or empty."""

    exit_status = 1
    to_others = ""
    """What other parties may be told where this keeps one from taking part; empty for nothing."""
    of_totals = False
    """It follows from what all have learned, so that all parties raise it alike."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """It may come from another process, where rows were read."""
        return _as_it_was, (type(self), self.args), vars(self)


def _as_it_was(kind: type[TitanError], args: tuple[Any, ...]) -> TitanError:
    return kind.__new__(kind, *args)


class InputError(TitanError, ValueError):
    """What the caller handed in cannot be used."""

    choice = ""
    """Whose value cannot be used, where it is that of one argument: missing, k, formula, …"""

    def __init__(self, message: str, *, hint: str = "", choice: str = "") -> None:
        super().__init__(message, hint=hint)
        if choice:
            self.choice = choice


class NetworkError(InputError):
    """The graph cannot be what it is said to be."""


class NotStronglyConnectedError(NetworkError):
    """Party `source` cannot reach party `target`."""

    def __init__(self, message: str, *, source: str, target: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.source = source
        self.target = target


class NotPrivateError(NetworkError):
    """The parties in `cut`, together, would learn more than the pooled sum."""

    def __init__(self, message: str, *, cut: Collection[str], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.cut = frozenset(cut)


class NumberError(InputError):
    """A number that the ring cannot hold."""


class PlanError(InputError):
    """A choice (recovery, k, rounds, bits, …) that does not fit the network or the others."""


class UsageError(InputError):
    """Options of a command that make no sense here, or not together."""

    exit_status = 2


class FileError(InputError):
    """A file that is missing, unreadable or malformed."""

    errno: int | None = None
    """The system's number for what went wrong, where it was the system that refused."""


class BusyError(FileError):
    """Another process is using the file; later it will not."""

    exit_status = 75


class FullError(FileError):
    """There is no room on the disk; once there is, the same command goes on."""

    exit_status = 75


class DamagedError(FileError):
    """A file of our own that is not what was written down."""


class DataError(InputError):
    """Rows that cannot be used."""

    column = ""
    """That of the cell which is wrong, where it is one."""
    row = -1
    """Its number among those that were read together."""
    found = ""
    """What is wrong with it."""


class ReleaseError(DataError):
    """A rule of release refuses: the answer would give away more than it may.

    `rule`, `question` and `cell` say which, of what and where, as far as the reader may know it.
    """

    exit_status = 3

    def __init__(
        self, message: str, *, hint: str = "", rule: str = "", question: str = "", cell: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.rule = rule
        self.question = question
        self.cell = cell

    def refused(self) -> dict[str, str | None]:
        """For JSON."""
        return {key: getattr(self, key) or None for key in ("rule", "question", "cell")}


class VetoError(ReleaseError):
    """A party refuses because of its rows: nobody else learns which party, nor why."""


class NotThereError(InputError, KeyError, IndexError):
    """A name or position that does not exist."""


class FormulaError(InputError):
    """A formula that is malformed, or asks for more than formulas may."""

    choice = "formula"


class RankError(TitanError):
    """The pooled system is not provably of full rank: `columns` depend on each other.

    `bits` is the size of ring to try next, or None where more bits would not help.
    """

    def __init__(
        self,
        message: str,
        *,
        columns: Collection[str] = (),
        bits: int | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.columns = tuple(columns)
        self.bits = bits


class WorkersError(TitanError):
    """Processes or machines that were to read rows are not there, or gone."""

    exit_status = 75


class PeerError(TitanError):
    """What another party sent or did cannot be right; `named` are those whom it is about."""

    def __init__(self, message: str, *, named: Collection[str] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.named = tuple(named)


class MessageError(PeerError):
    """Bytes that are malformed, or an envelope that nobody is waiting for."""


class RecoveryError(PeerError):
    """The recovered sum is not the sum of all inputs; no answer is given."""


class CheckError(RecoveryError):
    """A checked sum was falsified, or not everybody let it be checked; `named` did not."""


class AbsentError(PeerError):
    """Another party does not take part, and says why in its own words; it may come after all."""

    exit_status = 75


class WaitError(PeerError):
    """Nothing came in time; the journal is kept, and the same command goes on."""

    exit_status = 75


@contextmanager
def about(choice: str) -> Iterator[None]:
    """What cannot be used in here is the value of this choice, unless it is a file or rows."""
    try:
        yield
    except InputError as error:
        if not isinstance(error, FileError | DataError):
            vars(error).setdefault("choice", choice)
        raise
