"""`study.toml`: a study as a file that people read, and that programs read strictly.

format = 1
title = "…"
tau = 1                      # and release, bits, recovery, masks, k, rounds, solver,
min_rows_party = 10          # min_rows_total, rows_per_parameter
[model]
formula = "y ~ a + b"        # and weights, missing
[model.ranges]
a = ["0", "120"]
[[parties]]                  # two or more, in the order that numbers them
name = "north"               # and address, certificate: what its card has
[[links]]
from = "north"
to = "east"
dial = "push"                # or "pull": the receiver dials
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from titan.errors import FileError, InputError
from titan.study import fields, files
from titan.study.card import Card, refuse_key
from titan.study.fields import Fields
from titan.study.manifest import FORMAT, MOST_PARTIES, Link, Study
from titan.study.ranges import Range

MOST_LINKS = 1_000_000
_EXPECTED = "a study is the file, such as study.toml, that titan study new makes"


def load(path: str | PathLike[str]) -> Study:
    return parse(fields.read_text(path), str(path))


def save(study: Study, path: str | PathLike[str], *, force: bool = False) -> None:
    files.write(Path(path), to_toml(study).encode(), mode=0o644, force=force)


# -- reading ----------------------------------------------------------------------------------


def parse(text: str, where: str) -> Study:
    refuse_key(text, where, "study")
    top = fields.parse(text, where, what="study", hint=_EXPECTED)
    if top.has("name", "address", "certificate"):
        raise FileError(f"{where}: this is a card, not a study", hint=_EXPECTED)
    if top.whole("format") != FORMAT:
        top.refuse("format", "is not one this program reads", hint=f"it reads format {FORMAT}")
    content = {**_choices(top), **_model(top.table("model"))}
    parties = tuple(_party(table) for table in top.tables("parties", MOST_PARTIES))
    links = tuple(_link(table) for table in top.tables("links", MOST_LINKS))
    top.all()
    try:
        return Study(parties=parties, links=links, **content)
    except InputError as error:
        raise FileError(f"{where}: {error.message}", hint=error.hint) from None


def _choices(top: Fields) -> dict[str, Any]:
    """What stands at the top of the file; a study checks the values."""
    found: dict[str, Any] = {"title": top.text("title"), "tau": top.whole("tau")}
    texts = ("release", "recovery", "masks", "solver")
    wholes = ("bits", "k", "rounds", "min_rows_party", "min_rows_total", "rows_per_parameter")
    found |= {key: top.optional_text(key) for key in texts}
    found |= {key: top.optional_whole(key) for key in wholes}
    return _given(found)


def _model(model: Fields) -> dict[str, Any]:
    found = {"formula": model.text("formula")}
    found |= _given({key: model.optional_text(key) for key in ("weights", "missing")})
    ranges = model.table("ranges", {})
    model.all()
    return {**found, "ranges": tuple(_ranges(ranges))}


def _ranges(table: Fields) -> list[Range]:
    found = []
    for column, ends in table.items().items():
        if type(ends) is not list or len(ends) != 2:
            table.refuse(column, "is not a list of two ends", hint='such as ["0", "120"]')
        try:
            found.append(Range.read(column, *ends))
        except InputError as error:
            table.refuse(column, f"cannot be used: {error.message}", hint=error.hint)
    return found


def _party(table: Fields) -> Card:
    card = Card.take(table)
    table.all()
    return card


def _link(table: Fields) -> Link:
    link = Link(table.text("from"), table.text("to"), table.text("dial", "push"))  # type: ignore[arg-type]  # checked by Study
    table.all()
    return link


def _given(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if value is not None}


# -- writing ----------------------------------------------------------------------------------


def to_toml(study: Study) -> str:
    import tomli_w

    top = ("title", "tau", "release", "bits", "recovery", "k", "rounds", "masks", "solver")
    rows = ("min_rows_party", "min_rows_total", "rows_per_parameter")
    ranges = {item.column: item.as_list() for item in study.ranges}
    document = {
        "format": FORMAT,
        **_given({key: getattr(study, key) for key in top + rows}),
        "model": _given({key: getattr(study, key) for key in ("formula", "weights", "missing")}),
        "parties": [card.as_table() for card in study.parties],
        "links": [_link_table(link) for link in study.links],
    }
    if ranges:
        document["model"]["ranges"] = ranges
    return tomli_w.dumps(document, multiline_strings=True)


def _link_table(link: Link) -> dict[str, str]:
    return {"from": link.sender, "to": link.receiver, "dial": link.dial}
