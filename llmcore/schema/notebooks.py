"""Texts of models as Markdown that a notebook may render.

Notebooks trust the output of their own cells: HTML in it runs scripts, which can run code, and each
image is loaded, whose URL can carry a text away. So HTML is shown as text, and images are links.
"""

import re
from html import escape
from typing import Final

_CODE: Final = re.compile(
    r"^(?P<fence>`{3,}|~{3,})(?P<info>[^`\n]*)\n(?P<block>.*?)(?:^(?P=fence)[ \t]*$|\Z)"
    r"|(?<!`)(?P<ticks>`+)(?!`)(?P<span>[^\n]+?)(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
_IMAGE: Final = re.compile(r"!(?=\[)")
_SCRIPT: Final = re.compile(r"(?i)(?<=script)(?=\\*:)")
"""The place in `javascript:` at which the name of the scheme is broken up."""
_NO_SCHEME: Final = "&#8203;"


def as_markdown(text: str) -> str:
    """Return Markdown that renders *text* without HTML, scripts and images of its own.

    Code becomes `<pre>` and `<code>` with escaped text, which is safe however a renderer reads what
    is around it.
    """
    pieces: list[str] = []
    end = 0
    for match in _CODE.finditer(text):
        pieces += (_as_prose(text[end : match.start()]), _as_code(match))
        end = match.end()
    return "".join((*pieces, _as_prose(text[end:])))


def code(text: str) -> str:
    """Return *text* as a piece of code within a line."""
    return f"<code>{_escaped(text)}</code>"


def _as_code(match: "re.Match[str]") -> str:
    if match["fence"] is None:
        return code(match["span"])
    return f"<pre><code>{_escaped(match['block'])}</code></pre>\n"


_MARKS: Final = re.compile(r"[\\`*_\[\]$~!|\n]")


def _escaped(text: str) -> str:
    """Return *text* for HTML, in which no renderer finds Markdown, mathematics or an empty line."""
    return _MARKS.sub(lambda match: f"&#{ord(match[0])};", escape(text))


def _as_prose(text: str) -> str:
    plain = text.replace("&", "&amp;").replace("<", "&lt;")
    return _SCRIPT.sub(_NO_SCHEME, _IMAGE.sub("&#33;", plain))
