"""Transcripts of several parties: what real runs leave agrees, and whatever one alters is found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_commands import titan
from tests.party.loopback import NAMES, Gathering, run
from tests.study.parties import identity
from titan import Network
from titan.errors import FileError
from titan.party.stops import Stop
from titan.study.cross_check import CrossCheck, cross_check
from titan.study.kinds import Message
from titan.study.transcript import Stopped, SumRecord, Transcript
from titan.study.verified import Facts, verify

CHORD = Network([*Network.cycle(list(NAMES)).edges, ("north", "south")])


@pytest.fixture(scope="module", params=["flood", "tree", "topk"])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Gathering:
    """A study after its run."""
    folder = tmp_path_factory.mktemp(request.param)
    g = Gathering(folder, network=CHORD, changes={"recovery": request.param})
    run(g.all())
    g.save()
    return g


def folders(g: Gathering) -> list[Path]:
    return [g.run_folder(name) for name in NAMES]


def altered(g: Gathering, change: Callable[[Transcript], Transcript], name: str) -> CrossCheck:
    """That of one party is another, which it signs."""
    found = [verify(folder / "transcript.json") for folder in folders(g)]
    place = NAMES.index(name)
    lying = g.folder / "lying.json"
    new = change(found[place].transcript)
    assert new != found[place].transcript
    lying.write_bytes(new.signed(identity(name).sign))
    found[place] = verify(lying)
    return cross_check(found)


def test_what_a_run_left_agrees(kept: Gathering) -> None:
    checked = cross_check(folders(kept))
    assert not checked.differences
    told = [each.transcript for each in checked.facts]
    received = [m for t in told for m in t.messages if m.receiver == t.party]
    sent = [m for t in told for m in t.sent]
    assert checked.messages == len(received) <= len(sent)
    late = {m.kind for m in sent} if len(sent) > len(received) else set()
    assert {m.kind for m in received} | late == {m.kind for m in sent}
    if told[0].sums[0].recovery != "flood":
        assert all(record.check for t in told for record in t.sums)
        awaited = [m for m in sent if m.sum is not None]
        assert sorted(awaited) == sorted(m for m in received if m.sum is not None)
    assert checked == cross_check(checked.facts)
    assert len(cross_check(folders(kept)[:2]).facts) == 2
    assert cross_check(folders(kept)[:1]).messages == 0


# -- what is altered --------------------------------------------------------------------------


def last(t: Transcript, wanted: Callable[[Message], bool]) -> tuple[int, Message]:
    """The last of these messages in the sums, and where it stands in the last sum."""
    return next(
        (at, m) for at, m in reversed([*enumerate(t.sums[-1].messages)]) if wanted(m) and m.sha256
    )


def changed_sum(t: Transcript, change: Callable[[SumRecord], SumRecord]) -> Transcript:
    return replace(t, sums=(*t.sums[:-1], change(t.sums[-1])))


def message(t: Transcript, wanted: Callable[[Message], bool], *new: Message) -> Transcript:
    at, _ = last(t, wanted)

    def change(record: SumRecord) -> SumRecord:
        return replace(record, messages=record.messages[:at] + new + record.messages[at + 1 :])

    return changed_sum(t, change)


def from_north(m: Message) -> bool:
    return m.sender == "north"


def other_digest(t: Transcript) -> Transcript:
    return message(t, from_north, replace(last(t, from_north)[1], sha256="ab" * 32))


def other_size(t: Transcript) -> Transcript:
    m = last(t, from_north)[1]
    return message(t, from_north, replace(m, size=m.size + 1))


def other_result(t: Transcript) -> Transcript:
    params = t.result["params"]
    return replace(t, result={**t.result, "params": {**params, "x": params["x"] + 1e-6}})


def half_told(t: Transcript) -> Transcript:
    return replace(t, control=tuple(m for m in t.control if m.kind != "NONCE"))


def end_of_nobody(t: Transcript) -> Transcript:
    return replace(t, control=(*t.control, Message("north", "east", None, 0, "END", 99)))


def falsified(t: Transcript) -> Transcript:
    return replace(t, pooled=None, result={}, stopped=Stopped("it was", ("north",)))


ALTERED: dict[str, Callable[[Transcript], Transcript]] = {
    "the nonce of south": lambda t: replace(t, nonces={**t.nonces, "south": "cd" * 32}),
    "the network": lambda t: replace(t, network=replace(t.network, connectivity=9)),
    "the number of sums": lambda t: replace(t, sums=t.sums[:-1]),
    "the recovery of sum 1": lambda t: replace(
        t, sums=(replace(t.sums[0], recovery="other"), *t.sums[1:])
    ),
    "the check of sum 3": lambda t: changed_sum(t, lambda s: replace(s, check="ef" * 32)),
    "the end": falsified,
    "the pooled sum": lambda t: replace(t, pooled="ab" * 32),
    "the result": other_result,
    "the SHA-256 of result.json": lambda t: replace(t, result_sha256="ab" * 32),
}


@pytest.mark.parametrize("about", ALTERED)
def test_what_all_know_is_told_alike(kept: Gathering, about: str) -> None:
    checked = altered(kept, ALTERED[about], "east")
    found = [each for each in checked.differences if each.about == about]
    assert [each.parties for each in found] == [("north", "east"), ("east", "south")]
    assert len({each.told for each in found}) == 2
    others = {name for each in checked.differences for name in each.parties}
    assert others == set(NAMES)
    assert all("east" in each.parties for each in checked.differences)
    if about.startswith("the nonce"):
        assert len(checked.differences) == 2, "of another run nothing else is compared"


@pytest.mark.parametrize("change", [{"run": 2}, {"study": "ab" * 32}])
def test_those_of_different_runs_are_not_held_against_each_other(
    kept: Gathering, change: dict[str, Any]
) -> None:
    with pytest.raises(FileError, match="the transcripts are of different runs: run 1 of") as found:
        altered(kept, lambda t: replace(t, **change), "east")
    study = change.get("study", kept.study.digest)[:12]
    assert f"; run {change.get('run', 1)} of study {study} (east)" in found.value.message
    assert "(north, south)" in found.value.message
    assert found.value.exit_status == 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (other_digest, ", sha256 " + "ab" * 32),
        (other_size, " bytes, sha256 "),
        (half_told, "nothing"),
        (end_of_nobody, "99 bytes"),
    ],
)
def test_both_ends_tell_every_message(kept: Gathering, change: Any, told: str) -> None:
    checked = altered(kept, change, "east")
    assert checked.differences
    for each in checked.differences:
        assert "from north to east" in each.about or "from east to south" in each.about
        assert told in each.told[each.parties[1] == "east"]
        assert str(each).startswith(f"{each.about}: {each.parties[0]} says ")
    first = checked.differences[0]
    assert (first.parties, "from north to east" in first.about) == (("north", "east"), True)


def test_what_a_party_must_have_received_it_tells(kept: Gathering) -> None:
    checked = altered(kept, lambda t: message(t, from_north), "east")
    [found] = checked.differences
    assert (found.parties, found.told[1]) == (("north", "east"), "nothing")
    [unsent] = altered(kept, lambda t: message(t, from_north), "north").differences
    assert unsent.told[0] == "nothing", "whatever it was, it was sent"
    without = replace_masks(checked.facts[0].transcript)
    assert any("MASK in round 0" in each.about for each in unlike(kept, without))


def replace_masks(t: Transcript) -> Transcript:
    """North tells of one link less: that to south, and nothing along it."""

    def dropped(record: SumRecord) -> SumRecord:
        return replace(record, messages=tuple(m for m in record.messages if m.receiver != "south"))

    control = tuple(m for m in t.control if m.receiver != "south")
    return replace(t, sums=tuple(map(dropped, t.sums)), control=control)


def unlike(g: Gathering, t: Transcript) -> Any:
    return altered(g, lambda _: t, t.party).differences


def test_last_digits_of_floats_are_the_machines(kept: Gathering) -> None:
    def rounded(t: Transcript) -> Transcript:
        params = {name: value * (1 + 2.0**-50) for name, value in t.result["params"].items()}
        return replace(t, result={**t.result, "params": params}, result_sha256="ab" * 32)

    assert not altered(kept, rounded, "east").differences


def test_who_is_named_is_told_alike(kept: Gathering) -> None:
    found = [verify(folder / "transcript.json") for folder in folders(kept)]
    told = [falsified(each.transcript) for each in found]
    assert not cross_check(Facts(t, "") for t in told).differences
    told[2] = replace(told[2], stopped=Stopped("it was", ("east",)))
    differ = cross_check(Facts(t, "") for t in told).differences
    assert {each.about for each in differ} == {"who is named"}
    assert {each.told for each in differ} == {("north", "east")}


def told_of_an_end(origin: str, cause: str) -> Stopped:
    """In the words of a party that is told so."""
    stop, names = Stop(NAMES.index(origin), NAMES.index(cause)), [*NAMES]
    why = f"sum 2 could not be checked: {stop.words(names)} before everybody had told what it knew"
    return Stopped(why, tuple(stop.named(names)))


def test_what_a_liar_makes_honest_parties_tell_differently_is_no_difference(
    kept: Gathering,
) -> None:
    """East shows north what nobody signed. North ends the run because of east, in the first sum;
    south hears of it in the second, and cannot know which of the two is right."""
    told = [falsified(verify(folder / "transcript.json").transcript) for folder in folders(kept)]
    first = replace(told[0].sums[0], check=None)
    told[0] = replace(told[0], sums=(first,), stopped=Stopped("it was", ("east",)))
    told[2] = replace(told[2], stopped=told_of_an_end("north", "east"))
    found = cross_check(Facts(t, "") for t in (told[0], told[2]))
    assert (found.differences, found.messages > 0) == ((), True)


# -- the command ------------------------------------------------------------------------------


def test_the_command_compares_several(kept: Gathering) -> None:
    runs = folders(kept)
    good = titan("verify", *runs, "--study", "study.toml", cwd=kept.folder)
    assert (good.returncode, good.stderr) == (0, "")
    assert "all 3 transcripts agree, and " in good.stdout
    assert "those are the certificates of north, east, south in study.toml" in good.stdout
    told = json.loads(titan("verify", *runs, "--json").stdout)
    assert (told["verified"], told["differences"]) == (True, [])
    alone = [json.loads(titan("verify", folder, "--json").stdout) for folder in runs]
    assert told["transcripts"] == alone
    pins = [word for each in alone for word in ("--pin", each["fingerprint"])]
    assert titan("verify", *runs, *pins).returncode == 0
    refused = titan("verify", *runs, *pins[2:])
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "somebody else signed it" in refused.stderr
    assert "--pin for each" in titan("verify", *runs).stdout


def test_the_command_shows_what_differs(kept: Gathering) -> None:
    altered(kept, other_digest, "east")
    paths = [kept.run_folder("north"), kept.folder / "lying.json", kept.run_folder("south")]
    done = titan("verify", *paths, "--study", kept.folder / "study.toml")
    assert done.returncode == 1
    assert " from north to east: north says " in done.stdout
    assert "differ in 1 thing, the first between north and east" in done.stderr
    said = titan("verify", *paths, "--json")
    assert said.returncode == 1
    told = json.loads(said.stdout)
    assert told["verified"] is False
    [found] = told["differences"]
    assert found["parties"] == ["north", "east"]
    assert found["told"][1].endswith("ab" * 32)
    twice = titan("verify", paths[0], paths[0], paths[1])
    assert "more than one of the transcripts is by north" in twice.stderr
    assert twice.returncode == 1
    many = altered(kept, replace_masks, "north")
    shown = [line for line in str(many).splitlines() if " says " in line]
    assert len(shown) == min(20, len(many.differences))
    with pytest.raises(FileError, match="not the folder of a run"):
        cross_check([kept.folder])
