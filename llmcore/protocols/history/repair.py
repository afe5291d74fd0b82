"""Orders a conversation: instructions, results after calls, alternating roles, the user first."""

from collections import Counter
from collections.abc import Iterator, Sequence
from operator import is_
from typing import Final, NamedTuple, TypeVar

import msgspec
from attrs import evolve

from llmcore.protocols.history.clean import (
    Draft,
    HistoryPolicy,
    Place,
    Placed,
    clean,
    is_plain,
    path_of,
)
from llmcore.protocols.history.pair_calls import (
    PairedResult,
    PairedResults,
    is_in_order,
    match,
    results_of,
    settle,
)
from llmcore.protocols.lowering import tagged_text
from llmcore.schema.content import ContentPart, ReasoningPart, TextPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostic, Diagnostics
from llmcore.schema.messages import Message, Origin, Role

_Result = TypeVar("_Result")

EMPTY_MESSAGE = "(empty message)"
"""The text of a user's message that has no other content that can be sent."""
EARLIER_MESSAGES = "(earlier messages are left out)"
"""The text of the user's first message, added if the conversation begins with a response."""


class Unit(msgspec.Struct, eq=False):
    """A message under construction, or a part of one."""

    role: Role
    parts: list[Placed]
    path: str
    sources: list[Message] = []
    """The caller's messages that it is made of."""

    @property
    def side(self) -> str:
        """The side of the conversation; tool messages belong to the user's."""
        return "user" if self.role == "tool" else self.role


# -- instructions among the messages


def place_instructions(
    drafts: list[Draft], policy: HistoryPolicy, diagnostics: Diagnostics
) -> list[TextPart]:
    """Apply the policy to system and developer messages; return the lifted text.

    *drafts* are changed in place: a message whose text is lifted keeps no parts. If all messages
    are instructions, the last one becomes the user's, since a request needs at least one message.
    """
    lifted: list[TextPart] = []
    leading = True
    alone = all(draft.role in ("system", "developer") for draft in drafts if draft.parts)
    for draft in drafts:
        if draft.role not in ("system", "developer"):
            leading = leading and not draft.parts
        elif policy.system_messages == "keep":
            _rename_developer(draft, policy, diagnostics)
        elif alone and draft is drafts[-1] and draft.parts:
            _demote(draft, diagnostics)
        elif policy.system_messages == "lift" or leading:
            _lift(draft, lifted, diagnostics, moved=not leading)
        elif draft.parts:
            _demote(draft, diagnostics)
    return lifted


def _rename_developer(draft: Draft, policy: HistoryPolicy, diagnostics: Diagnostics) -> None:
    if draft.role == "developer" and not policy.developer_role and draft.parts:
        draft.role = "system"
        diagnostics.at(draft.path).changed(
            "developer-as-system", "the target has no developer role"
        )


def _lift(draft: Draft, lifted: list[TextPart], diagnostics: Diagnostics, *, moved: bool) -> None:
    """Move the text of *draft* to *lifted*; what else it holds becomes the user's."""
    if moved and draft.parts:
        why = "the target accepts instructions only before the conversation"
        diagnostics.at(draft.path).changed("system-message-moved", why)
    if draft.message.name and draft.parts:
        diagnostics.at(draft.path).at("name").unsupported("the target's instructions have no names")
    lifted.extend(part for _, part in draft.parts if isinstance(part, TextPart))
    rest: list[Placed] = [
        (place, part) for place, part in draft.parts if not isinstance(part, TextPart)
    ]
    if rest:
        why = "the target's instructions are text only; the rest became a user message"
        diagnostics.at(draft.path).changed("system-message-demoted", why)
    draft.parts, draft.role = rest, "user" if rest else draft.role


def _demote(draft: Draft, diagnostics: Diagnostics) -> None:
    """Make *draft* the user's, its text in a tag that names the speaker."""
    tag = draft.role
    why = f"the target accepts no {tag} message here; it became user text in a <{tag}> tag"
    diagnostics.at(draft.path).changed("system-message-demoted", why)
    draft.parts = [
        (place, evolve(part, text=tagged_text(tag, part.text)))
        if isinstance(part, TextPart)
        else (place, part)
        for place, part in draft.parts
    ]
    draft.role = "user"


