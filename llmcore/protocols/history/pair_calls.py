"""Pairs tool calls with their results, and gives both legal, unique ids."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from attrs import define, evolve

from llmcore.protocols.history.clean import Draft, HistoryPolicy, Place, path_of
from llmcore.protocols.tools import is_synthetic_call_id, shown, synthetic_call_id
from llmcore.schema.content import (
    ContentPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    uncached,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.messages import Message, Origin, Role

MISSING_RESULT = "No result: this tool call was never answered."
"""The result that is sent for a call without one."""


@define
class PairedResult:
    """A tool's result and its source; the source of a placeholder is None."""

    place: Place
    part: ToolResultPart
    source: Message | None


PairedResults = dict[Place, PairedResult]
"""By the place of the call."""


def is_open_call(part: ContentPart) -> bool:
    """Return whether *part* is a call that a tool message must answer."""
    return isinstance(part, ToolCallPart) and not part.provider_executed


# -- the usual conversation, in which all is in its place


def is_in_order(
    messages: Iterable[tuple[Role, Sequence[ContentPart], Origin | None]], policy: HistoryPolicy
) -> bool:
    """Return whether each of *messages* can be sent where it is, and calls keep their ids.

    They are given by their roles, parts and origins. Each call then has its result next, in call
    order, and an id of its own that the target takes.
    """
    waiting: list[ToolCallPart] = []
    ids: set[str] = set()
    before = ""
    alternate = policy.alternate
    for role, parts, origin in messages:
        if role == "tool":
            count = len(waiting) if alternate else 1
            if not _are_results(parts, waiting[:count], policy):
                return False
            del waiting[:count]
        elif waiting or not parts or (alternate and _SIDES.get(before) == role):
            return False
        elif role == "assistant":
            if not policy.reasoning_may_end_turn and isinstance(parts[-1], ReasoningPart):
                return False
            for part in parts:
                if type(part) is TextPart or not isinstance(part, ToolCallPart):
                    continue
                if not part.provider_executed:
                    if part.id in ids or not (part.id and _keeps_id(part.id, origin, policy)):
                        return False
                    waiting.append(part)
                ids.add(part.id)
        before = role
    return not waiting


def _keeps_id(call_id: str, origin: Origin | None, policy: HistoryPolicy) -> bool:
    """Return whether the target takes *call_id*, as it does if its own server made it.

    Ids may have a meaning for their server: Kimi reads the name and the number of a call in them,
    and LiteLLM the thought signature of a call of Gemini's. Sources:
    https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md,
    https://docs.litellm.ai/blog/gemini_3.
    """
    if policy.call_ids.allows(call_id):
        return True
    own = origin is not None and policy.keeps_opaque(origin)
    return own and not is_synthetic_call_id(call_id)


_SIDES: Final = {"assistant": "assistant", "tool": "user", "user": "user"}


def _are_results(
    parts: Sequence[ContentPart], calls: list[ToolCallPart], policy: HistoryPolicy
) -> bool:
    """Return whether *parts* are the results of *calls*, and nothing else."""
    if not calls or len(parts) != len(calls):
        return False
    for call, part in zip(calls, parts, strict=True):
        if not isinstance(part, ToolResultPart) or part.tool_call_id != call.id:
            return False
        is_named = part.name == call.name or (part.name is None and not policy.name_results)
        if not is_named or part.kind != call.kind:
            return False
    return True


# -- results find their calls


@define
class _OpenCalls:
    """Calls of one id without a result yet, in their order."""

    turn: int
    waiting: deque[Place]
    after: int
    """The number of messages other than results up to the calling one."""


def match(drafts: list[Draft], policy: HistoryPolicy, diagnostics: Diagnostics) -> PairedResults:
    """Remove the results from the tool messages of *drafts*; return them by their calls.

    A result belongs to the latest turn with a call of its id; calls with the same id within a
    turn get their results in order. Results without a call are dropped.
    """
    matcher = _Matcher(policy, diagnostics)
    for draft in drafts:
        matcher.read(draft)
    return matcher.results


