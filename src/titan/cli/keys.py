"""titan keys: who a party is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from titan.cli import options, passphrases
from titan.cli.help import App
from titan.cli.output import give, show_pairs
from titan.errors import UsageError
from titan.listing import in_groups

if TYPE_CHECKING:
    from titan.study import Card

app = App(help="Make a party's keys, change a passphrase, look at a card.")


@app.command()
def new(
    name: Annotated[str, Option(help="What the party is called.")],
    address: Annotated[
        str, Option(help="Where others reach it, host:port. None is needed with --dials-only.")
    ] = "",
    out: Annotated[Path, Option(help="The folder to write to.")] = Path(),
    dials_only: Annotated[
        bool, Option("--dials-only", help="It can dial others, but nobody can dial it.")
    ] = False,
    days: Annotated[
        int, Option(help="How long the certificate is valid.", rich_help_panel=options.MORE)
    ] = 730,
    passphrase: Annotated[
        bool, Option("--passphrase", help="Ask for a passphrase, and encrypt the key with it.")
    ] = False,
    passphrase_file: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="Take the passphrase from the first line of a file.",
            rich_help_panel=options.MORE,
        ),
    ] = None,
    force: Annotated[
        bool,
        Option("--force", help="Replace keys that are there.", rich_help_panel=options.OUTPUT),
    ] = False,
    json: options.Json = False,
) -> None:
    """Make a private key, which stays here, and a card, which goes to the others.

    Nobody can use a key with a passphrase by copying its file. titan join asks for the passphrase,
    or reads it from a file. If you lose it, make new keys: there is no other way.

    \b
    Example:
      titan keys new --name north --address north.example.org:7443 --passphrase
    """
    from datetime import UTC, datetime

    from titan.study import Identity

    if not address and not dials_only:
        raise UsageError("--address is missing", hint="give it, or --dials-only if it has none")
    word = passphrases.chosen(passphrase_file) if passphrase or passphrase_file else None
    made = Identity.create(name, address, now=datetime.now(UTC), days=days, dials_only=dials_only)
    key, card = made.save(out, force=force, passphrase=word)
    kept = "with a passphrase" if word else "without a passphrase"
    rows = [
        ("private key", f"{key} ({kept}, mode 600; it never leaves this machine)"),
        ("card", f"{card} (send it to whoever writes the study)"),
        *_rows(made.card),
    ]
    answer = {"key": str(key), "card": str(card), **_facts(made.card), "encrypted": bool(word)}
    give(answer, lambda: show_pairs(rows), json=json)


@app.command("passphrase")
def change(
    key: Annotated[Path, Argument(metavar="KEY", help="A party's private key.")],
    remove: Annotated[bool, Option("--remove", help="Leave the key without one.")] = False,
    passphrase_file: options.PassphraseFile = None,
    new_passphrase_file: Annotated[
        Path | None, Option(metavar="FILE", help="The new one, instead of asking for it.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Set, change or remove the passphrase of a private key.

    The key, its card and its fingerprint stay the same, and studies go on. Earlier copies of the
    file, such as backups, do not change.

    \b
    Example:
      titan keys passphrase north.key
    """
    from titan import files
    from titan.replacing import KEY
    from titan.study import key_file

    if remove and new_passphrase_file is not None:
        raise UsageError(
            "--remove and --new-passphrase-file are both given", hint="one or the other"
        )
    secret = key_file.read(key, passphrases.opening(key, passphrase_file))
    word = None if remove else passphrases.chosen(new_passphrase_file, "--new-passphrase-file")
    files.write(key, key_file.encode(secret, word), mode=0o600, force=True, own=KEY)
    says = "no passphrase" if remove else "this passphrase"
    answer = {"key": str(key), "encrypted": not remove}
    give(answer, lambda: print(f"{key} has {says} now; it is the same key."), json=json)


@app.command()
def show(
    card: Annotated[Path, Argument(metavar="CARD", help="A party's card.")],
    json: options.Json = False,
) -> None:
    """Show whose card it is; compare the fingerprint with that party, over the telephone.

    \b
    Example:
      titan keys show north.card
    """
    from titan.study import Card

    found = Card.load(card)
    give(_facts(found), lambda: show_pairs(_rows(found)), json=json)


def _facts(card: Card) -> dict[str, Any]:
    return {
        "name": card.name,
        "address": card.address or None,
        "dials_only": card.dials_only,
        "fingerprint": card.fingerprint,
        "valid_until": card.not_after.isoformat(),
    }


def _rows(card: Card) -> list[tuple[str, str]]:
    facts = _facts(card) | {"address": card.place}
    del facts["dials_only"]
    until = facts.pop("valid_until")[:10]
    return [*facts.items(), ("to read out", in_groups(card.fingerprint)), ("good until", until)]
