"""HTML that is safe by construction: a page that loads nothing and runs nothing."""

# Rule: what is not `Html` already is text, and is escaped. A study comes from another party.

from __future__ import annotations

from titan.markup import Html, items, table, tag

__all__ = ["Html", "items", "page", "table", "tag"]


def page(title: str, *content: Html) -> str:
    """A whole document: nothing is fetched from anywhere, and no script would run."""
    lines = (Html(each + "\n") for each in content)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"{tag('title', title)}<style>{_STYLE}</style></head>\n"
        f"{tag('body', *lines)}</html>\n"
    )


_STYLE = """
@page { size: A4; margin: 9mm 12mm }
body { font: 8.2pt/1.24 "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif;
  color: #111; max-width: 186mm; margin: 0 auto }
h1 { font-size: 14pt; margin: 0 0 1mm } h2 { font-size: 9.6pt; margin: 1.8mm 0 .5mm;
  border-bottom: .3mm solid #999; break-after: avoid }
p { margin: .6mm 0 } ul, ol { margin: .4mm 0; padding-left: 5mm }
table { border-collapse: collapse; width: 100% } tr { break-inside: avoid }
th, td { text-align: left; vertical-align: top; padding: .35mm 2mm .35mm 0;
  border-bottom: .15mm solid #ddd }
th { font-weight: 600; color: #555; white-space: nowrap }
code { font: 7.4pt "DejaVu Sans Mono", "Liberation Mono", monospace; overflow-wrap: anywhere }
.alarm { border: .7mm solid #b00000; color: #b00000; background: #fff2f2; padding: 1mm 3mm;
  margin: 1.5mm 0; font-weight: 600; print-color-adjust: exact; -webkit-print-color-adjust: exact }
.quiet { color: #555 } .whole { white-space: nowrap } td ul { padding-left: 3.4mm; margin: 0 }
td code { font-size: 6.9pt }
.signatures { break-inside: avoid } .signatures td { height: 8mm; vertical-align: bottom;
  border-bottom: .3mm solid #111; padding-right: 4mm }
"""
