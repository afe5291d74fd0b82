"""Assembles deltas of the contract into an entry."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from attrs import define, evolve, field

from llmcore.schema.json import JsonObject, JsonValue, parse_arguments
from llmcore.schema.result import Failure, Result, Success
from llmcore.sessions.contract.deltas import (
    DeltaDone,
    DeltaError,
    DeltaStart,
    DeltaText,
    DeltaThinking,
    DeltaToolCallArgs,
    DeltaToolCallEnd,
    DeltaToolCallStart,
    DeltaUsage,
    MessageDelta,
)
from llmcore.sessions.contract.entries import (
    EntryPart,
    EntryText,
    EntryThinking,
    EntryToolCall,
    MessageEntry,
)
from llmcore.sessions.contract.errors import (
    ClosedToolCallError,
    ContractError,
    DeltaAfterEndError,
    DuplicateToolCallError,
    FailedResponseError,
    MissingStartError,
    MixedRunError,
    OpenToolCallError,
    RepeatedStartError,
    SeqOrderError,
    UnfinishedStreamError,
    UnknownToolCallError,
)


def assemble(deltas: Iterable[MessageDelta]) -> Result[MessageEntry, ContractError]:
    """Fold one stream of deltas into its entry; the first broken rule is the Failure.

    A run of text, or of thinking, is one part, in the place where it began: it ends where
    another part begins. A stream that ends with `error` gives a FailedResponseError.
    """
    assembler = Assembler()
    for delta in deltas:
        assembler.feed(delta)
    return assembler.entry()


@define
class _Call:
    """A tool call that has begun."""

    name: str
    place: int
    chunks: list[str] = field(factory=list)
    ended: bool = False


class Assembler:
    """Assembles one stream delta by delta; equal to `assemble` over the same deltas."""

    def __init__(self) -> None:
        self.fault: ContractError | None = None
        """The first rule that was broken; later deltas are ignored."""
        self._parts: list[EntryPart | list[str] | None] = []
        self._joining: type[DeltaText | DeltaThinking] | None = None
        """The payload class of the deltas that extend the last part; None if there are none."""
        self._kinds: dict[int, type[EntryText | EntryThinking]] = {}
        self._calls: dict[str, _Call] = {}
        self._start: DeltaStart | None = None
        self._usage: DeltaUsage | None = None
        self._broken: list[tuple[str, str | None]] = []
        self._last: MessageDelta | None = None

    def __repr__(self) -> str:
        fault = f", {self.fault!r}" if self.fault is not None else ""
        return f"Assembler({len(self._parts)} parts{fault})"

    def feed(self, delta: MessageDelta) -> None:
        """Add the next delta; a broken rule is kept in `fault`."""
        if self.fault is not None:
            return
        self.fault = self._frame(delta) or self._HANDLERS[type(delta.payload)](self, delta.payload)
        if self.fault is None:
            self._last = delta
        else:
            self.fault.run_id, self.fault.seq = delta.run_id, delta.seq

    def entry(self) -> Result[MessageEntry, ContractError]:
        """Return the entry once the stream has ended with `done`; else what is wrong."""
        if self.fault is not None:
            return Failure(self.fault)
        if self._last is None:
            return Failure(MissingStartError("the stream has no deltas"))
        match self._last.payload:
            case DeltaDone(finish_reason=reason):
                return Success(self._built(self._last, reason))
            case DeltaError() as failed:
                return Failure(_failed(failed, self._last))
            case _:
                message = "the stream ends without done or error"
                return Failure(UnfinishedStreamError(message, run_id=self._last.run_id))

    # -- rules of the stream as a whole

    def _frame(self, delta: MessageDelta) -> ContractError | None:
        last = self._last
        if last is None:
            if isinstance(delta.payload, DeltaStart):
                return None
            return MissingStartError(f"the stream begins with {delta.kind}, not with start")
        if delta.run_id != last.run_id:
            return MixedRunError(f"a delta of run {delta.run_id!r} in a stream of {last.run_id!r}")
        if delta.seq <= last.seq:
            return SeqOrderError(f"seq {delta.seq} comes after {last.seq}")
        if isinstance(last.payload, DeltaDone | DeltaError):
            return DeltaAfterEndError(f"{delta.kind} comes after {last.kind}")
        return None

    # -- payloads; each handler returns the rule that its delta breaks

    def _run(self, payload: DeltaText | DeltaThinking) -> None:
        if self._joining is not type(payload):
            self._joining = type(payload)
            kind = EntryText if self._joining is DeltaText else EntryThinking
            self._kinds[len(self._parts)] = kind
            self._parts.append([])
        chunks = self._parts[-1]
        if isinstance(chunks, list):
            chunks.append(payload.text_delta)

    def _call_args(self, payload: DeltaToolCallArgs) -> ContractError | None:
        call = self._open_call(payload.tool_call_id)
        if isinstance(call, ContractError):
            return call
        call.chunks.append(payload.args_text_delta)
        return None

    def _call_start(self, payload: DeltaToolCallStart) -> ContractError | None:
        id_ = payload.tool_call_id
        if id_ in self._calls:
            message = f"tool call {id_!r} begins a second time"
            return DuplicateToolCallError(message, tool_call_id=id_)
        self._calls[id_] = _Call(payload.tool_name, len(self._parts))
        self._parts.append(None)
        self._joining = None
        return None

    def _call_end(self, payload: DeltaToolCallEnd) -> ContractError | None:
        call = self._open_call(payload.tool_call_id)
        if isinstance(call, ContractError):
            return call
        call.ended = True
        text = "".join(call.chunks)
        arguments, problem = parse_arguments(text)
        if problem is None and isinstance(arguments, dict):
            self._parts[call.place] = EntryToolCall(payload.tool_call_id, call.name, arguments)
            return None
        self._broken.append((payload.tool_call_id, problem))
        self._parts[call.place] = EntryToolCall(
            payload.tool_call_id, call.name, {}, raw_args_text=text
        )
        return None

    def _open_call(self, id_: str) -> _Call | ContractError:
        call = self._calls.get(id_)
        if call is None:
            return UnknownToolCallError(f"tool call {id_!r} has not begun", tool_call_id=id_)
        if call.ended:
            return ClosedToolCallError(f"tool call {id_!r} has ended", tool_call_id=id_)
        return call

    def _started(self, payload: DeltaStart) -> ContractError | None:
        if self._start is not None:
            return RepeatedStartError("the stream starts a second time")
        self._start = payload
        return None

    def _used(self, payload: DeltaUsage) -> None:
        self._usage = _latest(self._usage, payload)

    def _done(self, _payload: DeltaDone) -> ContractError | None:
        for id_, call in self._calls.items():
            if not call.ended:
                return OpenToolCallError(f"done inside tool call {id_!r}", tool_call_id=id_)
        return None

    def _failed(self, _payload: DeltaError) -> None:
        """Accept the end of a failed response, whose calls may be open."""

    _HANDLERS: ClassVar[Mapping[type, Callable[[Any, Any], ContractError | None]]] = {
        DeltaText: _run,
        DeltaThinking: _run,
        DeltaToolCallArgs: _call_args,
        DeltaToolCallStart: _call_start,
        DeltaToolCallEnd: _call_end,
        DeltaUsage: _used,
        DeltaStart: _started,
        DeltaDone: _done,
        DeltaError: _failed,
    }

    # -- building

    def _built(self, last: MessageDelta, reason: str) -> MessageEntry:
        start = self._start or DeltaStart("", "")
        return MessageEntry(
            run_id=last.run_id,
            role="assistant",
            parts=tuple(self._built_parts()),
            timestamp=last.timestamp,
            meta={
                **response_meta(start.model_id, start.request_id, reason, self._usage),
                **call_errors_meta(self._broken),
            },
        )

    def _built_parts(self) -> Iterator[EntryPart]:
        for place, part in enumerate(self._parts):
            if isinstance(part, list):
                yield self._kinds[place]("".join(part))
            elif part is not None:
                yield part


def _latest(before: DeltaUsage | None, now: DeltaUsage) -> DeltaUsage:
    """Return *now*, with missing counts taken from *before*."""
    if before is None:
        return now
    names = ("input_tokens", "output_tokens", "total_tokens", "cost")
    missing = {name: getattr(before, name) for name in names if getattr(now, name) is None}
    return evolve(now, **missing)


def _failed(failed: DeltaError, delta: MessageDelta) -> FailedResponseError:
    return FailedResponseError(
        failed.message or "the response failed",
        error_code=failed.error_code,
        retryable=bool(failed.retryable),
        run_id=delta.run_id,
        seq=delta.seq,
    )


def response_meta(
    model_id: str, request_id: str | None, reason: str, usage: DeltaUsage | None
) -> JsonObject:
    """Return the fields of `meta` for the whole response."""
    fields: dict[str, JsonValue] = {"modelId": model_id, "requestId": request_id}
    if usage is not None:
        counted: dict[str, JsonValue] = {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "totalTokens": usage.total_tokens,
        }
        fields["usage"] = counted if usage.cost is None else {**counted, "cost": usage.cost}
    return {**{name: value for name, value in fields.items() if value}, "finishReason": reason}


def call_errors_meta(broken: Iterable[tuple[str, str | None]]) -> JsonObject:
    """Return the entry of `meta` for calls whose arguments did not parse: their ids and why."""
    errors: list[JsonValue] = [{"toolCallId": id_, "message": why} for id_, why in broken]
    return {"toolCallErrors": errors} if errors else {}
