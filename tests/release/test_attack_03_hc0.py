"""Attack 3: HC0's meat, opened to the last digit, tells the sums of third and fourth powers.

Invariant: what a study opens of it does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import titan
from tests.batches import scores
from tests.release.lattices import integer_solution
from titan.joint.kinds import Question, Setting
from titan.joint.settings import SumSettings
from titan.joint.together import together
from titan.leastsquares import Regression
from titan.leastsquares.balls import Ball
from titan.moments import Model, Moments, open_source
from titan.release import Dictionary
from titan.release.dictionary import Number
from titan.release.policy import DEFAULT

NET = titan.Network.complete(3)
KNOWN = Dictionary.of({"b": Number.read("0", "200", "1"), "x": Number.read("0", "60", "1")})
UNKNOWN = ("xxx", "bxx", "bbx", "xxxx", "bxxx", "bbxx")


def tables() -> list[dict[str, Any]]:
    rng = np.random.default_rng(3)
    x = rng.integers(20, 60, (3, 50))
    b = 100 + x + rng.integers(-30, 30, (3, 50))
    return [{"b": b[p].tolist(), "x": x[p].tolist()} for p in range(3)]


def truth(word: str) -> int:
    columns = {name: np.concatenate([t[name] for t in tables()]) for name in "bx"}
    return int(np.prod([columns[name].astype(object) for name in word], axis=0).sum())


def study() -> Regression:
    asked = {"formula": "b ~ x", "cov_type": "HC0"}
    question = Question.of("regression", "q1", asked, KNOWN)
    computation = question.computation(Setting(NET.parties, KNOWN, DEFAULT))
    parts = [computation.prepare(open_source(table)) for table in tables()]
    fit: Regression = together(computation, parts, SumSettings(NET)).answer
    return fit


def attack(x: Any, meat: list[list[Fraction]], error: Fraction) -> list[int] | None:
    """M01 = Σe²x and M11 = Σe²x², e = b − p − qx, less what the pooled moments tell anyway."""
    p, q = x
    known = {word: truth(word) for word in ("x", "xx", "bx")}
    first = meat[0][1] - (p * p * known["x"] - 2 * p * known["bx"] + 2 * p * q * known["xx"])
    second = meat[1][1] - p * p * known["xx"]
    rows = [[q * q, -2 * q, 1, 0, 0, 0], [2 * p * q, -2 * p, 0, q * q, -2 * q, 1]]
    sizes = [150 * 100 ** word.count("b") * 40 ** word.count("x") for word in UNKNOWN]
    coefficients = [[Fraction(c) for c in row] for row in rows]
    return integer_solution(coefficients, [first, second], sizes, error)


def test_the_exact_meat_tells_the_sums_of_third_and_fourth_powers() -> None:
    fit = study()
    assert fit.robust is not None
    x, model = fit.robust.agreed.x, Model("b ~ x")
    parts = [scores(table, model, x) for table in tables()]
    exact = [
        [sum((m.fraction(j, k) for m in parts), Fraction(0)) for k in range(2)] for j in range(2)
    ]
    found = attack(x, exact, Fraction(1, 1 << 120))
    assert found == [truth(word) for word in UNKNOWN]


def test_what_a_study_opens_tells_none_of_them() -> None:
    fit = study()
    assert fit.robust is not None
    meat, error = unwhitened(fit)
    found = attack(fit.robust.agreed.x, meat, error) or [0] * 6
    wrong = [z != truth(word) for z, word in zip(found, UNKNOWN, strict=True)]
    assert all(wrong)


def test_and_the_errors_are_as_good_as_proven() -> None:
    fit = study()
    together_ = {name: [v for t in tables() for v in t[name]] for name in "bx"}
    exact = titan.fit(together_, formula="b ~ x", cov_type="HC0")
    pairs = zip(fit.bse.enclosures, exact.bse.enclosures, strict=True)
    for ball, true in pairs:
        assert isinstance(ball, Ball)
        assert isinstance(true, Ball)
        assert abs(ball.mid - true.mid) <= ball.rad + true.rad
        assert 5 <= ball.digits <= 8


def pooled(parts: Sequence[Moments]) -> list[list[Fraction]]:
    """To the last digit."""
    both = range(2)
    return [[sum((m.fraction(j, k) for m in parts), Fraction(0)) for k in both] for j in both]


def unwhitened(fit: Regression) -> tuple[list[list[Fraction]], Fraction]:
    """M = W⁻¹M'W⁻ᵀ in the units of the columns, and about how far the rounding moves it."""
    assert fit.robust is not None
    agreed, n = fit.robust.agreed, len(fit.names)
    w = np.array(agreed.whitening.matrix / (1 << agreed.whitening.digits), float)
    back = np.ldexp(np.linalg.inv(w), np.array(agreed.whitening.scales)[:, None])
    meat = np.array(fit.robust.meat, float) * float(agreed.unit)
    moved = back @ (np.ones((n, n)) * float(agreed.unit)) @ back.T
    whole = back @ meat @ back.T
    return [[Fraction(v) for v in row] for row in whole.tolist()], Fraction(np.abs(moved).max())
