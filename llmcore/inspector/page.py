"""The page of a document: HTML with its style, script and data within it.

The data is JSON that the script shows as text nodes alone. The content security policy admits this
one script and this one style, and nothing from the network.
"""

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files
from string import Template
from typing import Final

from llmcore.inspector.exchange import Document
from llmcore.schema.frozen import frozen

_PAGE: Final = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="$policy">
<link rel="icon" href="data:,">
<title>$title</title>
<style>$style</style>
</head>
<body>
<main id="main"><noscript>This page needs JavaScript; nothing is loaded from elsewhere.</noscript>
</main>
<script type="application/json" id="document">$document</script>
<script>$script</script>
</body>
</html>
""")


@cache
def package_text(package: str, name: str) -> str:
    """Return the text of a file that is part of a package."""
    return (files(package) / name).read_text(encoding="utf-8")


@frozen
class HtmlPage:
    """A page, and its content security policy, which is also in the page itself."""

    html: str
    policy: str


def html_page(title: str, script: str, document: Document, *, connects: bool = False) -> HtmlPage:
    """Return the page that runs *script*, with *document* in it.

    With *connects* the script may send requests to the server that the page came from.
    """
    style = package_text("llmcore.inspector", "viewer.css")
    policy = (
        f"default-src 'none'; style-src {content_hash(style)}; script-src {content_hash(script)}; "
        f"img-src data:; base-uri 'none'; form-action 'none'{_CONNECT if connects else ''}"
    )
    text = _PAGE.substitute(
        policy=policy,
        title=html.escape(title),
        style=style,
        script=script,
        document=script_json(document),
    )
    return HtmlPage(text, policy)


def page(document: Document) -> str:
    """Return the HTML page that shows *document*."""
    script = package_text("llmcore.inspector", "viewer.js") + "\nshowDocument();\n"
    return html_page(str(document["title"]), script, document).html


_CONNECT: Final = "; connect-src 'self'"


def content_hash(text: str) -> str:
    """Return the source expression of a content security policy that admits *text*."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def script_json(document: Document) -> str:
    """Return *document* as JSON that cannot end the script element that holds it."""
    text = json.dumps(document, ensure_ascii=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text.encode("utf-8", "backslashreplace").decode()
