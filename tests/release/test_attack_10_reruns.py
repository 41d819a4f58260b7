"""Attack 10: a party enters a false diagonal of AᵀA, and asks for reruns.

While the scale of the second sum was found by the first, whoever said that its own squares are 2^60
times as large chose how coarsely everybody rounds. Over several runs, each with another scale, the
totals tell sums of the parties' rounding errors: bits of their own numbers.

Invariant: in a study nothing that is opened changes what a party puts in, reruns on the same rows
have the same totals, and three vetoes end a question.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.test_commands import titan
from tests.joint.test_meeting import Watched
from tests.party.loopback import NAMES, Gathering, run
from tests.release.asking import study_of
from tests.release.shipped import HEART, hospitals
from titan.errors import ReleaseError, VetoError
from titan.joint import together
from titan.joint.equations import Found, Opened
from titan.joint.meeting import Known, Meeting
from titan.leastsquares import column_scales
from titan.moments import Model, collect
from titan.party import attendance

FORMULA = "thalach ~ age + trestbps"
PARTIES = {name.replace(" ", "-"): source for name, source in hospitals().items()}


# -- what a false diagonal did ------------------------------------------------------------------


def test_where_the_scale_is_found_it_is_the_liars() -> None:
    """Each scale gives another sum of rounded parts, and with it a bit more of these."""
    model = Model(FORMULA)
    moments = [collect(source, model).moments for source in PARTIES.values()]
    found = Found(model.names, len(moments), 32, "inference")
    first, second = (each.ring for each in found.sums)
    begun = [found.secret(0, Opened(), m, "") for m in moments]
    true = found.learn(0, Opened(), reduce(first.add, begun))
    told = set()
    for lie in range(14):
        opened = replace(true, diagonal=[x * 4**lie for x in true.diagonal])
        parts = [found.secret(1, opened, m, "") for m in moments]
        total = second.to_signed(reduce(second.add, parts))
        scales = column_scales(opened.diagonal)
        told.add(total[2] << (scales[1] + scales[2]))  # Σ age · trestbps, as it is read back
    assert len(told) > 5, "and each differs by the parties' own rounding"


# -- nothing to steer ---------------------------------------------------------------------------


def asked() -> tuple[Meeting, list[Any]]:
    study = study_of(PARTIES, HEART, FORMULA, "exang ~ age + oldpeak")
    return study.meeting, [study.meeting.prepare(source) for source in PARTIES.values()]


def test_what_a_party_puts_in_does_not_depend_on_what_was_opened() -> None:
    """But for whether it goes on: sums are of whole numbers, of a size known before."""
    meeting, parts = asked()
    known: dict[str, Known] = {"true": meeting.begin(), "false": meeting.begin()}
    for n in range(len(meeting.sums)):
        secrets = [meeting.secret(n, known["true"], part) for part in parts]
        for part, secret in zip(parts[:-1], secrets, strict=False):
            assert np.array_equal(meeting.secret(n, known["false"], part), secret)
        ring = meeting.sums[n].ring
        total = reduce(ring.add, secrets)
        false = reduce(ring.add, [*secrets[:-1], secrets[0]])  # the last has what the first has
        known = {
            "true": meeting.learn(n, known["true"], total),
            "false": meeting.learn(n, known["false"], false),
        }


def test_reruns_have_the_same_totals() -> None:
    meeting, parts = asked()
    runs = []
    for _ in range(3):
        watched = Watched(meeting.computations)
        together(watched, parts, study_of(PARTIES, HEART, FORMULA).settings)
        runs.append(watched.totals)  # type: ignore[attr-defined]
    assert len(runs[0]) == 3
    for again in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(runs[0], again, strict=True))


# -- vetoes are counted ---------------------------------------------------------------------------


def with_levels(folder: Path) -> Gathering:
    """East has rows of level v, and the two others one each: too few beside its own."""
    g = Gathering(folder, changes={"formula": "y ~ x + C(g, levels=['u', 'v'])"})
    g.add_levels_of_one()
    return g


def test_three_vetoes_end_the_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In every party's ledger, also of those who do not know whose vetoes they were."""
    monkeypatch.setattr(attendance, "SECONDS", 0.0)
    g = with_levels(tmp_path)
    for number in (1, 2, 3):
        errors = run(g.errors(run=number))
        assert {name for name, error in errors.items() if isinstance(error, VetoError)} == {
            "north", "south",
        }  # fmt: skip
        assert isinstance(errors["east"], ReleaseError)
    for name in NAMES:
        with pytest.raises(ReleaseError, match="stopped by a veto 3 times on these rows"):
            run(g.join(name, run=4))
    another = replace(g.study, title="the same question in another study")
    with pytest.raises(ReleaseError, match="stopped by a veto 3 times on these rows"):
        run(g.join("north", another, run=5))
    g.save()
    done = titan(*g.words("north", "--run", 4, "--json"), cwd=tmp_path)
    assert done.returncode == 3
    assert json.loads(done.stdout)["refused"]["rule"] == "vetoes"
    assert "stopped by a veto 3 times" in done.stderr