# -- from drafts to units


def units_of(drafts: list[Draft], results: PairedResults, policy: HistoryPolicy) -> Iterator[Unit]:
    """Yield all of *drafts* in order, each result where it belongs.

    Where sides take turns, assistant messages in a row are one turn, and their results
    follow the last of them.
    """
    waiting: list[PairedResult] = []
    for draft in drafts:
        if draft.role == "assistant":
            yield Unit("assistant", draft.parts, draft.path, [draft.message])
            waiting.extend(results_of(draft, results))
        if waiting and (draft.role != "assistant" or not policy.alternate):
            yield from _results(waiting, policy)
            waiting = []
        if draft.role == "tool":
            if draft.parts:
                yield from _rest_of_tool_message(draft, policy)
        elif draft.role != "assistant":
            yield Unit(draft.role, draft.parts, draft.path, [draft.message])
    yield from _results(waiting, policy)


def _results(results: list[PairedResult], policy: HistoryPolicy) -> Iterator[Unit]:
    """Yield the tool messages of *results*: one each, or one for all."""
    for batch in _batches(results, policy):
        parts: list[Placed] = [(result.place, result.part) for result in batch]
        sources = {id(result.source): result.source for result in batch if result.source}
        yield Unit("tool", parts, f"messages[{batch[0].place[0]}]", list(sources.values()))


def _batches(results: list[_Result], policy: HistoryPolicy) -> list[list[_Result]]:
    """Return which of *results* share a message."""
    if policy.alternate:
        return [results] if results else []
    return [[result] for result in results]


def _rest_of_tool_message(draft: Draft, policy: HistoryPolicy) -> Iterator[Unit]:
    """Yield what is left of a tool message: results of stored calls, then the user's parts."""
    free = [entry for entry in draft.parts if isinstance(entry[1], ToolResultPart)]
    rest = [entry for entry in draft.parts if not isinstance(entry[1], ToolResultPart)]
    for batch in _batches(free, policy):
        yield Unit("tool", batch, draft.path, [draft.message])
    if rest:
        yield Unit("user", rest, draft.path, [draft.message])


# -- from units to messages


class Arranged(NamedTuple):
    """A message, and where it was among the caller's."""

    path: str
    """The path of its first part's message."""
    message: Message
    places: tuple[Place, ...] | None
    """The places of its parts; None for one of the caller's messages as it was."""


def arrange(
    units: Iterator[Unit], policy: HistoryPolicy, diagnostics: Diagnostics
) -> list[Arranged]:
    """Return *units* as messages in an order that the target accepts."""
    groups: list[list[Unit]] = []
    for unit in units:
        joins = bool(groups) and _joins(groups[-1], unit, policy)
        if groups and not joins:
            _close(groups, policy, diagnostics)
            joins = bool(groups) and _joins(groups[-1], unit, policy)
        if joins:
            _note_merge(groups[-1][-1], unit, diagnostics)
            groups[-1].append(unit)
        else:
            groups.append([unit])
    if groups:
        _close(groups, policy, diagnostics)
    messages = [_message(group, policy, diagnostics) for group in groups]
    return _started_by_user(messages, diagnostics) if policy.starts_with_user else messages


def _as_they_are(
    drafts: list[Draft], policy: HistoryPolicy, diagnostics: Diagnostics
) -> list[Arranged]:
    """Return *drafts*, which are in order, as messages."""
    messages = [
        Arranged(draft.path, draft.message, None)
        if draft.is_whole and draft.role == draft.message.role
        else _message(
            [Unit(draft.role, draft.parts, draft.path, [draft.message])], policy, diagnostics
        )
        for draft in drafts
    ]
    return _started_by_user(messages, diagnostics) if policy.starts_with_user else messages


def _joins(group: list[Unit], unit: Unit, policy: HistoryPolicy) -> bool:
    return policy.alternate and unit.side in ("user", "assistant") and group[0].side == unit.side


