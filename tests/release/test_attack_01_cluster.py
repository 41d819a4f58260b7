"""Attack 1: the clustered meat, opened to the last digit, tells every hospital's own sums.

Invariant: what is opened in its place does not, and four hospitals are refused in any case.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from flint import fmpq_mat, fmpz_mat

import titan
from tests.cli.test_commands import titan as command
from tests.release.asking import ask
from tests.release.lattices import integer_solution
from tests.release.test_attack_03_hc0 import pooled, unwhitened
from tests.study.studies import regression
from titan.errors import InputError, ReleaseError
from titan.joint.equations import Given
from titan.joint.kinds import Question, Setting
from titan.joint.regression import Regression
from titan.joint.settings import SumSettings
from titan.joint.together import together
from titan.moments import Model, collect, open_source
from titan.moments.collecting import summed_score
from titan.release import Dictionary
from titan.release.dictionary import Number
from titan.release.policy import DEFAULT
from titan.release.sizes import sizes
from titan_lab import datasets

NET = titan.Network.complete(4)
MODEL = Model("y ~ x")
KNOWN = Dictionary.of({"y": Number.read("0", "63", "1"), "x": Number.read("0", "31", "1")})
PAIRS = list(combinations_with_replacement(range(5), 2))
SIZES = (30, 300, 4000, 750, 8000)
"""What anybody would guess of a hospital's rows, Σx, Σx², Σy and Σxy."""


def tables() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    out = []
    for rows in (23, 31, 40, 26):
        x = rng.integers(2, 20, rows)
        out.append({"x": x.tolist(), "y": (rng.integers(0, 20, rows) + x).tolist()})
    return out


def own_sums(table: dict[str, Any]) -> tuple[int, ...]:
    x = np.array(table["x"])
    return 1, len(x), int(x.sum()), int((x * x).sum())


OTHERS = set(map(own_sums, tables()[1:]))


def attack(x: Any, meat: list[list[Fraction]], error: Fraction) -> set[tuple[int, ...]]:
    """The other three's AᵀA (1, rows, Σx, Σx²), as the first hospital finds them.

    With u = (rows, Σx, Σx², Σy, Σxy) of a hospital its s is C u, and so M = C U Cᵀ with the integer
    matrix U = Σ u uᵀ: a first reduction tells those of its entries that come with squares of the
    coefficients. With the totals, which are open, and without the own part that leaves the Gram
    matrix of the others' vectors.
    """
    p, q = x
    rows = [[-p, -q, 0, 1, 0], [0, -p, -q, 0, 1]]
    both = [
        [(rows[j][a] * rows[k][b], rows[j][b] * rows[k][a]) for a, b in PAIRS]
        for j, k in ((0, 0), (0, 1), (1, 1))
    ]
    equations = [
        [Fraction(c + d if a != b else c) for (c, d), (a, b) in zip(row, PAIRS, strict=True)]
        for row in both
    ]
    told = [meat[0][0], meat[0][1], meat[1][1]]
    found = integer_solution(equations, told, [4 * SIZES[a] * SIZES[b] for a, b in PAIRS], error)
    if found is None:
        return set()
    entries = dict(zip(PAIRS, found, strict=True))
    totals = np.sum([own_sums(table) for table in tables()], axis=0)
    gram = np.zeros((4, 4), object)
    gram[0], gram[:, 0] = totals, totals
    gram[1:, 1:] = [[entries[min(a, b), max(a, b)] for b in range(3)] for a in range(3)]
    own = np.array(own_sums(tables()[0]), object)
    return summands((gram - np.multiply.outer(own, own)).tolist())


