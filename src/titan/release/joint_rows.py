"""The columns of several questions over the same rows, as one matrix.

What is summed for one question can be taken from what is summed for another: I(age + spike) in one,
age in the other. And of a response that is a spike, Aᵀb is that row of A. So the responses are
columns as well, and a question adds 0 where it leaves a row out for its gaps: its sums do.
A question with weights sums w·a beside a, unless rows weigh the same in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from titan.moments.cells import PlaceAmong
from titan.moments.columns import Column
from titan.moments.expressions import quoted
from titan.moments.model import Model, Readings
from titan.moments.rows import Batch, ModelRows
from titan.moments.sources import Block
from titan.moments.terms import DesignColumn


def joint_model(models: Sequence[Model], weights: str | None = None) -> Model:
    """One whose regressors are all columns of these models, the responses too.

    `weights` are those of all of them; what other weights a model has is a factor of its columns.
    """
    terms: dict[str, None] = {}
    for model in models:
        own = [":".join(map(str, term)) for term in model.terms if term] + [str(model.response)]
        terms |= dict.fromkeys(own)
        if model.weights not in (None, weights):
            name = quoted(model.weights)
            terms |= dict.fromkeys([name, *(f"{term}:{name}" for term in own)])
    constant = "1" if any(() in model.terms for model in models) else "0"
    apart = f"I(0 + {quoted(models[0].number_columns[0])})"  # a response that is none of them
    times = {model.time for model in models}
    time = times.pop() if len(times) == 1 else None  # a gap there leaves out the row
    return Model(f"{apart} ~ {' + '.join([constant, *terms])}", weights=weights, time=time)


@dataclass(frozen=True)
class JointRows:
    """Groups of questions; those of one leave out the same rows."""

    groups: tuple[ModelRows, ...]
    """Each with the joint model of its questions."""

    @classmethod
    def of(cls, questions: Sequence[ModelRows]) -> JointRows:
        weights = {rows.model.weights for rows in questions}
        common = weights.pop() if len(weights) == 1 else None
        by_columns: dict[frozenset[str], list[ModelRows]] = {}
        for rows in questions:
            needed = rows.model.columns_needed if rows.missing == "drop" else ()
            by_columns.setdefault(frozenset(needed), []).append(rows)
        return cls(
            tuple(
                ModelRows(
                    joint_model([r.model for r in rows], common), rows[0].missing, rows[0].check
                )
                for rows in by_columns.values()
            )
        )

    @cached_property
    def columns_needed(self) -> tuple[str, ...]:
        found = (name for rows in self.groups for name in rows.model.columns_needed)
        return tuple(dict.fromkeys(found))

    @property
    def size(self) -> int:
        return min(rows.size for rows in self.groups)

    @property
    def weights(self) -> str | None:
        return self.groups[0].model.weights

    @cached_property
    def design(self) -> list[DesignColumn]:
        return [column for rows in self.groups for column in rows.model.design]

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns, and of the response, which is none of them."""
        found = [f"{at}" for at in range(len(self.design))]
        return (*found, "apart")

    def evaluate(self, readings: Readings) -> list[Column]:
        """Of rows that all questions use."""
        found = [column for rows in self.groups for column in rows.model.evaluate(readings)[:-1]]
        return [*found, Column(np.zeros(readings.rows, np.int64))]

    def batch(self, block: Block, *, complete: bool = False) -> Batch | None:
        """The rows that any question uses, or only those that all do; None if gaps refuse all."""
        read = [rows.readings(block) for rows in self.groups]
        pairs = zip(self.groups, read, strict=True)
        if any(rows.missing == "refuse" and count.dropped for rows, (_, _, count) in pairs):
            return None
        used = [~incomplete for _, incomplete, _ in read]
        at = np.flatnonzero((np.logical_and if complete else np.logical_or).reduce(used))
        columns: list[Column] = []
        weights, numbers, codes = None, dict[str, Any](), dict[Any, Any]()
        for rows, (readings, _, _), there in zip(self.groups, read, used, strict=True):
            place = np.flatnonzero(there[at])
            own = readings.take(at[place])
            own = own if rows.check is None else rows.check(own)
            numbers, codes = {**numbers, **own.numbers}, {**codes, **own.codes}
            found = [*rows.model.evaluate(own)[:-1]]
            columns += [_spread(column, place, len(at)) for column in found]
            if rows.model.weights is not None:
                own_weights = rows.model.evaluate_weights(own)
                assert own_weights is not None  # noqa: S101 - it has some
                weights = _spread(own_weights, place, len(at), weights)
        columns.append(Column(np.zeros(len(at), np.int64)))
        data = (numbers, codes) if complete else ({}, {})
        readings = Readings(len(at), *data, PlaceAmong(block.place, at))
        return Batch(columns, len(at), readings, weights)


def _spread(column: Column, place: Any, rows: int, beside: Column | None = None) -> Column:
    """Over more rows: 0 where it is not, or what stands there already in the same unit."""
    if len(place) == rows:
        return column
    whole = np.zeros(rows, column.numbers.dtype)
    if beside is not None and (beside.two, beside.five) == (column.two, column.five):
        whole = beside.numbers.astype(column.numbers.dtype)
    whole[place] = column.numbers
    return Column(whole, column.two, column.five)