def _note_merge(before: Unit, unit: Unit, diagnostics: Diagnostics) -> None:
    """Report that two messages were joined, unless a user's message follows tool results."""
    if before.role == unit.role and unit.parts:
        why = f"joined with the {before.role} message before it: roles must alternate"
        diagnostics.at(unit.path).noted("roles-merged", why)


def _close(groups: list[list[Unit]], policy: HistoryPolicy, diagnostics: Diagnostics) -> None:
    """Remove reasoning from the end of the last group, and the group if it is then empty."""
    group = groups[-1]
    if group[0].role != "assistant" or policy.reasoning_may_end_turn:
        return
    while group:
        parts = group[-1].parts
        while parts and isinstance(parts[-1][1], ReasoningPart):
            place, _ = parts.pop()
            diagnostics.at(path_of(place)).dropped(
                "reasoning-dropped", "a response may not end with reasoning"
            )
        if parts:
            return
        group.pop()
    groups.pop()


def _message(group: list[Unit], policy: HistoryPolicy, diagnostics: Diagnostics) -> Arranged:
    """Return *group* as one message: one of the caller's own if nothing changed."""
    first = group[0]
    if len(group) == 1 and _is_unchanged(first):  # nearly always
        return Arranged(first.path, first.sources[0], None)
    role, placed = first.role, [entry for unit in group for entry in unit.parts]
    if first.side == "user":
        placed.sort(key=lambda entry: not isinstance(entry[1], ToolResultPart))
        role = "tool" if placed and isinstance(placed[0][1], ToolResultPart) else "user"
    places = tuple(place for place, _ in placed)
    content = tuple(part for _, part in placed)
    if not content:
        why = f"it is empty; {EMPTY_MESSAGE!r} is sent"
        diagnostics.at(first.path).changed("empty-message", why)
        content = (TextPart(EMPTY_MESSAGE),)
    sources = [source for unit in group for source in unit.sources]
    for source in sources:
        if source.role == role and _same(source.content, content):
            return Arranged(first.path, source, places)
    message = Message(
        role,
        content,
        name=_name(sources, role, diagnostics.at(first.path)),
        origin=_origin(sources, policy),
        provider_metadata={key: data for s in sources for key, data in s.provider_metadata.items()},
    )
    return Arranged(first.path, message, places)


def _is_unchanged(unit: Unit) -> bool:
    if len(unit.sources) != 1 or not unit.parts:
        return False
    source = unit.sources[0]
    return source.role == unit.role and _same(source.content, [part for _, part in unit.parts])


def _same(before: Sequence[ContentPart], after: Sequence[ContentPart]) -> bool:
    return len(before) == len(after) and all(map(is_, before, after))


def _name(sources: list[Message], role: Role, diagnostics: Diagnostics) -> str | None:
    """Return the speaker's name, if all of *sources* agree on it."""
    names = {source.name for source in sources if source.role == role or source.name}
    if len(names) == 1:
        return names.pop()
    if names:
        why = "messages of several speakers became one message"
        diagnostics.dropped("speaker-names-dropped", why)
    return None


def _origin(sources: list[Message], policy: HistoryPolicy) -> Origin | None:
    """Return the origin whose opaque data and ids are still in the message."""
    origins = [source.origin for source in sources]
    for accepts in (policy.keeps_opaque, policy.same_api):
        accepted = [origin for origin in origins if accepts(origin)]
        if accepted:  # a stated one first: ids that only its API made are kept for it
            return next((origin for origin in accepted if origin is not None), None)
    return origins[0] if origins else None


def _started_by_user(messages: list[Arranged], diagnostics: Diagnostics) -> list[Arranged]:
    """Return *messages*, with a user message first if a response comes first."""
    for position, (path, message, _) in enumerate(messages):
        if message.role in ("user", "tool"):
            break
        if message.role == "assistant":
            diagnostics.at(path).added(
                "first-message-added", "the first message must be the user's"
            )
            first = Arranged(path, Message.user(EARLIER_MESSAGES), None)
            return [*messages[:position], first, *messages[position:]]
    return messages


