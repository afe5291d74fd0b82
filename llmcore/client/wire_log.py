"""Logs what is sent and received, with credentials redacted: `LLMCORE_LOG=debug`.

The loggers are those of `logging`, so an application can switch them on without the variable:

    logging.getLogger("llmcore.wire").setLevel("DEBUG")

At INFO there is one line for each response (status, time to the headers); at DEBUG also headers and
bodies, and so prompts and responses. That is why the level must be set on this logger itself: a
root logger at DEBUG does not switch it on. Otherwise nothing is wrapped and nothing is formatted.
"""

import codecs
import logging
import re
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Final

from attrs import define

from llmcore.client.transport import Exchange, Transport, WrappedExchange
from llmcore.routes.http_request import HttpRequest, redact
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema.errors import ConfigurationError, LLMError
from llmcore.schema.secret_names import redacted

VARIABLE: Final = "LLMCORE_LOG"
MAX_SHOWN: Final = 16_384
"""The most characters of a body, or of a response's line, that are logged."""

_LOG = logging.getLogger("llmcore.wire")
_CALLS = logging.getLogger("llmcore.calls")  # the default of `CallLog`
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def switch_on(environ: Mapping[str, str]) -> None:
    """Log to stderr at the level that `LLMCORE_LOG` names; do nothing if it is not set.

    The lines of `CallLog` are logged, too. Handlers of the application are used where there are
    some. Raises ConfigurationError for a value that is not a level.
    """
    name = environ.get(VARIABLE, "").strip().lower()
    if name in ("", "off"):
        return
    if name not in _LEVELS:
        raise ConfigurationError(f"{VARIABLE} must be 'debug', 'info' or 'off'; got {name[:40]!r}")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(message)s"))
    for logger, level in ((_LOG, _LEVELS[name]), (_CALLS, logging.INFO)):
        logger.setLevel(level)
        if not logger.hasHandlers():
            logger.addHandler(handler)


def logged(transport: Transport) -> Transport:
    """Return *transport*, with its exchanges logged if the logger is switched on."""
    on = _LOG.level != logging.NOTSET and _LOG.isEnabledFor(logging.INFO)
    return _LoggedTransport(transport) if on else transport


@define(eq=False)
class _LoggedTransport:
    """A transport that logs each request and each response."""

    _inner: Transport

    async def send(self, request: HttpRequest, timeouts: Timeouts) -> Exchange:
        started, secrets = time.monotonic(), request.secrets
        _LOG.debug("> %s %s", request.method, _shown(request.safe_url, secrets))
        for name, value in request.safe_headers.items():
            _LOG.debug("> %s: %s", name, _shown(value, secrets))
        _LOG.debug("> %s", _shown(request.body.decode(errors="replace"), secrets))
        try:
            exchange = await self._inner.send(request, timeouts)
        except LLMError as error:
            _LOG.info("< %s: %s", type(error).__name__, _shown(error.message, secrets))
            raise
        seconds, where = time.monotonic() - started, _shown(request.safe_url, secrets)
        _LOG.info("< %d after %.3f s: %s %s", exchange.status, seconds, request.method, where)
        for name, value in redacted(exchange.headers).items():
            _LOG.debug("< %s: %s", name, _shown(value, secrets))
        return _LoggedExchange(exchange, secrets) if _LOG.isEnabledFor(logging.DEBUG) else exchange

    async def aclose(self) -> None:
        await self._inner.aclose()


class _LoggedExchange(WrappedExchange):
    """A response whose body is logged line by line while it is read."""

    def __init__(self, inner: Exchange, secrets: tuple[str, ...]) -> None:
        super().__init__(inner)
        self._secrets = secrets

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Iterate over the body. A secret that two chunks share is redacted, too."""
        lines = _Lines(self._secrets)
        chunks = self._inner.chunks()
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    lines.feed(chunk)
                    yield chunk
        finally:
            lines.end()


class _Lines:
    """The lines of one body, of which the last is logged once it is complete or too long."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets
        self._longest = max(map(len, secrets), default=0)
        self._text = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""

    def feed(self, chunk: bytes) -> None:
        *lines, self._waiting = (self._waiting + self._text.decode(chunk)).split("\n")
        for line in filter(None, lines):
            self._log(line)
        if len(self._waiting) > MAX_SHOWN:
            safe = redact(self._waiting, self._secrets)
            end = len(safe) - self._longest  # what follows may be the beginning of a secret
            self._log(safe[:end])
            self._waiting = safe[end:]

    def end(self) -> None:
        if self._waiting:
            self._log(self._waiting)

    def _log(self, line: str) -> None:
        _LOG.debug("< %s", _shown(line, self._secrets))


def _shown(text: str, secrets: tuple[str, ...]) -> str:
    """Return *text* without *secrets* and control characters, cut where it is long."""
    safe = redact(text, secrets)
    more = len(safe) - MAX_SHOWN
    cut = f"{safe[:MAX_SHOWN]}... ({more} more characters)" if more > 0 else safe
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", cut)
