"""When a run is over, however it ended, its secrets are gone, and masks neither come nor go."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.party.loopback import NAMES, Gathering, run
from tests.party.tables import NAMES as FOUR
from tests.party.tables import Table
from tests.party.test_come_back import inputs_of
from tests.party.test_session_rules import _process, be_over
from tests.party.test_stopping import CHORDED, too_few
from tests.party.test_veto import LEVELS
from titan.errors import MessageError, ReleaseError, VetoError
from titan.party import messages
from titan.party.durable_session import Arrival
from titan.party.messages import Enclosed
from titan.protocol import Envelope, RecoveryName
from titan.protocol.masking import SEED_BYTES
from titan.protocol.messages import Kind
from titan.study.audit import JOURNAL
from titan.study.journal import Journal

# -- secrets ----------------------------------------------------------------------------------


def public(folder: Path) -> Gathering:
    """All know from the counts that there are too few rows."""
    return Gathering(folder, changes={"min_rows_total": 40})


def veto(folder: Path) -> Gathering:
    """East refuses after the counts: the others have few rows of a level."""
    g = Gathering(folder, changes={"formula": LEVELS})
    g.add_levels_of_one()
    return g


@pytest.mark.parametrize("why", [public, veto])
@pytest.mark.parametrize("keep", [False, True])
def test_secrets_are_erased_after_a_refusal_between_the_sums(
    tmp_path: Path, why: Any, keep: bool
) -> None:
    g, secrets = why(tmp_path), {name: list[bytes]() for name in NAMES}

    with ExitStack() as stack:
        for name in NAMES:  # each watches through the one before
            stack.enter_context(inputs_of(g.run_folder(name), secrets[name]))
        errors = run(g.errors(keep_journal=keep)).values()
    assert all(isinstance(error, ReleaseError) for error in errors)
    assert any(isinstance(error, VetoError) for error in errors) == (why is veto)
    for name in NAMES:
        assert len(secrets[name]) >= 4, "keys, the digest of the data, masks both ways"
        files = [file.read_bytes() for file in g.run_folder(name).iterdir()]
        found = any(secret in content for secret in secrets[name] for content in files)
        assert found is keep, name
        with Journal.open(g.run_folder(name) / JOURNAL) as journal:
            assert journal.state is not None
            assert journal.state.finished
            assert journal.state.erased is not keep
            assert bool(journal.state.keys) is keep


# -- masks ------------------------------------------------------------------------------------


def mask(number: int, sender: int = 1, receiver: int = 2) -> bytes:
    payload = bytes(SEED_BYTES + 4 * 8)
    return Enclosed(number, Envelope(Kind.MASK, sender, receiver, 0, payload)).encode()


@pytest.mark.parametrize("recovery", ["flood", "tree", "topk"])
def test_a_run_with_an_answer_takes_no_mask(tmp_path: Path, recovery: RecoveryName) -> None:
    with Table(tmp_path, CHORDED, recovery) as table:
        table.run()
        for name in FOUR:
            session = table.seats[name].session
            assert session.agreed
            session._ended.clear()  # as if its neighbours had not said their last
        south = table.seats["south"].session
        for number, why in ((0, "came twice"), (1, "came twice"), (2, "will not come")):
            with pytest.raises(MessageError, match=why):
                south.receive(messages.decode("east", 97, mask(number)))


def test_an_answer_before_the_last_sum_takes_no_mask_for_those_that_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Table(tmp_path, CHORDED) as table:
        for seat in table.seats.values():
            computation = seat.session.sums._fold.computation
            monkeypatch.setattr(
                type(computation), "answer", lambda self, known: known or None, raising=True
            )
        table.run()
        south = table.seats["south"].session
        assert len(south.totals) == 1
        assert south.agreed
        south._ended.clear()
        with pytest.raises(MessageError, match="an envelope for sum 2, which will not come"):
            south.receive(messages.decode("east", 97, mask(1)))


def test_after_a_stop_no_mask_leaves(tmp_path: Path) -> None:
    """South stops alone: whatever still comes, it begins no sum, and says nothing but its last."""
    with Table(tmp_path, CHORDED, stop=too_few) as table:
        table.run()
        for name, seat in table.seats.items():
            kinds = [(m.kind, m.sum) for m in seat.journal.messages() if m.sender == name]
            assert ("MASK", 0) in kinds
            assert not [kind for kind in kinds if kind[1] == 1]
        south = table.seats["south"].session
        south._ended.clear()
        before = dict(south._sequences)
        for number, sender in ((1, 1), (1, 0)):
            late = messages.decode(FOUR[sender], 97, mask(number, sender))
            assert south.receive(late).frames == ()
        assert south._sequences == before, "no number was used"


def test_a_run_without_secrets_writes_no_mask_down(tmp_path: Path) -> None:
    be_over(_process(tmp_path))
    again = _process(tmp_path)
    (refused,) = again.durable.accept([Arrival("south", 0, memoryview(mask(0, 2, 0)))])
    assert refused.reason == "a mask for a run that is over"
    assert again.durable.accepted["south"] == 0
    assert not [frame for frame in again.journal.incoming() if frame.kind == "MASK"]
    again.journal.close()
