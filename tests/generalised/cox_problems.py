"""Random times to an event on a coarse grid, of one to four parties; and monotone likelihoods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.generalised.problems import Floats, column


@dataclass(frozen=True)
class Timed:
    """A table, the question to ask of it, and which party each row is of."""

    table: dict[str, Any]
    asked: dict[str, Any]
    matrix: Floats
    party: Any

    @property
    def tables(self) -> Any:
        """One for each party; the table itself where there is one."""
        if not self.party.any():
            return self.table
        each = [self.party == at for at in range(int(self.party.max()) + 1)]
        return [{name: values[here] for name, values in self.table.items()} for here in each]


def drawn(seed: int, rows: tuple[int, int] = (25, 90)) -> Timed:
    """Columns of all sizes and shapes; few times, so that most events have company."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(*rows)), int(rng.integers(1, 5))
    matrix: Floats = np.column_stack([np.round(column(rng, n), 6) for _ in range(p)])
    spread = np.maximum(matrix.std(axis=0), 1e-9)
    beta = rng.normal(size=p) / spread * rng.uniform(0.2, 0.8)
    party = rng.integers(0, int(rng.integers(1, 5)), n) if seed % 3 else np.zeros(n, int)
    party = np.unique(party, return_inverse=True)[1]
    hazard = np.exp((matrix - matrix.mean(axis=0)) @ beta) * (1 + 0.7 * party)
    event = np.ceil(rng.exponential(size=n) / hazard * rng.integers(2, 20))
    left = np.ceil(rng.exponential(size=n) * rng.integers(5, 30))
    return _timed(matrix, np.minimum(event, left), event <= left, party, seed)


def _timed(matrix: Floats, time: Floats, died: Any, party: Any, seed: int) -> Timed:
    columns = {f"x{j}": matrix[:, j] for j in range(matrix.shape[1])}
    times = np.maximum(time, 1).astype(int)
    table = {**columns, "t": times, "d": np.asarray(died, int)}
    asked = {"formula": " + ".join(columns), "time": "t", "event": "d",
             "ties": ("efron", "breslow")[seed % 2]}  # fmt: skip
    return Timed(table, asked, matrix, party)


def monotone(seed: int) -> Timed:
    """Some combination of the columns tells who has the event next, or a level has no event."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(30, 120)), int(rng.integers(1, 4))
    matrix = np.round(rng.normal(size=(n, p)), 3)
    party = rng.integers(0, 1 + seed % 3, n)
    party = np.unique(party, return_inverse=True)[1]
    died, kind = rng.random(n) < 0.6, seed % 4
    time = rng.integers(1, 12, n).astype(float)
    if kind == 0:  # a level without any event
        matrix[:, 0] = rng.random(n) < 0.3
        died &= matrix[:, 0] == 0
    elif kind == 1:  # whoever has more of a combination has it earlier
        order = np.argsort(np.argsort(-matrix @ rng.normal(size=p)))
        time, died = 1.0 + order, np.ones(n, bool)
    elif kind == 2:  # the same, four and four alike and at the same time
        time = 1.0 + rng.permutation(n) // 4
        matrix[:, 0], died = 50 - time, np.ones(n, bool)
    else:  # a column that is the same within each party
        matrix[:, 0] = party + 1.0
    return _timed(matrix, time, died, party, seed)
