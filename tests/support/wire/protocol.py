"""Bytes and requests of a protocol for its tests, whichever protocol it is."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from attrs import frozen

from llmcore.folds.grammar import violations
from llmcore.folds.response import collect
from llmcore.protocols.protocol import Protocol
from llmcore.routes.decoding import decode_response
from llmcore.routes.framing import Framing
from llmcore.schema.errors import LLMError
from llmcore.schema.events import ErrorEvent, LLMEvent
from llmcore.schema.request import LLMRequest
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Success


@frozen
class ProtocolWire:
    """A protocol, and how its streams come."""

    protocol: Protocol[Any, Any, Any]
    framing: Framing
    media_type: str
    """Of a stream."""

    def streamed(self, chunks: Sequence[bytes], asked: LLMRequest) -> list[LLMEvent]:
        """Return what a stream amounts to; it always obeys the grammar."""
        return self._decoded(chunks, asked, streaming=True)

    def whole(self, given: Any, asked: LLMRequest) -> list[LLMEvent]:
        """Return what a body amounts to that was not streamed; it always obeys the grammar."""
        body = given if isinstance(given, bytes) else json.dumps(given).encode()
        return self._decoded([body], asked, streaming=False)

    def _decoded(
        self, chunks: Sequence[bytes], asked: LLMRequest, *, streaming: bool
    ) -> list[LLMEvent]:
        events = decode_response(
            self.protocol,
            self.framing,
            asked,
            status=200,
            headers={"content-type": self.media_type if streaming else "application/json"},
            chunks=chunks,
            streaming=streaming,
        )
        problems = violations(events)
        assert not problems, problems
        return events

    def built(self, asked: LLMRequest, *, stream: bool = False) -> Any:
        """Return the body of *asked* with its diagnostics and headers."""
        result = self.protocol.body.build(asked, stream)
        assert isinstance(result, Success), result
        return result.unwrap()

    def body(self, asked: LLMRequest, *, stream: bool = False) -> dict[str, Any]:
        """Return the body of *asked* as JSON data."""
        return dict(self.built(asked, stream=stream).body)

    def codes(self, asked: LLMRequest, *, stream: bool = False) -> list[tuple[str, str]]:
        """Return code and path of each diagnostic of *asked*."""
        return [(note.code, note.path) for note in self.built(asked, stream=stream).diagnostics]

    def refused(self, asked: LLMRequest) -> LLMError:
        """Return why no body can be built of *asked*."""
        return self.protocol.body.build(asked, False).failure()


_Dialect = TypeVar("_Dialect")


@frozen
class DialectWire(Generic[_Dialect]):
    """A protocol that several servers speak, each in its dialect."""

    make: Callable[[_Dialect], Protocol[Any, Any, Any]]
    usual: _Dialect
    framing: Framing
    media_type: str

    def of(self, dialect: _Dialect | None = None) -> ProtocolWire:
        """Return the wire in *dialect*, or in the usual one."""
        protocol = self.make(self.usual if dialect is None else dialect)
        return ProtocolWire(protocol, self.framing, self.media_type)

    def built(
        self, asked: LLMRequest, dialect: _Dialect | None = None, *, stream: bool = False
    ) -> Any:
        """Return the body of *asked* with its diagnostics and headers."""
        return self.of(dialect).built(asked, stream=stream)

    def body(
        self, asked: LLMRequest, dialect: _Dialect | None = None, *, stream: bool = False
    ) -> Any:
        """Return the body of *asked*."""
        return self.built(asked, dialect, stream=stream).body

    def codes(self, asked: LLMRequest, dialect: _Dialect | None = None) -> list[tuple[str, str]]:
        """Return code and path of each diagnostic of *asked*."""
        return self.of(dialect).codes(asked)

    def refused(self, asked: LLMRequest, dialect: _Dialect | None = None) -> LLMError:
        """Return why no body can be built of *asked*."""
        return self.of(dialect).refused(asked)


def pieces(said: str, size: int = 4) -> list[str]:
    """Return *said* in pieces of *size* characters."""
    return [said[at : at + size] for at in range(0, len(said), size)]


def response(events: Iterable[LLMEvent]) -> LLMResponse:
    """Return the response that *events* amount to."""
    return collect(events).unwrap()


def error(events: Sequence[LLMEvent]) -> LLMError:
    """Return the error that *events* end with."""
    last = events[-1]
    assert isinstance(last, ErrorEvent), last
    return last.error
