"""An exact solution gives the pooled matrices away; a rounded one need not.

Somebody who is told nothing but the exact coefficients of a regression on 854 patients of four
hospitals works out the pooled AᵀA and Aᵀb, the number of patients among them. So a protocol that
opens the exact solution, and says that it opens nothing else, reveals no less than TITAN does.

    python examples/exact_solution.py
"""

from __future__ import annotations

from fractions import Fraction

from titan.moments import Model, collect, open_source
from titan_lab import datasets
from titan_lab.attacks.lattice import Equations, equations_from

FORMULA = "thalach ~ age + sex + trestbps + exang"
SIZES = [1, 50, 1, 130, 1, 150]
"""What anybody would guess: a constant, an age, a yes or no, a blood pressure; a heart rate."""
DIGITS = 6


def pooled() -> Equations:
    """AᵀA and Aᵀb of all patients: the secret that is to be found. All numbers are integers."""
    data = open_source(datasets.path("heart_disease"))
    moments = collect(data, Model(FORMULA)).moments
    assert all(unit == (0, 0) for unit in moments.units)  # noqa: S101 - units of 2^0 · 5^0
    *rows, _ = [[int(x) for x in row] for row in moments.matrix().tolist()]
    return Equations(tuple(tuple(row[:-1]) for row in rows), tuple(row[-1] for row in rows))


def solved(equations: Equations) -> list[Fraction]:
    """The solution as exact fractions: all that is published."""
    from flint import fmpz_mat

    matrix, n = fmpz_mat([list(row) for row in equations.matrix]), len(equations.rhs)
    x = matrix.solve(fmpz_mat(n, 1, list(equations.rhs)))
    return [Fraction(int(x[j, 0].p), int(x[j, 0].q)) for j in range(n)]


def rounded(solution: list[Fraction], digits: int) -> list[Fraction]:
    return [round(x, digits) for x in solution]


def main() -> None:
    secret = pooled()
    solution = solved(secret)
    found = equations_from(solution, sizes=SIZES)
    print(f"{FORMULA}, 854 patients. The first coefficient as an exact fraction:\n")
    print(f"  {solution[0]}\n")
    print("What lattice reduction makes of these five fractions:\n")
    for row, right in zip(found.matrix, found.rhs, strict=True):
        print("  " + "".join(f"{x:>12,}" for x in row) + f"   | {right:>12,}")
    print(f"\nThese are the pooled AᵀA and Aᵀb: {found == secret}.")
    print(f"The first entry is the number of patients: {found.matrix[0][0]}.\n")
    error = Fraction(1, 2 * 10**DIGITS)
    guess = equations_from(rounded(solution, DIGITS), sizes=SIZES, error=error)
    print(f"From coefficients rounded to {DIGITS} decimals the same attack finds them: ", end="")
    print(f"{guess == secret}.")


if __name__ == "__main__":
    main()
