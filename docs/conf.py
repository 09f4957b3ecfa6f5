"""How the documentation is built: ``sphinx-build docs build/docs``.

The pages of the measures are written from the registry at every build, so a measure that is
registered has a page, and no page is kept by hand. Formulas become MathML, which browsers show
without any script or network.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from rankwise import __version__

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from reference import write_pages  # noqa: E402 - it lies beside this file

project = "rankwise"
author = "The rankwise developers"
version = release = __version__
extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath"]
html_theme = "furo"
html_title = f"rankwise {__version__}"
exclude_patterns = ["build"]
html_math_renderer = "mathml"


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("builder-inited", lambda _: write_pages(HERE / "measures"))
