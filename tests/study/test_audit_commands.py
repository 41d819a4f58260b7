"""titan audit and titan verify as people meet them: on a run's folder, and against the study."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.test_commands import answer, titan
from tests.cli.unread import unread
from tests.study.parties import identity
from tests.study.runs import beginning, fixed, mask_frame, total_frame
from tests.study.studies import study
from titan.study.frames import Frame
from titan.study.journal import Journal
from titan.study.transcript import NetworkFacts, Transcript, from_journal

NAMES = ("north", "east", "south")
STUDY = study(NAMES)


@pytest.fixture
def signed(tmp_path: Path) -> Transcript:
    """A run's folder, with journal and transcript, beside its study."""
    STUDY.save(tmp_path / "study.toml")
    (tmp_path / "run").mkdir()
    with Journal.open(tmp_path / "run" / "journal.db") as journal:
        beginning(journal, study=STUDY.digest, keys=[fixed("key 0")])
        for name in NAMES[1:]:
            journal.set_nonce(name, fixed(name))
        journal.sending(Frame("east", 0, "NONCE", b"nonce of north"))
        journal.sending(mask_frame("east", 1, 100))
        journal.sending(total_frame("east", 2, 60))
        journal.agree("12" * 32)
        transcript = from_journal(
            journal, sums=[("tree", 4, b"")], network=NetworkFacts(2, 2, 1), software="titan 0.1.0",
            certificate=identity("north").card.certificate, result={"params": {"age": -0.25}},
            result_sha256="34" * 32,
        )  # fmt: skip
    write(tmp_path, transcript)
    return transcript


def write(folder: Path, transcript: Transcript, by: str = "north") -> None:
    (folder / "run" / "transcript.json").write_bytes(transcript.signed(identity(by).sign))


@pytest.mark.usefixtures("signed")
def test_a_folder_its_journal_and_its_transcript_tell_the_same(tmp_path: Path) -> None:
    found = [
        answer("audit", where, cwd=tmp_path)
        for where in ("run", "run/journal.db", "run/transcript.json")
    ]
    assert [each["sent"] for each in found] == [found[0]["sent"]] * 3
    assert (found[0]["messages"], found[0]["bytes"]) == (3, 174)
    assert [each["finished"] for each in found] == [False, False, True]
    (tmp_path / "run" / "journal.db").unlink()
    assert answer("audit", "run", cwd=tmp_path)["finished"], "the transcript, without a journal"
    shown = titan("audit", "run", cwd=tmp_path).stdout
    assert "north -> east" in shown
    assert "nothing else left this machine" in shown
    assert all(len(line) <= 100 for line in shown.splitlines())
    assert "156 inside the sums" in shown


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize("start", [0, 100])
@pytest.mark.parametrize("length", [None, 0, 16])
def test_of_a_damaged_journal_it_is_said_that_the_transcript_tells_it_too(
    tmp_path: Path, start: int, length: int | None
) -> None:
    """A journal stays one, whatever its first bytes are; nothing is written to it."""
    journal = tmp_path / "run" / "journal.db"
    good = journal.read_bytes()
    rest = b"\xff" * (len(good) - start) if length is None else b"\0" * length
    journal.write_bytes(good[:start] + rest)
    damaged = journal.read_bytes()
    found = titan("audit", "run", cwd=tmp_path)
    assert (found.returncode, found.stdout) == (1, "")
    assert 'the journal "run/journal.db" ' in found.stderr
    assert "transcript:" not in found.stderr
    assert "hint: titan audit run/transcript.json reads the run's transcript" in found.stderr
    assert journal.read_bytes() == damaged
    assert answer("audit", "run/transcript.json", cwd=tmp_path)["finished"]
    (tmp_path / "run" / "transcript.json").unlink()
    alone = titan("audit", "run", cwd=tmp_path)
    assert alone.returncode == 1
    assert "transcript" not in alone.stderr
    assert "hint: " in alone.stderr


@pytest.mark.usefixtures("signed")
def test_who_reads_no_further_changes_no_verdict(tmp_path: Path) -> None:
    place = tmp_path / "run" / "transcript.json"
    for command in ("audit", "verify"):
        done = unread(command, place)
        assert (done.returncode, done.stderr) == (0, "")
    done = unread("verify", place, "--pin", "0" * 64)
    assert (done.returncode, "do not rely on it" in done.stderr) == (1, True)


def test_what_cannot_be_audited(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    for where, message in (
        ("empty", "it has no journal.db and no transcript.json"),
        ("absent", "no such file"),
        ("notes.txt", "not a valid transcript"),
    ):
        done = titan("audit", where, cwd=tmp_path)
        assert done.returncode == 1
        assert message in done.stderr
    done = titan("verify", "empty", cwd=tmp_path)
    assert (done.returncode, "not over has no transcript" in done.stderr) == (1, True)


@pytest.mark.usefixtures("signed")
def test_the_signer_is_held_against_the_study(tmp_path: Path) -> None:
    said = titan("verify", "run", "--study", "study.toml", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "that is the certificate of north in study.toml" in said.stdout
    alone = titan("verify", "run/transcript.json", cwd=tmp_path)
    assert "compare it with the study's card" in alone.stdout
    out = answer("verify", "run", "--study", "study.toml", cwd=tmp_path)
    assert (out["verified"], out["party"]) == (True, "north")


def test_what_the_study_does_not_know_is_refused(tmp_path: Path, signed: Transcript) -> None:
    def refused(transcript: Transcript, by: str = "north") -> str:
        write(tmp_path, transcript, by)
        assert titan("verify", "run", cwd=tmp_path).returncode == 0, "sound in itself"
        done = titan("verify", "run", "--study", "study.toml", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr

    certificate = identity("east").card.certificate
    forged = refused(replace(signed, certificate=certificate), by="east")
    assert 'that of "north" in study.toml is' in forged
    assert "a study that was edited is another study" in refused(replace(signed, study="ab" * 32))
    more = {**signed.nonces, "west": fixed("west").hex()}
    assert "names other parties" in refused(replace(signed, nonces=more))


def test_help_has_examples() -> None:
    for words in (["audit"], ["verify"], ["rehearse"]):
        shown = titan(*words, "--help")
        assert shown.returncode == 0
        assert f"titan {words[0]} " in shown.stdout.partition("Example:")[2]