def summands(gram: list[list[int]]) -> set[tuple[int, ...]]:
    """The vectors u, one fewer than they have entries, with Σ u uᵀ = gram.

    They are integer, in its column space, and orthonormal under its pseudo-inverse: the shortest
    there are.
    """
    n = len(gram)
    kernel, nullity = fmpz_mat(gram).nullspace()
    if nullity != 1:
        return set()
    across = [int(kernel[a, 0]) for a in range(n)]
    dear = [[int(a == b) for b in range(n)] + [across[a] << 200] for a in range(n)]
    reduced = fmpz_mat(dear).lll()
    within = [r for r in range(n) if not reduced[r, n]]
    basis = fmpz_mat([[int(reduced[r, a]) for a in range(n)] for r in within])
    # on the column space the pseudo-inverse is the inverse of gram + k kᵀ
    outer = fmpz_mat([[a * b for b in across] for a in across])
    inverse = fmpq_mat(fmpz_mat(gram) + outer).inv()
    form = fmpq_mat(basis) * inverse * fmpq_mat(basis.transpose())
    r, common = range(n - 1), 1 << 300
    rounded = [[int(form[a, b].p) * common // int(form[a, b].q) for b in r] for a in r]
    _, change = fmpz_mat(rounded).lll(True, 0.99, 0.51, "gram", "exact")
    out = set()
    for combination in product(range(-3, 4), repeat=n - 1):
        vector = fmpz_mat([combination]) * change * basis
        if vector[0, 0] == 1:  # the constant
            length = fmpq_mat(vector) * inverse * fmpq_mat(vector.transpose())
            if length[0, 0] == 1:
                out.add(tuple(map(int, vector.entries())))
    return out


def test_the_exact_meat_tells_every_hospitals_sums() -> None:
    x = fitted().robust.agreed.x
    parts = [summed_score(collect(table, MODEL).moments, x) for table in tables()]
    assert attack(x, pooled(parts), Fraction(1, 1 << 140)) == OTHERS


def test_what_is_opened_tells_nobodys() -> None:
    fit = fitted()
    meat, error = unwhitened(fit)
    found = attack(fit.robust.agreed.x, meat, error)
    assert not {vector[:2] for vector in found} & {vector[:2] for vector in OTHERS}


def fitted() -> Any:
    """As if a study allowed it."""
    known = sizes(MODEL, KNOWN)
    assert known is not None
    equations = Given(MODEL.names, known, "inference")
    regression = Regression(equations, 4, DEFAULT, MODEL, cov_type="cluster")
    parts = [regression.prepare(open_source(table)) for table in tables()]
    return together(regression, parts, SumSettings(NET)).answer


@pytest.mark.parametrize(
    ("parties", "tau", "refused"), [(4, 1, True), (5, 1, False), (4, 0, False)]
)
def test_four_hospitals_are_refused(parties: int, tau: int, refused: bool) -> None:
    question = Question.of("regression", "q1", {"formula": "y ~ x", "cov_type": "cluster"}, KNOWN)
    setting = Setting(tuple("abcdef"[:parties]), KNOWN, DEFAULT, tau=tau)
    if not refused:
        assert question.computation(setting).sums[-1].ring.bits == 72
        return
    with pytest.raises(InputError, match="4 parties with tau = 1 for 2 coefficients"):
        question.computation(setting)


# -- as a study asks it -----------------------------------------------------------------------


def test_a_study_of_four_hospitals_is_not_made() -> None:
    parties = dict(zip("abcd", tables(), strict=True))
    with pytest.raises(ReleaseError, match="its sum could tell each party's own") as caught:
        ask(parties, KNOWN, regression("y ~ x", cov_type="cluster"))
    assert caught.value.rule == "clusters"
    assert "cov_type=HC0, or at least 5 parties" in caught.value.hint
    assert ask(parties, KNOWN, regression("y ~ x", cov_type="HC0")).refused is None


def test_of_six_what_is_opened_is_rounded() -> None:
    """The exact meat is in units of a 2^-254th; here a number has some 24 bits."""
    parties = dict(zip("abcdef", [*tables(), *tables()[:2]], strict=True))
    ended = ask(parties, KNOWN, regression("y ~ x", cov_type="cluster"))
    assert ended.opened == ("counts", "regressors", "response", "robust errors")
    assert ended.fit().robust is not None
    assert ended.study.meeting.sums[-1].ring.bits <= 72


def test_the_command_ends_with_status_3() -> None:
    asked = "regression: thalach ~ age + sex; cov_type=cluster"
    file = datasets.path("heart_disease")
    done = command("rehearse", file, "--party", "hospital", "--tau", 1, "--ask", asked, "--json")
    assert done.returncode == 3
    assert json.loads(done.stdout)["refused"]["rule"] == "clusters"
