"""Joining: who takes part with which rows, everything that whoever agrees must see, and the yes."""

# Rule: nothing leaves this machine before the second form is sent.

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from titan.errors import InputError
from titan.listing import in_groups
from titan.markup import Html, tag
from titan.party.own_rows import OwnRows
from titan.party.reasons import Reason
from titan.party.taking_part import Choices, Party, run_folder
from titan.protocol.masking import fresh_key
from titan.report.page import table
from titan.study import Identity, Report, Study
from titan.study.key_use import ledger_gone, used_with_another
from titan.study.known_keys import known_keys, new_keys
from titan.web import check_page, layout
from titan.web.forms import sent, wanted
from titan.web.place import Place
from titan.web.running import Runs

_COMPARE = (
    "Call the other parties, at numbers that you know from elsewhere: the study's fingerprint must "
    "be the same at all of them, and each party's own must be the one that it sees on its page."
)


@dataclass(frozen=True)
class Asked:
    """A party that is ready, and what its person is shown before the yes."""

    party: Party
    report: Report
    own: OwnRows


def choose(place: Place, _: Request) -> Response:
    return layout.page("Join a study", *check_page.listed(place, "join"), here="/join")


def ask(place: Place, request: Request) -> Response:
    study = place.study(request.path_params["short"])
    return layout.page(f"Join: {study.title}", *_asking(place, study), here="/join")


def _asking(place: Place, study: Study) -> Iterator[Html]:
    mine = _own_keys(place, study)
    if not mine:
        yield tag("p", "None of the keys in this folder belongs to a party of this study.")
        return
    if not place.tables():
        yield tag("p", "Put your rows (CSV, Parquet or .npz) into the folder first.")
        return
    tables = [(name, name) for name in place.tables()]
    yield layout.form(
        f"/join/{study.digest[:12]}",
        layout.choice("You are", "party", ((name, name) for name in mine)),
        layout.choice("Your rows", "rows", tables),
        # for password managers, which else take another field for the name
        layout.empty("input", type="text", name="user", autocomplete="username", hidden=""),
        layout.field(
            "The key's passphrase", "passphrase", kind="password", needed=False,
            filled="current-password", note="leave empty if it has none",
        ),
        layout.field("Run", "run", "1", note="1, unless all parties agreed on another number"),
        send="Look at my rows, and show what will be opened",
    )  # fmt: skip
    yield tag("p", "Nothing is sent until you have seen it and said yes.")


def _own_keys(place: Place, study: Study) -> dict[str, str]:
    """Parties of the study whose key is here: the key's file, by name."""
    keys = set(place.keys())
    return {card.name: f"{card.name}.key" for card in study.parties if f"{card.name}.key" in keys}


async def look(place: Place, request: Request) -> Response:
    """The first form: the rows are read here, and all is shown."""
    study = place.study(request.path_params["short"])
    fields = await sent(request)
    asked = await asyncio.to_thread(_prepared, place, study, fields)
    token = fresh_key().hex()
    waiting: dict[str, Asked] = request.app.state.waiting
    waiting.clear()  # one at a time: whoever looks again has new rows
    waiting[token] = asked
    return layout.page(f"Join: {study.title}", *_shown(asked, token), here="/join")


def _prepared(place: Place, study: Study, fields: dict[str, str]) -> Asked:
    name, rows, run = wanted(fields, "party", "rows", "run")
    if not (run.isascii() and run.isdecimal() and 1 <= int(run[:12]) <= 2**31):
        raise InputError(f"run is {run!r}", hint="1, 2, …")
    mine = _own_keys(place, study)
    if name not in mine:
        raise InputError(f"there is no key of {name!r} in this folder")
    key = place.folder / mine[name]
    identity = Identity.load(key, study.card(name), passphrase=fields.get("passphrase") or None)
    party = Party(
        study,
        identity,
        place.file(rows, place.tables()),
        folder=run_folder(place.runs_folder, study, int(run), name),
        ledger=key.with_suffix(".ledger"),
        choices=Choices(int(run)),
        key=key,
    )
    if (gone := ledger_gone(key, party.ledger, identity.card.fingerprint)) is not None:
        raise gone
    report = party.checked()
    party, own = party.look()
    return Asked(party, report, own)


def _shown(asked: Asked, token: str) -> Iterator[Html]:
    study, party = asked.party.study, asked.party
    known = known_keys(party.ledger)
    if party.key is not None and (
        said := used_with_another(party.key, party.ledger, party.identity.card.fingerprint)
    ):
        yield tag("div", f"{said[0].upper()}{said[1:]}.", kind="alarm", role="alert")
    changed = new_keys(study, known)
    for name, before in changed.items():
        said = f"{name} has another key than in your last study together: {in_groups(before)}."
        yield tag("div", said, f" Call {name} before you go on.", kind="alarm", role="alert")
    yield layout.section("Your rows", *check_page.own_rows(asked.own))
    yield layout.section("Who takes part", *_who(study, party.identity.name, set(known)))
    yield from check_page.study_in_words(study, asked.report)
    if asked.own.outcome == "mistake":
        yield tag("p", layout.link("Choose other rows", f"/join/{study.digest[:12]}"))
        return
    forms = _yes(study, token, asked.own.outcome == "veto"), _no(study, token)
    yield layout.section("Take part?", *forms)


def _who(study: Study, me: str, known: set[str]) -> Iterator[Html]:
    rows = (
        (card.name + (" (you)" if card.name == me else ""), card.place,
         tag("code", in_groups(card.fingerprint)),
         "" if card.name == me else "yes" if card.name in known else "not yet")
        for card in study.parties
    )  # fmt: skip
    heads = ("party", "address", "fingerprint", "key known")
    told = table(heads, rows)
    yield tag("div", told, kind="scroll", tabindex="0", role="region", aria_label="parties")
    yield tag("p", _COMPARE)


def _yes(study: Study, token: str, veto: bool) -> Html:
    said = "Take part, although my rows would end the run for all" if veto else "Take part"
    return layout.form(
        f"/join/{study.digest[:12]}/yes",
        tag("p", "Masked sums leave this machine; no row does."),
        send=said,
        hidden={"ready": token},
    )


def _no(study: Study, token: str) -> Html:
    said = "Nothing about your rows is sent. Parties that wait learn that you do not take part."
    return layout.form(
        f"/join/{study.digest[:12]}/no", tag("p", said),
        send="Do not take part", hidden={"ready": token},
    )  # fmt: skip


async def begin(_: Place, request: Request) -> Response:
    """The yes."""
    runs: Runs = request.app.state.runs
    run = runs.start((await _answered(request)).party)
    return layout.to(f"/run/{run.name}")


async def decline(_: Place, request: Request) -> Response:
    """The no; of rows that may be the reason nobody is told."""
    asked = await _answered(request)
    told = not asked.own.errors and await asked.party.stay_away(Reason.DECLINED)
    said = "The others know that you do not take part." if told else "The others were not told."
    return layout.page("Not joined", layout.done(f"Nothing was sent. {said}"), here="/join")


async def _answered(request: Request) -> Asked:
    """What the second form is about; it is answered once."""
    waiting: dict[str, Asked] = request.app.state.waiting
    asked = waiting.pop((await sent(request)).get("ready", ""), None)
    if asked is None:
        raise InputError("this was answered already, or is too old", hint="look at the rows again")
    return asked
