"""No secret of a finished run is on the bare disk, in no file and in no block that was freed.

Here a journal alone, on an image that is mounted; whole runs are in the campaign (`make faults`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.party.campaign import raw_disk
from tests.study.runs import beginning, mask_frame, total_frame
from titan.study.journal import Journal


def test_a_finished_run_leaves_no_secret_on_the_disk(tmp_path: Path) -> None:
    secrets: set[bytes] = set()
    try:
        with raw_disk.image(tmp_path) as (file, place), raw_disk.watched(secrets):
            deleted = raw_disk.write_and_delete(place / "deleted")
            for sitting in range(3):
                with Journal.open(place / "journal.db") as journal:
                    beginning(journal)
                    for at in range(10 * sitting, 10 * sitting + 10):
                        journal.record_incoming(mask_frame("east", at, 700 * at + 40))
                        journal.sending(mask_frame("south", at, 500))
                        journal.record_incoming(total_frame("south", 100 + at, 4000))
                    journal.sync()
            with Journal.open(place / "journal.db") as journal:
                journal.finish(b"{}", b"")
                journal.erase_secrets()
    except raw_disk.NotHereError as why:
        pytest.skip(f"no image can be mounted here: {why}")
    assert raw_disk.left_on(file, {deleted}) == 1, "the search finds what is in freed blocks"
    assert len(secrets) == 2 + 1 + 30 + 30, "keys, the key of the journal, masks both ways"
    assert raw_disk.left_on(file, secrets) == 0
