"""An exact solution determines the pooled matrices; one of few enough digits does not.

That is why TITAN calls the pooled AᵀA and Aᵀb released, and not the solution alone.
"""

from __future__ import annotations

import math
import runpy
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from examples import exact_solution

from titan.errors import InputError
from titan_lab.attacks.lattice import Equations, equations_from

ROOT = Path(__file__).parent.parent.parent


def equations(n: int, seed: int, largest: int = 2000) -> Equations:
    """The normal equations of 20 random rows, a common factor taken out; entries of ~24 bits."""
    rng = np.random.default_rng([n, seed])
    A = rng.integers(-largest, largest, (20, n), endpoint=True)
    b = rng.integers(-largest, largest, 20, endpoint=True)
    G, g = (A.T @ A).tolist(), (A.T @ b).tolist()
    common = math.gcd(*g, *(x for row in G for x in row))
    return Equations(tuple(tuple(x // common for x in r) for r in G), tuple(x // common for x in g))


def bits_each(pair: Equations) -> int:
    """How many bits the pair has for every number of its solution."""
    entries = [x for j, row in enumerate(pair.matrix) for x in row[j:]] + list(pair.rhs)
    return sum(abs(x).bit_length() for x in entries) // len(pair.rhs)


def cut(solution: list[Fraction], bits: int) -> list[Fraction]:
    """Rounded to so many bits after the point."""
    return [Fraction(round(x * 2**bits), 2**bits) for x in solution]


@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.parametrize("seed", [0, 1])
def test_the_exact_solution_gives_the_pooled_matrices_away(n: int, seed: int) -> None:
    secret = equations(n, seed)
    assert equations_from(exact_solution.solved(secret)) == secret


@pytest.mark.parametrize("n", range(1, 7))
def test_a_rounded_solution_fits_other_matrices_as_well(n: int) -> None:
    """The control. With 10 bits fewer than the matrices have, others are shorter and fit better."""
    secret = equations(n, 0)
    bits = bits_each(secret) - 10
    x = cut(exact_solution.solved(secret), bits)
    found = equations_from(x, error=Fraction(1, 2 ** (bits + 1)))
    assert found != secret
    assert length(found, x, bits) < length(secret, x, bits)


def length(pair: Equations, x: list[Fraction], bits: int) -> float:
    """Of the pair and of G x − g in units of the rounding, as the attack measures it."""
    rows = zip(pair.matrix, pair.rhs, strict=True)
    left = [sum(a * b for a, b in zip(row, x, strict=True)) - right for row, right in rows]
    entries = [y for j, row in enumerate(pair.matrix) for y in row[j:]] + list(pair.rhs)
    return math.hypot(*map(float, entries), *(float(y * 2 ** (bits + 1)) for y in left))


@pytest.mark.parametrize("n", range(1, 7))
def test_rounding_that_leaves_more_bits_than_the_matrices_have_hides_nothing(n: int) -> None:
    """Not every rounded solution is less: with 20 bits more the matrices are found again."""
    secret = equations(n, 0)
    bits = bits_each(secret) + 20
    x = cut(exact_solution.solved(secret), bits)
    assert equations_from(x, error=Fraction(1, 2 ** (bits + 1))) == secret


@pytest.mark.parametrize(("n", "largest", "found"), [(2, 20, True), (3, 2000, False)])
def test_a_double_is_rounded_enough_for_large_numbers_only(
    n: int, largest: int, found: bool
) -> None:
    secret = equations(n, 0, largest)
    doubles = [Fraction(float(x)) for x in exact_solution.solved(secret)]
    assert (equations_from(doubles, error=Fraction(1, 2**52)) == secret) is found


def test_real_patients() -> None:
    """The example: five fractions give the sums over 854 patients, six decimals do not, 24 do."""
    secret = exact_solution.pooled()
    assert secret.matrix[0][0] == 854
    solution = exact_solution.solved(secret)
    assert equations_from(solution, sizes=exact_solution.SIZES) == secret
    for digits, found in ((exact_solution.DIGITS, False), (24, True)):
        few, error = exact_solution.rounded(solution, digits), Fraction(1, 2 * 10**digits)
        guess = equations_from(few, sizes=exact_solution.SIZES, error=error)
        assert (guess == secret) is found


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "exact_solution.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "pooled AᵀA and Aᵀb: True" in said
    assert "finds them: False" in said


@pytest.mark.parametrize(
    ("solution", "choices", "words"),
    [
        ([], {}, "no unknowns"),
        ([Fraction(1)], {"sizes": [1]}, "1 sizes for 1 columns"),
        ([Fraction(1)], {"sizes": [1, 0]}, "whole number from 1"),
        ([Fraction(1)], {"error": Fraction(0)}, "0 or less"),
    ],
)
def test_bad_questions_are_refused(
    solution: list[Fraction], choices: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        equations_from(solution, **choices)  # type: ignore[arg-type]
