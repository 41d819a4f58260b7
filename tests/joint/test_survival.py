"""Invariant: curves, errors and tests are those of the same rows in one place, exactly.

statsmodels is the reference, on times that were rounded up to the grid as TITAN rounds them. Every
number is off by no more than its bound, which is at the last place of a double.
"""

from __future__ import annotations

import copy
import json
import math
import pickle
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from statsmodels.datasets import heart
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

import titan
from tests.joint.trial import COLUMNS, by_party, trial
from titan.errors import FileError, InputError, NotThereError
from titan.joint.kaplan_meier import SCALES
from titan.joint.survived import Survival

TRIAL = trial()
ASKED: Any = {"time": "months", "event": "died", "by": "arm", "dictionary": COLUMNS}


def grouped(times: list[int], grid: float) -> Any:
    return np.ceil(np.array(times, float) / grid) * grid


def reference(rows: Any, grid: float, arm: str) -> SurvfuncRight:
    mine = np.array(rows["arm"]) == arm
    return SurvfuncRight(grouped(rows["months"], grid)[mine], np.array(rows["died"])[mine])


# -- against statsmodels ----------------------------------------------------------------------


@pytest.mark.parametrize("grid", [1, 4, 6])
def test_curves_are_those_of_statsmodels_on_grouped_times(grid: int) -> None:
    found = titan.survival(TRIAL, **ASKED, grid=grid)
    assert found.names == ("arm = a", "arm = b")
    for arm in "ab":
        curve, expected = found[arm], reference(TRIAL, grid, arm)
        at = [curve.time.index(t) for t in expected.surv_times]
        assert np.array(curve.survival)[at] == pytest.approx(expected.surv_prob, abs=1e-14)
        known = ~np.isnan(expected.surv_prob_se)
        se = np.array(curve.se)[at][known]
        assert se == pytest.approx(expected.surv_prob_se[known], abs=1e-14)
        assert np.array(curve.at_risk)[at].tolist() == expected.n_risk.tolist()
        assert np.array(curve.events)[at].tolist() == expected.n_events.tolist()
        assert max(curve.error_bound.values()) < 1.2e-16
        for p in (0.25, 0.5, 0.8):
            assert curve.quantile(p) == expected.quantile(p)
            if not math.isnan(expected.quantile_ci(p)[0]):  # where an interval jumps over it
                assert curve.quantile_ci(p) == expected.quantile_ci(p)


@pytest.mark.parametrize(
    ("weights", "theirs"), [("logrank", None), ("wilcoxon", "gb"), ("tarone-ware", "tw")]
)
@pytest.mark.parametrize("by", ["arm", ["arm", "sex"]])
def test_tests_are_those_of_statsmodels(by: Any, weights: Any, theirs: Any) -> None:
    found = titan.survival(TRIAL, **(ASKED | {"by": by}), grid=3).logrank(weights)
    columns = [by] if isinstance(by, str) else by
    group = [" ".join(levels) for levels in zip(*(TRIAL[c] for c in columns), strict=True)]
    times, died = grouped(TRIAL["months"], 3), np.array(TRIAL["died"])
    statistic, p = survdiff(times, died, np.array(group), weight_type=theirs)
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.p_value == pytest.approx(p, rel=1e-6)
    assert found.df == len(set(group)) - 1
    assert found.error_bound["statistic"] < 1e-14 * found.statistic
    assert sum(found.expected.values()) == pytest.approx(sum(found.observed.values()))


def test_real_transplants() -> None:
    """The Stanford heart transplants that statsmodels ships, one row after the other."""
    data = heart.load_pandas().data
    rows = {"days": data["survival"].astype(int), "died": data["censors"].astype(int)}
    curve = titan.survival(rows, time="days", event="died")["all"]
    expected = SurvfuncRight(data["survival"], data["censors"])
    at = [curve.time.index(t) for t in expected.surv_times]
    assert np.array(curve.survival)[at] == pytest.approx(expected.surv_prob, abs=1e-14)
    assert curve.median == expected.quantile(0.5)


