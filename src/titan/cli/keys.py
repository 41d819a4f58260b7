"""titan keys: who a party is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from titan.cli import options
from titan.cli.output import give, show_pairs
from titan.listing import in_groups

if TYPE_CHECKING:
    from titan.study import Card

app = typer.Typer(help="Make a party's keys, look at a card.", no_args_is_help=True)


@app.command()
def new(
    name: Annotated[str, Option(help="What the party is called.")],
    address: Annotated[str, Option(help="Where it can be reached, host:port.")],
    out: Annotated[Path, Option(help="The folder to write to.")] = Path(),
    days: Annotated[int, Option(help="How long the certificate is good.")] = 730,
    force: Annotated[bool, Option("--force", help="Replace keys that are there.")] = False,
    json: options.Json = False,
) -> None:
    """Make a private key, which stays here, and a card, which goes to the others.

    \b
    Example:
      titan keys new --name north --address north.example.org:7443
    """
    from datetime import UTC, datetime

    from titan.study import Identity

    made = Identity.create(name, address, now=datetime.now(UTC), days=days)
    key, card = made.save(out, force=force)
    rows = [
        ("private key", f"{key} (mode 600; it never leaves this machine)"),
        ("card", f"{card} (hand it to whoever gathers the study)"),
        *_rows(made.card),
    ]
    answer = {"key": str(key), "card": str(card), **_facts(made.card)}
    give(answer, lambda: show_pairs(rows), json=json)


@app.command()
def show(
    card: Annotated[Path, Argument(metavar="CARD", help="A party's card.")],
    json: options.Json = False,
) -> None:
    """Show whose a card is; compare the fingerprint with that party, by telephone say.

    \b
    Example:
      titan keys show north.card
    """
    from titan.study import Card

    found = Card.load(card)
    give(_facts(found), lambda: show_pairs(_rows(found)), json=json)


def _facts(card: Card) -> dict[str, str]:
    return {
        "name": card.name,
        "address": card.address,
        "fingerprint": card.fingerprint,
        "valid_until": card.not_after.isoformat(),
    }


def _rows(card: Card) -> list[tuple[str, str]]:
    facts = _facts(card)
    until = facts.pop("valid_until")[:10]
    return [*facts.items(), ("to read out", in_groups(card.fingerprint)), ("good until", until)]
