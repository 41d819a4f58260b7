"""The named problems of the bench; a seed gives the same problem again.

small, large          the paper's two experiments: Gaussian entries of variance 2
small-consistent, …   the same matrices, b = A x for a Gaussian x
average               one number per party, uniform in [0, 20)
dominant              a square system with ‖I − D⁻¹A‖∞ = ½, one equation per party
ieee14-areas, -buses  DC state estimation of the IEEE 14-bus network, rows divided by their σ
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from titan.errors import InputError
from titan_lab import datasets
from titan_lab.compare.problem import Floats, Problem

_DEVIATION = np.sqrt(2.0)  # entries of variance 2
_RANGE = 20.0  # the paper's a


def problem(name: str, seed: int = 1) -> Problem:
    """The problem of that name."""
    if name not in _NAMED:
        said, hint = f'there is no problem "{name}"', f"there are {', '.join(_NAMED)}"
        raise InputError(said, hint=hint, choice="problem")
    return _NAMED[name](name, seed)


def names() -> list[str]:
    return list(_NAMED)


def gaussian(
    name: str, seed: int, m: int, rows_each: int, n: int, *, consistent: bool = False
) -> Problem:
    """Entries of A and b drawn from N(0, 2); of b = A x where it is to be consistent."""
    rng = np.random.default_rng(seed)
    A = rng.normal(0, _DEVIATION, (m, rows_each, n))
    b = rng.normal(0, _DEVIATION, (m, rows_each))
    if consistent:
        b = A @ rng.normal(0, _DEVIATION, n)
    return Problem(name, tuple(map(str, range(1, m + 1))), tuple(A), tuple(b), seed=seed)


def average(name: str = "average", seed: int = 1, m: int = 5) -> Problem:
    """One number per party in [0, 20)."""
    return Problem.averaging(np.random.default_rng(seed).uniform(0, _RANGE, m), name, seed)


def dominant(name: str = "dominant", seed: int = 1, m: int = 5) -> Problem:
    """Row sums off the diagonal are half of the diagonal."""
    rng = np.random.default_rng(seed)
    A = rng.normal(0, _DEVIATION, (m, m))
    np.fill_diagonal(A, 0.0)
    np.fill_diagonal(A, 2 * np.abs(A).sum(axis=1))
    b = rng.normal(0, _DEVIATION, m)
    parties = tuple(map(str, range(1, m + 1)))
    return Problem(name, parties, tuple(A[:, None]), tuple(b[:, None]), seed=seed)


def ieee14(name: str, owner: str) -> Problem:
    """One party per area or bus, holding the meters there; x are the angles of buses 2 to 14."""
    meters = _table(datasets.power("ieee14", "meters"))
    states = datasets.facts("ieee14")["state_order"]
    H = np.zeros((len(meters), len(states)))
    for entry in _table(datasets.power("ieee14", "H")):
        H[int(entry["row"]), states.index(entry["bus"])] = float(entry["value"])
    sigma, z = (np.array([float(meter[key]) for meter in meters]) for key in ("sigma", "z"))
    owners = np.array([meter[owner] for meter in meters])
    parties = tuple(sorted(set(owners.tolist()), key=int))
    A: list[Floats] = [(H / sigma[:, None])[owners == party] for party in parties]
    b: list[Floats] = [(z / sigma)[owners == party] for party in parties]
    return Problem(name, parties, tuple(A), tuple(b))


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


_NAMED: dict[str, Callable[[str, int], Problem]] = {
    "small": lambda name, seed: gaussian(name, seed, 5, 3, 5),
    "small-consistent": lambda name, seed: gaussian(name, seed, 5, 3, 5, consistent=True),
    "large": lambda name, seed: gaussian(name, seed, 100, 100, 100),
    "large-consistent": lambda name, seed: gaussian(name, seed, 100, 100, 100, consistent=True),
    "average": average,
    "dominant": dominant,
    "ieee14-areas": lambda name, seed: ieee14(name, "owner_area_derived"),
    "ieee14-buses": lambda name, seed: ieee14(name, "owner_bus"),
}
