"""The built site: its pages, their links, and a server for a browser."""

import functools
import http.server
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Collects the links and the ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := given.get(name))}
        self.links += [value for name in ("href", "src") if (value := given.get(name)) is not None]


def dead_links(site: Path) -> Iterator[str]:
    """Yield `page: link` for each link within the site that leads nowhere."""
    pages = {path: _Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    for path, page in pages.items():
        if path.name == "404.html":  # its links are absolute, from the root of wherever it is
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            ids = pages[target].ids if parts.fragment and target in pages else {parts.fragment}
            if not target.is_file() or parts.fragment not in ids:
                yield f"{path.relative_to(site)}: {link}"


def foreign_resources(site: Path) -> Iterator[str]:
    """Yield `page: URL` for each script, style or picture that another host would have to send."""
    for path in site.rglob("*.html"):
        text = path.read_text("utf-8")
        for tag in ("<script src=", "<link rel=stylesheet href=", "<img src="):
            for piece in text.split(tag)[1:]:
                url = piece.lstrip("\"'").split(">")[0]
                if url.startswith(("http:", "https:", "//")):
                    yield f"{path.relative_to(site)}: {url[:60]}"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve *folder* on this machine; yields the URL."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Log nothing."""

    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