@pytest.mark.parametrize("scale", SCALES)
def test_limits_are_greenwoods_on_each_scale(scale: Any) -> None:
    """In floats, from the counts; limits of probabilities stay between 0 and 1."""
    curve, z = titan.survival(TRIAL, **ASKED, grid=6)["b"], NormalDist().inv_cdf(0.95)
    s, v = 1.0, 0.0
    limits = curve.conf_int(0.1, scale)
    for n, d, found in zip(curve.at_risk, curve.events, limits, strict=True):
        s *= (n - d) / n
        if n == d:
            assert math.isnan(found[0])
            continue
        v += d / (n * (n - d))
        away = z * math.sqrt(v)
        ends = {
            "plain": (s - s * away, s + s * away),
            "log": (s * math.exp(-away), s * math.exp(away)),
            "log-log": (s ** math.exp(away / -math.log(s)), s ** math.exp(away / math.log(s))),
        }[scale]
        assert found == pytest.approx([min(max(end, 0), 1) for end in ends], abs=1e-13)


# -- among parties ----------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["local", "vectorised"])
def test_parties_together_get_what_one_party_with_all_rows_gets(engine: Any) -> None:
    options = {**ASKED, "grid": 6, "until": 24}
    alone = titan.survival(TRIAL, **options)
    found = titan.survival(by_party(TRIAL), "cycle", **options, tau=1, engine=engine)
    assert found == alone
    assert found.to_dict() == alone.to_dict()
    assert found.nobs == 600
    assert found.cost.rounds > 0


def test_without_any_event_the_second_sum_is_not_made() -> None:
    rows = TRIAL | {"died": [0] * 600}
    found = titan.survival(by_party(rows), "cycle", **ASKED, grid=6, until=24, record=True)
    assert [each.name for each in found.view(["north"]).sums] == ["counts"]
    assert set(found["a"].survival) == {1.0}
    assert found["a"].conf_int()[0] == (1.0, 1.0)
    assert found["a"].median == math.inf
    assert math.isnan(found.logrank().p_value)
    assert "not defined" in found.summary()
    assert json.dumps(titan.results.decode(titan.results.encode(found))[0].to_state())