# -- the steps in order


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation that keeps its policy's rules."""

    messages: tuple[Message, ...]
    paths: tuple[str, ...]
    """The original path of each message or of its first part: `messages[3]`, for Diagnostics."""
    system: tuple[TextPart, ...] = ()
    """Text of lifted system messages: it goes after the request's own system text."""
    diagnostics: tuple[Diagnostic, ...] = ()
    places: tuple[tuple[Place, ...] | None, ...] = ()
    """The original places of each message's parts; None where the message is the caller's own.

    Empty where all are."""

    def report_to(self, diagnostics: Diagnostics) -> None:
        """Add what was changed to *diagnostics*, and the former positions of moved or joined parts.

        *diagnostics* can name parts of `messages` for as long as those live. A part that is in
        several places is left out.
        """
        diagnostics.extend(self.diagnostics)
        if not self.places:
            return
        moved = {
            id(part): place
            for message, places in zip(self.messages, self.places, strict=False)
            for part, place in zip(message.content, places or (), strict=False)
        }
        often = Counter(id(part) for message in self.messages for part in message.content)
        diagnostics.places.update(
            {part: path_of(place) for part, place in moved.items() if often[part] == 1}
        )


def is_question(messages: Sequence[Message]) -> bool:
    """Return whether *messages* are a user's text alone, in which there is nothing to repair."""
    if len(messages) != 1 or messages[0].role != "user" or not messages[0].content:
        return False
    return all(type(part) is TextPart and part.text[:1].strip() for part in messages[0].content)


def _needs_no_repair(messages: Sequence[Message], policy: HistoryPolicy) -> bool:
    """Return whether *messages* certainly are as the target takes them, as nearly all are."""
    if not messages or (policy.starts_with_user and messages[0].role != "user"):
        return False
    for message in messages:
        is_kept = message.role in _SPEAKING or (
            policy.system_messages == "keep" and (message.role == "system" or policy.developer_role)
        )
        if not is_kept or not is_plain(message, policy):
            return False
    return is_in_order([(one.role, one.content, one.origin) for one in messages], policy)


_SPEAKING: Final = frozenset({"assistant", "tool", "user"})


def repair(messages: Sequence[Message], policy: HistoryPolicy) -> Repaired:
    """Return *messages* changed so that the target of *policy* accepts them.

    Every tool call of an assistant message has exactly one result, directly after that
    message and in call order; every call id is unique and legal. InvalidRequestError for
    two results of one call: only the caller can decide which one is right.
    """
    if is_question(messages):  # a test that costs less
        return Repaired(messages=tuple(messages), paths=("messages[0]",))
    if _needs_no_repair(messages, policy):
        paths = tuple([f"messages[{index}]" for index in range(len(messages))])
        return Repaired(messages=tuple(messages), paths=paths)
    diagnostics = Diagnostics()
    drafts = [clean(message, index, policy, diagnostics) for index, message in enumerate(messages)]
    system = place_instructions(drafts, policy, diagnostics)
    drafts = [draft for draft in drafts if draft.parts or draft.role == "user"]
    kept = [(one.role, [part for _, part in one.parts], one.message.origin) for one in drafts]
    if is_in_order(kept, policy):
        arranged = _as_they_are(drafts, policy, diagnostics)
    else:
        results = match(drafts, policy, diagnostics)
        settle(drafts, results, policy, diagnostics)
        arranged = arrange(units_of(drafts, results, policy), policy, diagnostics)
    if messages and not arranged and not policy.continues_stored:
        why = "nothing of the conversation can be sent, and one message at least is needed"
        diagnostics.at("messages[0]").added("first-message-added", why)
        arranged = [Arranged("messages[0]", Message.user(EMPTY_MESSAGE), None)]
    places = tuple(entry.places for entry in arranged)
    return Repaired(
        messages=tuple(entry.message for entry in arranged),
        paths=tuple(entry.path for entry in arranged),
        system=tuple(system),
        diagnostics=tuple(diagnostics.entries),
        places=places if any(places) else (),
    )
