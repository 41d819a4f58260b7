"""The study: this party's keys, the others' cards, studies that are here, and a new draft."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from titan.errors import FileError, TitanError
from titan.listing import in_groups
from titan.markup import Html, tag, together
from titan.report.tables import grid
from titan.study import Card, Identity
from titan.web import draft_page, layout
from titan.web.forms import sent, wanted
from titan.web.place import Place

HERE = "/study"
_KEYS = (
    "A key is this party's signature and never leaves this machine. The card that goes with it is "
    "for the others: it says who this party is and where it can be reached."
)
_COMPARE = (
    "Call each party, at a number that you know from elsewhere, and compare the fingerprint that "
    "it reads to you."
)


def show(place: Place, *said: Html, status: int = 200) -> Response:
    return layout.page(
        "Study",
        *said,
        layout.section("Your keys", *_keys(place)),
        layout.section("Cards", *_cards(place)),
        layout.section("Studies in this folder", *_studies(place)),
        layout.section("Draft a study", *draft_page.ask(place)),
        here=HERE,
        status=status,
    )


def _keys(place: Place) -> Iterator[Html]:
    yield tag("p", _KEYS)
    cards, keys = place.cards(), place.keys()
    own = {name: cards.get(name.removesuffix(".key") + ".card") for name in keys}
    if own:
        rows = ((name, *_card_cells(card)) for name, card in own.items())
        yield grid("", ("key", "party", "fingerprint, to read out", "its card"), rows)
    yield tag("details", tag("summary", "Make keys"), _new_keys(), **({} if own else {"open": ""}))


def _card_cells(card: Card | None) -> tuple[str, str, str]:
    if card is None:
        return "its card is not here", "", ""
    link = layout.link("Save the card", f"/card/{card.fingerprint[:12]}", download="")
    return card.name, tag("code", in_groups(card.fingerprint)), link


def _new_keys() -> Html:
    asked = "Nobody can use a copy of the key's file without the passphrase."
    return layout.form(
        "/study/keys",
        layout.field("Name of the party", "name"),
        layout.field(
            "Address", "address", needed=False, note="host:port where the others can reach it"
        ),
        layout.tick("Nobody can reach it from outside: it only dials out", "dials_only"),
        layout.field(
            "Passphrase",
            "passphrase",
            kind="password",
            needed=False,
            note=asked,
            filled="new-password",
        ),
        layout.field(
            "The passphrase again", "again", kind="password", needed=False, filled="new-password"
        ),
        send="Make keys",
    )


async def make_keys(place: Place, request: Request) -> Response:
    fields = await sent(request)
    (name,), address = wanted(fields, "name"), fields.get("address", "")
    if fields.get("passphrase") != fields.get("again"):
        raise FileError("the two passphrases differ", hint="type the same one twice")
    only = "dials_only" in fields
    made = Identity.create(name, address, now=datetime.now(UTC), dials_only=only)
    made.save(place.folder, passphrase=fields.get("passphrase") or None)
    said = f"{made.name}.key and {made.name}.card are made. Send the card to the study's author."
    return show(place, layout.done(said))


def card(place: Place, request: Request) -> Response:
    short = request.path_params["short"]
    for name, found in place.cards().items():
        if found.fingerprint.startswith(short) and len(short) == 12:
            saved = {"Content-Disposition": f'attachment; filename="{name}"'}
            return Response(found.to_toml(), media_type="application/toml", headers=saved)
    raise FileError("there is no such card in this folder")


# -- what others sent -------------------------------------------------------------------------


def _cards(place: Place) -> Iterator[Html]:
    cards = place.cards().values()
    if cards:
        yield grid(
            "", ("party", "address", "fingerprint", "valid until"),
            ((card.name, card.place,
              tag("code", in_groups(card.fingerprint)),
              tag("span", f"{card.not_after:%Y-%m-%d}", kind="whole"))
             for card in cards),
        )  # fmt: skip
        yield tag("p", _COMPARE)
    yield layout.form(
        "/study/card", layout.upload("A card that another party sent", "card", ".card"),
        send="Keep the card",
    )  # fmt: skip


def _studies(place: Place) -> Iterator[Html]:
    studies = place.studies()
    if studies:
        yield grid(
            "", ("study", "parties", "fingerprint", "what next"),
            ((study.title, ", ".join(study.network.parties), tag("code", short),
              together([layout.link("Check", f"/check/{short}"),
                        layout.link("Join", f"/join/{short}")]))
             for short, (_, study) in studies.items()),
        )  # fmt: skip
    yield layout.form(
        "/study/file", layout.upload("A study that someone sent", "study", ".toml"),
        send="Keep the study",
    )  # fmt: skip


async def keep(place: Place, request: Request, kind: str) -> Response:
    (text,) = wanted(await sent(request), kind)
    name = place.take(kind, text)
    return show(place, layout.done(f"{name} is in the folder now."))


def to_study(_: Place, __: Request) -> Response:
    return layout.to(HERE)


def failed(place: Place, error: TitanError) -> Response:
    return show(place, layout.refused(error), status=400)