def test_a_curve_that_stays_at_a_half_is_multiplied_out_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its ball does not tell whether it is one half: once for all intervals, not for each."""
    half, made = 40, list[int]()
    prod = math.prod

    def counted(factors: Any) -> Any:
        made.append(1)
        return prod(factors)

    exits = [2] * half + [0, 1] * half
    events = [2] * half + [0] * (2 * half)
    ends = [Fraction(at + 1) for at in range(3 * half)]
    curve = Survival.of(("t", "d", (), ""), ends, {(): (exits, events, half)})["all"]
    monkeypatch.setattr(math, "prod", counted)
    assert curve.median == half
    assert len(made) == 1


def test_who_leaves_after_the_end_is_still_there_then() -> None:
    """As if all were followed no longer: the curve is the beginning of the whole one."""
    whole = titan.survival(TRIAL, **ASKED, grid=6)["a"]
    begun = titan.survival(TRIAL, **ASKED, grid=6, until=24)["a"]
    assert begun.time == (6.0, 12.0, 18.0, 24.0)
    assert begun.survival == whole.survival[:4]
    assert begun.at_risk == whole.at_risk[:4]
    assert begun.later == whole.at_risk[4]


def test_a_group_that_nobody_is_in_has_no_curve_and_no_say() -> None:
    columns = dict(COLUMNS) | {"arm": titan.release.Category(("a", "b", "none of these"))}
    found = titan.survival(TRIAL, **(ASKED | {"dictionary": columns}), grid=6)
    empty = found["none of these"]
    assert (empty.nobs, empty.time, empty.median) == (0, (), math.inf)
    expected = titan.survival(TRIAL, **ASKED, grid=6).logrank()
    assert (found.logrank().df, found.logrank().statistic) == (1, expected.statistic)
    assert "none of these" in found.summary()


def test_a_test_of_a_billion_rows_is_over_in_no_time() -> None:
    """Its p-value as a fraction would have as many bits as there are rows."""
    n, ends = 10**9, [Fraction(1), Fraction(2)]
    exits: Any = {("a",): ([4 * n, n], [4 * n, n], 0), ("b",): ([n, 4 * n], [n, 4 * n], 0)}
    found = Survival.of(("months", "died", ("arm",), ""), ends, exits).logrank()
    assert found.statistic > n
    assert (found.p_value, found.error_bound["p_value"]) == (0.0, 5e-324)


def test_margins_are_the_curves_by_fewer_columns() -> None:
    both = titan.survival(TRIAL, **(ASKED | {"by": ["arm", "sex"]}), grid=6)
    assert both.names[0] == "arm = a, sex = f"
    assert both["a", "f"] is both["arm = a, sex = f"]
    assert both.margin("arm") == titan.survival(TRIAL, **ASKED, grid=6)
    assert both.margin()["all"].nobs == 600
    with pytest.raises(NotThereError, match="no groups by 'ward'"):
        both.margin("ward")


def test_a_median_that_is_met_exactly_is_the_first_time_with_half() -> None:
    """2/3 · 3/4 is one half: balls cannot tell it from a little more."""
    rows = {"t": [1, 2, 3, 3, 4, 4], "d": [1, 1, 1, 0, 0, 0]}
    curve = titan.survival(rows, time="t", event="d")["all"]
    assert curve.estimates[2].survival.mid != Fraction(1, 2) or curve.survival[2] == 0.5
    assert curve.median == 3.0
    assert titan.survival({"t": [1] * 4, "d": [1] * 4}, time="t", event="d")["all"].se[0] != 0.0


# -- kept -------------------------------------------------------------------------------------


def test_it_is_saved_loaded_and_copied(tmp_path: Path) -> None:
    found = titan.survival(TRIAL, **ASKED, grid=6)
    found.save(tmp_path / "os.json")
    loaded = titan.load(tmp_path / "os.json")[0]
    assert isinstance(loaded, Survival)
    assert loaded == found == copy.copy(found)
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    assert loaded.summary() == found.summary()
    assert "arm = a" in repr(found)
    table = found.to_dict()["groups"]["arm = a"]
    assert {len(table[key]) for key in ("time", "at_risk", "survival", "se", "lower")} == {10}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"grid": "0"}, "intervals"),
        ({"intervals": 3}, "list"),
        ({"curves": []}, "no groups"),
        ({"by": []}, "list"),
        ({"more": 1}, "fields"),
    ],
)
def test_a_state_that_is_not_one_is_refused(change: dict[str, Any], why: str) -> None:
    state = titan.survival(TRIAL, **ASKED, grid=6).to_state()
    with pytest.raises(ValueError, match=why):
        Survival.from_state(state | change)


def test_more_events_than_rows_are_refused() -> None:
    state = titan.survival(TRIAL, **ASKED, grid=6).to_state()
    state["curves"][0]["events"][0] = 600
    with pytest.raises(ValueError, match="more events"):
        Survival.from_state(state)


def test_odd_arguments_are_refused_in_words() -> None:
    curve = titan.survival(TRIAL, **ASKED, grid=6)["a"]
    for wrong in (
        lambda: curve.conf_int(1.5),
        lambda: curve.quantile(1.0),
        lambda: curve.quantile(2),
    ):
        with pytest.raises(InputError, match="between 0 and 1"):
            wrong()
    with pytest.raises(InputError, match="scale"):
        curve.conf_int(0.05, "linear")  # type: ignore[arg-type]
    alone = titan.survival(TRIAL, **(ASKED | {"by": None}), grid=6)
    with pytest.raises(InputError, match="compares groups"):
        alone.logrank()
    with pytest.raises(NotThereError, match="no group 'c'"):
        _ = alone["c"]


# -- the picture ------------------------------------------------------------------------------


def test_the_picture_has_curves_and_numbers_at_risk(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures are an optional extra: plot")
    found = titan.survival(TRIAL, **ASKED, grid=6, until=24)
    above, below = found.plot(tmp_path / "os.png", title="trial", censored=True).axes
    assert (tmp_path / "os.png").stat().st_size > 10_000
    legend: Any = above.get_legend()
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["arm = a", "arm = b"]
    dashes = {str(line.get_linestyle()) for line in above.get_lines() if line.get_label() in labels}
    assert len(dashes) == 2, "black and white is enough"
    told = [text.get_text() for text in below.texts]
    for curve in found.values():
        assert str(curve.nobs) in told
        assert str(curve.later) in told
    with pytest.raises(FileError, match="ending"):
        found.plot(tmp_path / "os.txt")


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_error_says_what_to_install() -> None:
    with pytest.raises(InputError, match=r"titan-consensus\[plot\]"):
        titan.survival(TRIAL, **ASKED, grid=6).plot()
