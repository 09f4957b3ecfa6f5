"""How the documentation is built: ``sphinx-build docs build/docs``.

The pages of the metrics are written from the registry at every build, the API reference from the
docstrings, the reference of the command line from its help texts, that of configuration files from
their schema, and the checks of the audit from the docstrings of their functions: none of them is
kept by hand. Formulas become MathML, which browsers show without any script or network.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes

from rankwise import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "generators"))

from api_reference import write_api  # noqa: E402 - it lies in the folder generators
from check_reference import write_checks  # noqa: E402
from command_reference import write_commands  # noqa: E402
from config_reference import write_keys  # noqa: E402
from reference import write_pages  # noqa: E402

project = "rankwise"
author = "The rankwise developers"
project_copyright = author
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
default_role = "py:obj"
autodoc_typehints = "none"  # the sections of parameters say them in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # outputs are not copied
html_theme = "furo"
html_title = f"rankwise {__version__}"
html_theme_options: dict[str, Any] = {}
if repository := os.environ.get("GITHUB_REPOSITORY"):  # set where a forge builds the pages
    html_theme_options |= {
        "source_repository": f"https://github.com/{repository}/",
        "source_branch": "main",
        "source_directory": "docs/",
    }
html_static_path = ["static"]
html_search_scorer = str(HERE / "search_scorer.js")
html_css_files = ["wide.css"]
exclude_patterns = ["build"]
html_math_renderer = "mathml"


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def _unlink(_app: Any, tree: nodes.document) -> None:
    """Take out links from the words of types, such as "table", to methods of that name."""
    for link in [*tree.findall(addnodes.pending_xref)]:
        if link.get("refspecific") and re.fullmatch("[a-z]+", link["reftarget"]):
            link.replace_self(link.children)


def _write(_app: Any) -> None:
    write_pages(HERE / "metrics")
    write_api(HERE / "api")
    write_commands(HERE / "command_line.rst")
    write_checks(HERE / "audit_checks.inc")
    write_keys(HERE / "config_keys.rst")


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("builder-inited", _write)
    app.connect("doctree-read", _unlink)