class _Matcher:
    """Reads a conversation once, and keeps track of the calls without results."""

    def __init__(self, policy: HistoryPolicy, diagnostics: Diagnostics) -> None:
        self.results: PairedResults = {}
        self._policy = policy
        self._diagnostics = diagnostics
        self._open: dict[str, _OpenCalls] = {}
        self._given: dict[str, list[ContentPart]] = {}
        """The paired results, without cache marks, by the id of their call; some clients send one
        again."""
        self._turn = 0
        self._passed = 0
        self._last_answered: Place = (-1, -1)
        self._previous_role = ""

    def read(self, draft: Draft) -> None:
        """Record the calls or results of the next message."""
        if draft.role == "assistant":
            begins = self._previous_role != "assistant"
            self._turn += begins
            self._passed += begins or not self._policy.alternate
            self._read_calls(draft)
        elif draft.role == "tool":
            draft.parts = [entry for entry in draft.parts if not self._take(*entry, draft)]
        else:
            self._passed += 1
        self._previous_role = draft.role

    def _read_calls(self, draft: Draft) -> None:
        for place, part in draft.parts:
            if isinstance(part, ToolCallPart) and not part.provider_executed:
                entry = self._open.get(part.id)
                if entry is None or entry.turn != self._turn:
                    self._open[part.id] = _OpenCalls(self._turn, deque([place]), self._passed)
                else:
                    entry.waiting.append(place)

    def _take(self, place: Place, part: ContentPart, draft: Draft) -> bool:
        """Return whether *part* leaves its tool message: paired with a call, or dropped."""
        if not isinstance(part, ToolResultPart):
            self._passed += 1
            if not self._policy.alternate:
                why = "the target's tool messages hold results only; the rest became a user message"
                self._diagnostics.at(path_of(place)).changed("tool-message-split", why)
            return False
        entry = self._open.get(part.tool_call_id)
        if entry is None:
            return self._is_stray(place, part)
        plain = uncached(part)
        if not entry.waiting and plain in self._given.get(part.tool_call_id, ()):
            why = "the same result of the same call came before"
            self._diagnostics.at(path_of(place)).dropped("tool-result-stray", why)
            return True
        if not entry.waiting:
            raise InvalidRequestError(
                f"{path_of(place)} is a second result for the tool call "
                f"{shown(part.tool_call_id)!r}; keep the one that is true and remove the other"
            )
        call = entry.waiting.popleft()
        self.results[call] = PairedResult(place, part, draft.message)
        self._given.setdefault(part.tool_call_id, []).append(plain)
        if call < self._last_answered or entry.after != self._passed:
            why = "results must directly follow the message with their calls, in their order"
            self._diagnostics.at(path_of(place)).changed("tool-result-moved", why)
        self._last_answered = call
        return True

    def _is_stray(self, place: Place, part: ToolResultPart) -> bool:
        if self._policy.continues_stored:
            return False
        why = f"no call with the id {shown(part.tool_call_id)!r} stands before it"
        self._diagnostics.at(path_of(place)).dropped("tool-result-stray", why)
        return True


# -- each call gets a legal, unique id and a result


def settle(
    drafts: list[Draft], results: PairedResults, policy: HistoryPolicy, diagnostics: Diagnostics
) -> None:
    """Give each call an id that the target accepts, and a result: a placeholder if it has none."""
    ids = _Ids(policy)
    turn = -1
    for draft in drafts:
        if draft.role != "assistant":
            continue
        turn += 1
        for position, (place, part) in enumerate(draft.parts):
            if not isinstance(part, ToolCallPart):
                continue
            if part.provider_executed:
                ids.reserve(part.id)
                continue
            call, call_id = part, ids.take(part.id, turn, position, draft.message.origin)
            if call_id != part.id:
                call = _renamed(part, call_id, diagnostics.at(path_of(place)))
                draft.parts[position] = (place, call)
            results[place] = _settled(call, place, results.get(place), policy, diagnostics)


class _Ids:
    """The ids of one conversation, each used once."""

    def __init__(self, policy: HistoryPolicy) -> None:
        self._policy = policy
        self._rule = policy.call_ids
        self._taken: set[str] = set()
        self._times: dict[str, int] = {}

    def reserve(self, call_id: str) -> None:
        """Give *call_id* to a call that must keep it."""
        self._taken.add(call_id)

    def take(self, call_id: str, turn: int, position: int, origin: Origin | None) -> str:
        """Return *call_id*, or its replacement, which was not returned before."""
        base = call_id or synthetic_call_id(None, turn, position)
        unique = base if _keeps_id(base, origin, self._policy) else self._rule.fit(base)
        while unique in self._taken:
            times = self._times[base] = self._times.get(base, 1) + 1
            unique = self._rule.fit(f"{base}_{times}")
        self._taken.add(unique)
        return unique


def _renamed(call: ToolCallPart, call_id: str, diagnostics: Diagnostics) -> ToolCallPart:
    why = f"the id {shown(call.id)!r} became {call_id!r}, which is legal and unique"
    diagnostics.changed("tool-call-id-changed", why)
    return evolve(call, id=call_id)


def _settled(
    call: ToolCallPart,
    place: Place,
    result: PairedResult | None,
    policy: HistoryPolicy,
    diagnostics: Diagnostics,
) -> PairedResult:
    """Return the result of *call*, under its id, kind and (if wanted) name."""
    if result is None:
        why = f"the call of {call.name} has no result; a placeholder is sent"
        diagnostics.at(path_of(place)).added("tool-result-missing", why)
        made = ToolResultPart(
            call.id, MISSING_RESULT, name=call.name, is_error=True, kind=call.kind
        )
        return PairedResult(place, made, None)
    part = result.part
    name = part.name
    if name is None and policy.name_results:
        name = call.name
    elif name is not None and name != call.name:
        why = f"the result of {call.name} was named {name}"
        diagnostics.at(path_of(result.place)).changed("tool-result-renamed", why)
        name = call.name
    if (part.tool_call_id, part.kind, part.name) != (call.id, call.kind, name):
        part = evolve(part, tool_call_id=call.id, kind=call.kind, name=name)
        return PairedResult(result.place, part, result.source)
    return result


def results_of(draft: Draft, results: PairedResults) -> Iterator[PairedResult]:
    """Yield the results of the calls of *draft*, in call order."""
    for place, part in draft.parts:
        if is_open_call(part):
            yield results[place]
