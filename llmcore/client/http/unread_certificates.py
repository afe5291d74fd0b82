"""TLS contexts of aiohttp that read the system's certificates only if a connection needs them.

While aiohttp is imported, it makes two contexts, for sessions that are given none, and reads all
certificates of the system into each. That takes as long as the rest of the import. The engine has a
context of its own for each server, so these two are never used, unless the program has other
sessions of aiohttp. Measured with aiohttp 3.14.
"""

import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

_USUAL: Final = ssl.SSLContext
_METHOD: Final = "set_default_verify_paths"
"""The method of a context by which the system's certificates are read."""
_read = _USUAL.set_default_verify_paths


class UnreadContext(ssl.SSLContext):
    """A context that reads the certificates first when it is used, and is then a usual one."""

    __slots__ = ()

    def wrap_socket(self, *args: Any, **settings: Any) -> ssl.SSLSocket:
        """Return a TLS socket over a socket."""
        return _usual(self).wrap_socket(*args, **settings)

    def wrap_bio(self, *args: Any, **settings: Any) -> ssl.SSLObject:
        """Return a TLS connection without a socket, as event loops use it."""
        return _usual(self).wrap_bio(*args, **settings)

    def get_ca_certs(self, *args: Any, **settings: Any) -> Any:
        """Return the certificates that are trusted."""
        return _usual(self).get_ca_certs(*args, **settings)

    def cert_store_stats(self) -> dict[str, int]:
        """Return how many certificates there are."""
        return _usual(self).cert_store_stats()


def _usual(context: ssl.SSLContext) -> ssl.SSLContext:
    """Return *context* once it has its certificates.

    Its class is set last: another thread that uses it at the same time reads them, too.
    """
    _read(context)
    context.__class__ = _USUAL
    return context


@contextmanager
def aiohttp_reads_no_certificates() -> Iterator[None]:
    """Import aiohttp in the block: contexts that this thread makes there are `UnreadContext`s.

    Nothing is changed if aiohttp is imported already, or if the program has changed `ssl` itself.
    """
    changed_by_others = _METHOD in vars(ssl.SSLContext) or ssl.SSLContext is not _USUAL
    if "aiohttp" in sys.modules or changed_by_others:
        yield
        return
    thread = threading.get_ident()

    def note(context: ssl.SSLContext) -> None:
        if threading.get_ident() == thread and type(context) is _USUAL:
            context.__class__ = UnreadContext
        else:
            _read(context)

    setattr(ssl.SSLContext, _METHOD, note)
    try:
        yield
    finally:
        with suppress(AttributeError):  # another thread was importing it, too
            delattr(ssl.SSLContext, _METHOD)
