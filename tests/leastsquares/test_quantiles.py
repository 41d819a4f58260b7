"""Student's quantiles are proven at every level, and found without SciPy."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from titan.leastsquares.inference import quantile


@pytest.mark.parametrize("alpha", [1 - 1e-6, 0.5, 1e-3, 1e-20, 1e-200])
@pytest.mark.parametrize("freedom", [1, 2, 3, 30])
def test_quantiles_of_any_level_have_all_digits(freedom: int, alpha: float) -> None:
    """Also where SciPy's is half of what it should be: 1e-200 with 3 degrees of freedom."""
    assert quantile(alpha, freedom).digits >= 12


@pytest.mark.parametrize("alpha", [0.9, 0.05, 1e-9])
def test_those_of_one_degree_of_freedom_are_known(alpha: float) -> None:
    assert float(quantile(alpha, 1)) == pytest.approx(1 / math.tan(math.pi * alpha / 2), rel=1e-12)


def test_an_answer_needs_no_scipy() -> None:
    """To load it takes longer than to solve: every party would, while the others wait."""
    code = (
        "import sys, titan\n"
        "rows = {'x': [1, 2, 3, 5], 'y': [1, 3, 2, 4]}\n"
        "titan.fit(rows, formula='y ~ x').to_dict()\n"
        "assert 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
