"""Random problems: those with an estimate, and separated ones, which have none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """A table, the model to ask of it, and its design matrix."""

    table: dict[str, Any]
    asked: dict[str, Any]
    matrix: Floats
    y: Floats

    @property
    def weights(self) -> list[float] | None:
        return list(self.table["w"]) if "weights" in self.asked else None

    @property
    def offset(self) -> list[float] | None:
        return list(self.table["o"]) if "offset" in self.asked else None


def drawn(seed: int) -> Drawn:
    """Columns of all sizes and shapes, offsets and weights now and then."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(25, 160)), int(rng.integers(1, 5))
    columns = {f"x{j}": column(rng, n) for j in range(p)}
    matrix = np.column_stack([np.ones(n), *columns.values()])
    family = ("binomial", "poisson")[seed % 2]
    spread = matrix.std(axis=0)
    beta = rng.normal(size=p + 1) * np.where(spread > 0, 1 / np.maximum(spread, 1e-9), 1.0)
    table: dict[str, Any] = dict(columns)
    asked: dict[str, Any] = {"formula": f"y ~ {' + '.join(columns)}", "family": family}
    eta = (matrix - matrix.mean(axis=0)) @ beta * rng.uniform(0.2, 1.0) + rng.normal() * 0.7
    if rng.random() < 0.4:
        table["o"] = np.round(rng.normal(size=n) * 0.5, 2)
        asked["offset"] = "o"
        eta = eta + table["o"]
    if rng.random() < 0.4:
        table["w"] = np.round(rng.uniform(0.1, 3, n), 1)
        asked["weights"] = "w"
    y = _outcomes(rng, family, eta)
    table["y"] = y
    return Drawn(table, asked, matrix, y)


def column(rng: np.random.Generator, n: int) -> Floats:
    shape = int(rng.integers(0, 4))
    if shape == 0:
        return (rng.random(n) < rng.uniform(0.2, 0.8)).astype(float)
    if shape == 1:
        return rng.integers(0, 100, n).astype(float)
    scale = 10.0 ** rng.integers(-3, 4)
    values = rng.normal(size=n) if shape == 2 else rng.exponential(size=n)
    return np.asarray(values * scale + rng.normal() * 3 * scale, np.float64)


def _outcomes(rng: np.random.Generator, family: str, eta: Floats) -> Floats:
    if family == "poisson":
        return rng.poisson(np.exp(np.clip(eta, -20, 4))).astype(float)
    return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float)


def separated(seed: int) -> Drawn:
    """A combination of the columns tells events from others, or a level has none of one kind."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(30, 200)), int(rng.integers(1, 4))
    matrix = np.column_stack([np.ones(n), *(rng.normal(size=n) for _ in range(p))])
    kind = seed % 4
    family = "binomial"
    eta = matrix @ rng.normal(size=p + 1)
    eta -= np.median(eta)
    if kind == 0:  # completely
        y = (eta > 0).astype(float)
    elif kind == 1:  # but for rows on the plane itself, of both kinds
        group = rng.integers(0, 3, n)
        matrix[:, 1] = group - 1.0
        y = np.where(group == 1, (rng.random(n) < 0.5).astype(float), (group == 2).astype(float))
    elif kind == 2:  # a level of which all rows are events
        level = (rng.random(n) < 0.2).astype(float)
        matrix[:, 1] = level
        y = np.where(level > 0, 1.0, (rng.random(n) < 0.5).astype(float))
    else:  # a level without a single count
        family = "poisson"
        level = (rng.random(n) < 0.3).astype(float)
        matrix[:, 1] = level
        y = np.where(level > 0, 0.0, rng.poisson(2.0, n).astype(float))
    columns = {f"x{j}": matrix[:, j] for j in range(1, p + 1)}
    asked = {"formula": f"y ~ {' + '.join(columns)}", "family": family}
    return Drawn({**columns, "y": y}, asked, matrix, y)
