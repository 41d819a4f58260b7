"""How `make docs` builds the pages; see docs/decisions/0025-the-documentations-tools.md.

All settings are Sphinx's own names: https://www.sphinx-doc.org/en/master/usage/configuration.html
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from docs.extensions import accessible, commands, docstrings, notebooks  # noqa: E402

import titan  # noqa: E402 - after the path

project = "TITAN"
author = "The TITAN developers"
copyright = "the TITAN developers, Apache-2.0"  # noqa: A001 - Sphinx's name
release = version = titan.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown", notebooks.SUFFIX: "markdown"}
exclude_patterns = ["extensions", "**/__pycache__"]

myst_heading_anchors = 4  # pages point at each other's headings as GitHub names them

html_theme = "furo"
html_title = f"TITAN {release}"
html_static_path = ["static"]
html_css_files = ["titan.css"]
html_copy_source = False
html_show_sourcelink = False

autodoc_typehints = "signature"
autodoc_class_signature = "separated"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
default_role = "code"
python_maximum_signature_line_length = 88
highlight_language = "text"


def setup(app: Any) -> None:
    app.connect("source-read", notebooks.on_source_read)
    app.connect("source-read", commands.on_source_read)
    app.connect("autodoc-process-docstring", docstrings.on_docstring)
    app.connect("build-finished", accessible.on_build_finished)
