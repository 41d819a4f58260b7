"""A figure in the report was measured, and what was not measured is said with its reason."""

from __future__ import annotations

import sys
from fractions import Fraction
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks.__main__ import main as bench
from benchmarks.__main__ import report
from benchmarks.measure import Row, tables
from benchmarks.parties import durations
from benchmarks.peers import mpyc_sum, processes
from benchmarks.peers import report as peer_report
from benchmarks.peers.__main__ import main as peers
from benchmarks.peers.everyone import PEERS, rows
from benchmarks.peers.inputs import Equations, Floats, error, exact_sum, vectors
from benchmarks.peers.report import Measured, MissingRow, NotMeasuredError, PeerRow
from benchmarks.peers.titan_runs import titan_solve, titan_sum

FIGURES = Measured(2.0, 300, 1e-12), Measured(0.5, 200, 0.0)


@pytest.fixture
def _nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> ModuleSpec | None:
        return None

    monkeypatch.setattr(peer_report, "find_spec", find_spec)


@pytest.mark.usefixtures("_nothing_installed")
@pytest.mark.parametrize("name", [name for name in PEERS if name != "pooled"])
def test_a_peer_that_is_not_installed_is_skipped_with_a_message(name: str) -> None:
    [row] = rows([name])
    assert isinstance(row, MissingRow)
    assert row.peer == name
    assert "not installed: `pip install 'titan-consensus[peers]'`" in row.skipped


@pytest.mark.usefixtures("_nothing_installed")
def test_the_page_says_what_was_skipped_at_the_top_and_in_its_place() -> None:
    page = report({"peers": list(rows(["ckks", "mpi"]))})
    top, table = page.split("## Peers")
    assert "Skipped in this run:" in top
    for peer, package in (("ckks", "tenseal"), ("mpi", "mpi4py")):
        assert f"- {peer}: {package} not installed" in top
        assert f"|  | {peer} | skipped |" in table


def test_a_page_with_all_measured_says_so() -> None:
    page = report({"peers": [PeerRow("sum", "somebody", *FIGURES, "a remark")]})
    assert "Nothing was skipped." in page
    assert "kipped in this run" not in page


def test_ratios_are_the_peers_figures_divided_by_ours() -> None:
    assert PeerRow("sum", "somebody", *FIGURES, "a remark").cells == (
        "sum",
        "somebody",
        "2 s",
        "4x",
        "300",
        "1.5x",
        "1e-12 (0e+00)",
        "a remark",
    )


def test_bytes_that_nobody_counted_have_no_ratio() -> None:
    uncounted = Measured(2.0, None, 0.0)
    assert PeerRow("sum", "somebody", uncounted, FIGURES[1], "").cells[4:6] == ("not counted", "")


def test_rows_of_one_kind_share_a_table() -> None:
    row, peer = Row("a", "b", "c", True), PeerRow("sum", "somebody", *FIGURES, "")
    kinds = [
        text.splitlines()[0] for text in tables([peer, MissingRow("x", "y"), row]).split("\n\n")
    ]
    assert [kind.split(" | ")[0] for kind in kinds] == ["| task", "| what"]


@pytest.mark.parametrize("main", [bench, peers])
def test_an_unknown_name_is_refused_with_those_there_are(
    main: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(main)
    assert main(["nobody"]) == 2
    said = capsys.readouterr().err
    assert "'nobody'" in said
    assert "hint: one of" in said


def test_the_error_is_relative_to_the_largest_entry() -> None:
    exact = [Fraction(4), Fraction(1)]
    assert error([4.0, 1.0], exact) == 0
    assert error([4.0, 2.0], exact) == 0.25
    with pytest.raises(ValueError, match="1 numbers found, 2 expected"):
        error([4.0], exact)


def test_exact_answers_agree_with_another_way_to_them() -> None:
    values, equations = vectors(3, 4), Equations.draw(3, 10, 2)
    assert exact_sum(values)[0] == sum(Fraction(x) for x in values[:, 0].tolist())
    A, b = equations.pooled
    assert np.allclose(np.array(equations.exact(), float), np.linalg.lstsq(A, b)[0], rtol=1e-12)


def test_titan_is_measured_on_the_same_inputs_and_counts_its_bytes() -> None:
    for measured in (titan_sum(vectors(3, 4), 1), titan_solve(Equations.draw(3, 10, 2), 1)):
        assert measured.seconds > 0
        assert measured.sent is not None
        assert measured.sent > 0
        assert measured.error < 2**-52


# -- peers that are processes ----------------------------------------------------------------


def test_a_party_that_fails_ends_the_others_and_is_quoted(tmp_path: Path) -> None:
    fails = [sys.executable, "-c", "raise SystemExit('out of luck')"]
    waits = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(NotMeasuredError, match="did not run here: exit status 1; out of luck"):
        processes.run_all([waits, fails], tmp_path / "log")


def test_a_peer_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "DEADLINE_SECONDS", 0.1)
    waits = [sys.executable, "-c", "import time; time.sleep(60)"]
    with pytest.raises(NotMeasuredError, match="not done after 0 s"):
        processes.run_all([waits], tmp_path / "log")


def test_a_repetition_lasts_from_the_first_beginning_until_the_last_knows() -> None:
    one = {"began": [0.0, 20.0, 41.0], "knew": [1.0, 25.0, 43.0]}
    other = {"began": [0.5, 20.5, 40.0], "knew": [3.0, 21.0, 42.0]}
    assert processes.until_all_know([one, other]) == 3.0  # of 3, 5 and 3


def test_all_begin_at_the_instant_that_the_first_one_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([10.0, 10.0, 10.01, 10.04, 10.2, 10.2, 20.0, 20.0])
    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(processes, "REST_SECONDS", 0.125)
    waits = [processes.rest(tmp_path, repetition) for repetition in (1, 1, 1, 2)]
    assert waits == pytest.approx([0.125, 0.085, 0.0, 0.125])


# -- TITAN's processes against MPyC's --------------------------------------------------------


def test_a_sum_lasts_from_the_first_beginning_until_the_last_has_it() -> None:
    """Meeting, sum, meeting, sum, meeting: of each party, when it began them."""
    assert durations([[0.0, 2.0, 5.0, 6.0, 7.0], [1.0, 3.0, 4.0, 5.5, 9.0]]) == [3.0, 3.5]


def test_the_ratio_to_mpyc_is_held_against_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    def ours(values: Floats, tau: int, repeats: int, relays: str) -> Measured:
        return Measured(0.28, 1, 0.0)

    def theirs(values: Floats, tau: int) -> Measured:
        return Measured(1.0, 1, 0.0)

    monkeypatch.setattr(mpyc_sum, "sum_over_tls", ours)
    monkeypatch.setattr(mpyc_sum, "measured", theirs)
    trusted, checked = mpyc_sum.against_processes()
    assert trusted.measured.startswith("0.28x")
    assert (trusted.met, checked.met) == (False, True)


def test_without_titans_processes_the_target_is_neither_met_nor_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ours(values: Floats, tau: int, repeats: int, relays: str) -> Measured:
        raise NotMeasuredError("not today")

    monkeypatch.setattr(mpyc_sum, "sum_over_tls", ours)
    (row,) = mpyc_sum.against_processes()
    assert row.skipped == "not today"
    assert row.met is None
    assert "skipped: not today" in row.cells[1]
