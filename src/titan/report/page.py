"""A page of HTML that loads nothing and runs nothing."""

# Rule: the page's one style stands in the page and is named by its hash: no other style, no script,
#       no picture and no form would be obeyed, even if one came to stand in it.

from __future__ import annotations

import hashlib
from base64 import b64encode
from importlib import resources

from titan.markup import Html, items, table, tag, together

__all__ = ["Html", "items", "page", "table", "tag", "together"]


def page(title: str, style_file: str, *content: Html) -> str:
    """A whole document, with the only style that it has: one of those in this folder."""
    style = resources.files(__package__).joinpath(style_file).read_text(encoding="utf-8")
    named = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{named}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"{tag('title', title)}<style>{style}</style></head>\n"
        f"{tag('body', together(content))}</html>\n"
    )
