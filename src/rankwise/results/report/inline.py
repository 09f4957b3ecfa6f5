"""Charts as SVG inside a page: small, in the colours and fonts of the page, named.

Text in SVG of Vega has neither ``<`` nor ``>``, and attributes have no quotes, so that expressions
for tags never change what strangers wrote.
"""

from __future__ import annotations

import re
from html import escape

__all__ = ["inlined", "on_white"]

_EDGE = 12  # room for what a reader's font makes wider than it was measured
_SHRUNK = 0.92  # Verdana and DejaVu Sans are wider than Arial, by which labels are laid out
_INVISIBLE = re.compile(
    r'<path class="(?:foreground|background)"[^<>]*/>'
    r'|<text [^<>]*opacity="0">[^<>]*</text>'  # labels that would overlap
)
_TAG = re.compile("<[^<>]*>")
_DEFAULT = re.compile(
    r' (?:opacity="1"|fill-opacity="1"|pointer-events="none"|font-family="[^"]*"'
    r'|transform="translate\(0,0\)")'
)
_LONG = re.compile(r'( (?:d|transform|x2|y2)=")([^"]*")')
_DIGITS = re.compile(r"(\.\d\d)\d+")
_FONT = re.compile(r'( font-size=")([\d.]+)px"')


def inlined(svg: str, name: str, caption: str) -> str:
    """Return an SVG that shares a page with others: named, without fixed size or common ids."""
    head, _, body = svg.partition(">")
    width, height = (re.search(rf'{side}="([\d.]+)"', head) for side in ("width", "height"))
    assert width is not None
    assert height is not None
    wide = float(width[1]) + 2 * _EDGE
    body = _TAG.sub(lambda tag: _small(tag[0], name), _INVISIBLE.sub("", body))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="group" class="chart" '
        f'viewBox="{-_EDGE} 0 {wide:g} {height[1]}" style="max-width:{wide:g}px" '
        f'aria-label="{escape(caption, quote=True)}">{body}'
    )


def _small(tag: str, name: str) -> str:
    """Return a tag without defaults, with coordinates of two decimals and ids of this chart."""
    tag = _DEFAULT.sub("", tag)
    tag = _LONG.sub(lambda part: part[1] + _DIGITS.sub(r"\1", part[2]), tag)
    tag = _FONT.sub(lambda size: f'{size[1]}{_SHRUNK * float(size[2]):.4g}px"', tag)
    # Ids of clip paths are counted from 0 in every chart.
    return re.sub(r'(<clipPath id="|clip-path="url\(#)', rf"\g<1>{name}-", tag)


def on_white(svg: str) -> str:
    """Return an SVG file that does not depend on the colours of a page."""
    return _TAG.sub(lambda tag: tag[0].replace('"currentColor"', '"#1a1a1a"'), svg)
