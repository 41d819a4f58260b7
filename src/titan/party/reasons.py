"""Why a party does not take part, as far as others are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from titan.errors import TitanError, WorkersError


class Reason(StrEnum):
    """Why a party does not take part, as far as others are told."""

    DECLINED = "its people declined"
    FILE = "its file of rows does not fit the study"
    LEDGER = "its ledger refuses the study"
    STUDY = "its check of the study found a problem"


@contextmanager
def told_as(reason: Reason) -> Iterator[None]:
    """What goes wrong inside may be told to others, in these words."""
    try:
        yield
    except WorkersError:  # the study and the file may be right, and the workers come yet
        raise
    except TitanError as error:
        error.to_others = reason
        raise
