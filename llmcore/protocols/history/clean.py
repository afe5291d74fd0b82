"""Removes from each message what its target cannot read."""

from typing import Final, TypeAlias

import msgspec
from attrs import evolve

from llmcore.protocols.history.policy import HistoryPolicy
from llmcore.protocols.lowering import tagged_text
from llmcore.schema.content import (
    AudioPart,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
    cached,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import without
from llmcore.schema.messages import Message, Role

Place: TypeAlias = tuple[int, int]
"""The position of a part in the caller's messages: the indexes of message and part."""

Placed: TypeAlias = tuple[Place, ContentPart]


def path_of(place: Place) -> str:
    """Return *place* as a Diagnostic names it."""
    return f"messages[{place[0]}].content[{place[1]}]"


class Draft(msgspec.Struct, eq=False):
    """A message under repair: its parts with their original positions."""

    message: Message
    index: int
    role: Role
    parts: list[Placed]

    @property
    def path(self) -> str:
        """The message's path in a Diagnostic."""
        return f"messages[{self.index}]"


def clean(message: Message, index: int, policy: HistoryPolicy, diagnostics: Diagnostics) -> Draft:
    """Return *message* without what the target of *policy* cannot read."""
    parts = [((index, number), part) for number, part in enumerate(message.content)]
    if message.role == "assistant":
        parts = [entry for entry in parts if _is_kept_file(entry, policy, diagnostics)]
    else:
        for place, part in parts:
            if type(part) is not TextPart:
                _check_owner(part, place, policy)
    draft = Draft(message, index, message.role, parts)
    if message.role == "assistant":
        _clean_response(draft, policy, diagnostics)
    if policy.empty_text != "keep" and not (policy.empty_user_text and _is_empty_turn(draft)):
        _drop_empty_text(draft, policy, diagnostics)
    if not draft.parts and draft.role != "user":
        diagnostics.dropped("empty-message", draft.path, f"the {draft.role} message is empty")
    return draft


def _is_kept_file(entry: Placed, policy: HistoryPolicy, diagnostics: Diagnostics) -> bool:
    """Return False, with a Diagnostic, for a file that a response of another provider made there.

    The caller did not choose it, so that it must not stop the conversation.
    """
    place, part = entry
    owner = part.file_owner if isinstance(part, _MEDIA) else None
    if owner in (None, policy.provider):
        return True
    diagnostics.dropped(
        "file-dropped", path_of(place), f"the file belongs to {owner}, which created it"
    )
    return False


_MEDIA: Final = (ImagePart, AudioPart, DocumentPart)


def _check_owner(part: object, place: Place, policy: HistoryPolicy, inner: str = "") -> None:
    """Raise InvalidRequestError for a file id of another provider."""
    if isinstance(part, ToolResultPart) and isinstance(part.content, tuple):
        for number, item in enumerate(part.content):
            _check_owner(item, place, policy, f".content[{number}]")
    if not isinstance(part, _MEDIA) or part.file_owner is None:
        return
    if part.file_owner != policy.provider:
        raise InvalidRequestError(
            f"{path_of(place)}{inner} names the file {part.file_id!r} of {part.file_owner}, which "
            f"{policy.provider or 'the target'} does not have: set its data, or its id there"
        )


# -- what only the model that made it can read


def _clean_response(draft: Draft, policy: HistoryPolicy, diagnostics: Diagnostics) -> None:
    """Drop and strip what the target's API, or its model, did not make."""
    trusted = policy.keeps_opaque(draft.message.origin)
    if not trusted:
        _strip_message(draft, policy, diagnostics)
    kept: list[Placed] = []
    lost_reasoning = False
    for place, part in draft.parts:
        if trusted and type(part) is TextPart:
            kept.append((place, part))
            continue
        cleaned = _clean_part(
            part, path_of(place), draft.message, policy, diagnostics, trusted=trusted
        )
        if cleaned is not None:
            kept.append((place, cleaned))
        elif isinstance(part, ReasoningPart):
            lost_reasoning = True
    draft.parts = kept
    if lost_reasoning or not policy.item_ids:
        _drop_item_ids(draft, policy, diagnostics)
    if lost_reasoning:
        draft.parts = [
            (place, part)
            for place, part in draft.parts
            if not isinstance(part, ReasoningPart)
            or _clean_reasoning(part, path_of(place), policy, diagnostics, trusted=True) is not None
        ]


def _clean_part(
    part: ContentPart,
    path: str,
    message: Message,
    policy: HistoryPolicy,
    diagnostics: Diagnostics,
    *,
    trusted: bool,
) -> ContentPart | None:
    """Return *part* in a form that the target can read; None if there is none."""
    if isinstance(part, ReasoningPart):
        own = policy.same_api(message.origin)
        return _clean_reasoning(part, path, policy, diagnostics, trusted=trusted, own=own)
    native = policy.same_api(message.origin)
    if isinstance(part, ProviderPart):
        ours = part.provider in (policy.provider, policy.metadata_key, policy.protocol)
        if not (native and ours):
            why = f"data native to {part.provider} means nothing to {policy.protocol}"
            diagnostics.dropped("provider-part-dropped", path, why)
            return None
        return part
    if isinstance(part, ToolCallPart | ToolResultPart) and part.provider_executed:
        if not native:
            why = "a tool that another provider ran itself cannot be shown to this one"
            diagnostics.dropped("hosted-tool-dropped", path, why)
            return None
        return part
    return part if trusted else _strip(part, path, policy, diagnostics)


def _clean_reasoning(
    part: ReasoningPart,
    path: str,
    policy: HistoryPolicy,
    diagnostics: Diagnostics,
    *,
    trusted: bool,
    own: bool = True,
) -> ReasoningPart | None:
    """Return reasoning in the form that the target accepts; None if it accepts none."""
    if policy.reasoning == "drop" or (policy.reasoning == "own" and not own):
        whose = " of other providers" if policy.reasoning == "own" else ""
        why = f"the target accepts no reasoning from earlier responses{whose}"
        diagnostics.dropped("reasoning-dropped", path, why)
        return None
    cleaned = part if trusted else _without_proof(part, policy)
    if not (cleaned.text or _is_backed(cleaned, policy) or _has_data(cleaned, policy)):
        diagnostics.dropped("reasoning-dropped", path, "the target cannot read any of it")
        return None
    if policy.reasoning == "signed" and not _is_backed(cleaned, policy):
        why = "the target accepts only reasoning with a valid signature"
        diagnostics.dropped("reasoning-dropped", path, why)
        return None
    if cleaned is not part:
        why = "its signature or encrypted data is valid only for the model that made it"
        diagnostics.dropped("opaque-data-dropped", path, why)
    return cleaned


def _is_backed(part: ReasoningPart, policy: HistoryPolicy) -> bool:
    """Return whether *part* has a signature, encrypted data or the id of a stored item."""
    if part.signature is not None or part.encrypted is not None:
        return True
    return policy.item_ids and "id" in part.provider_metadata.get(policy.metadata_key, {})


def _has_data(part: ReasoningPart, policy: HistoryPolicy) -> bool:
    """Return whether the target's own metadata on *part* holds more than an item's id."""
    return bool(part.provider_metadata.get(policy.metadata_key, {}).keys() - {"id"})


def _without_proof(part: ReasoningPart, policy: HistoryPolicy) -> ReasoningPart:
    if (
        part.signature is None
        and part.encrypted is None
        and policy.metadata_key not in part.provider_metadata
    ):
        return part
    metadata = without(part.provider_metadata, policy.metadata_key)
    return evolve(part, signature=None, encrypted=None, provider_metadata=metadata)


def _strip(
    part: ContentPart, path: str, policy: HistoryPolicy, diagnostics: Diagnostics
) -> ContentPart:
    """Return *part* without the data that only the target's own model could have put there."""
    if policy.metadata_key not in part.provider_metadata:
        return part
    why = "its opaque data is valid only for the model that made it"
    diagnostics.dropped("opaque-data-dropped", path, why)
    metadata = without(part.provider_metadata, policy.metadata_key)
    return evolve(part, provider_metadata=metadata)


def _strip_message(draft: Draft, policy: HistoryPolicy, diagnostics: Diagnostics) -> None:
    message = draft.message
    if policy.metadata_key not in message.provider_metadata:
        return
    why = "its opaque data is valid only for the model that made it"
    diagnostics.dropped("opaque-data-dropped", draft.path, why)
    metadata = without(message.provider_metadata, policy.metadata_key)
    draft.message = evolve(message, provider_metadata=metadata)


def _drop_item_ids(draft: Draft, policy: HistoryPolicy, diagnostics: Diagnostics) -> None:
    """Remove the ids of stored items from all parts: the provider needs all of a group or none."""
    key = policy.metadata_key
    dropped = False
    for position, (place, part) in enumerate(draft.parts):
        data = part.provider_metadata.get(key, {})
        if "id" in data:
            dropped = True
            metadata = {**part.provider_metadata, key: without(data, "id")}
            draft.parts[position] = (place, evolve(part, provider_metadata=metadata))
    if dropped and policy.item_ids:
        why = "ids of stored items go with the reasoning that was dropped"
        diagnostics.dropped("item-ids-dropped", draft.path, why)


# -- empty text


def _drop_empty_text(draft: Draft, policy: HistoryPolicy, diagnostics: Diagnostics) -> None:
    """Drop text parts the target refuses; a cache mark moves to the part before."""
    if all(type(part) is TextPart and part.text[:1].strip() for _, part in draft.parts):
        return
    kept: list[Placed] = []
    for place, part in draft.parts:
        if isinstance(part, TextPart | RefusalPart) and _is_empty(part, policy):
            moved = _move_cache_mark(part, kept)
            diagnostics.dropped("empty-text", path_of(place), f"the text is empty{moved}")
        elif isinstance(part, ToolResultPart) and isinstance(part.content, tuple):
            kept.append((place, _clean_result(part, path_of(place), policy, diagnostics)))
        else:
            kept.append((place, part))
    draft.parts = kept


def _is_empty_turn(draft: Draft) -> bool:
    """Return whether a user's message is an empty text and nothing else."""
    parts = [part for _, part in draft.parts]
    return draft.role == "user" and parts == [TextPart("")]


def _is_empty(part: TextPart | RefusalPart, policy: HistoryPolicy) -> bool:
    if policy.empty_text == "drop_blank":
        return not part.text.strip()
    return not part.text and policy.metadata_key not in part.provider_metadata


def _move_cache_mark(part: ContentPart, kept: list[Placed]) -> str:
    """Put the cache mark of *part* on the last part of *kept*; return what to report."""
    ttl = cache_ttl(part)
    if ttl is None:
        return ""
    if not kept or isinstance(kept[-1][1], ReasoningPart):
        return ", and its cache mark went with it"
    place, before = kept[-1]
    if cache_ttl(before) is None:
        kept[-1] = (place, cached(before, ttl=ttl))
    return ", and its cache mark moved to the part before"


def _clean_result(
    part: ToolResultPart, path: str, policy: HistoryPolicy, diagnostics: Diagnostics
) -> ToolResultPart:
    """Return *part* without empty text among its content's parts."""
    kept = tuple(
        item for item in part.parts if not (isinstance(item, TextPart) and _is_empty(item, policy))
    )
    if len(kept) == len(part.parts):
        return part
    diagnostics.dropped("empty-text", f"{path}.content", "empty text in the tool's result")
    return evolve(part, content=kept or "")


# -- instructions among the messages


def place_instructions(
    drafts: list[Draft], policy: HistoryPolicy, diagnostics: Diagnostics
) -> list[TextPart]:
    """Apply the policy to system and developer messages; return the lifted text.

    *drafts* change in place: a lifted message is left without parts. Where there are no others,
    the last one is demoted, since a request needs a message to answer.
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
        diagnostics.changed("developer-as-system", draft.path, "the target has no developer role")


def _lift(draft: Draft, lifted: list[TextPart], diagnostics: Diagnostics, *, moved: bool) -> None:
    """Move the text of *draft* to *lifted*; what else it holds becomes the user's."""
    if moved and draft.parts:
        why = "the target accepts instructions only before the conversation"
        diagnostics.changed("system-message-moved", draft.path, why)
    lifted.extend(part for _, part in draft.parts if isinstance(part, TextPart))
    rest: list[Placed] = [
        (place, part) for place, part in draft.parts if not isinstance(part, TextPart)
    ]
    if rest:
        why = "the target's instructions are text only; the rest became the user's"
        diagnostics.changed("system-message-demoted", draft.path, why)
    draft.parts, draft.role = rest, "user" if rest else draft.role


def _demote(draft: Draft, diagnostics: Diagnostics) -> None:
    """Make *draft* the user's, its text in a tag that names the speaker."""
    tag = draft.role
    why = f"the target accepts no {tag} message here; it became user text in a <{tag}> tag"
    diagnostics.changed("system-message-demoted", draft.path, why)
    draft.parts = [
        (place, evolve(part, text=tagged_text(tag, part.text)))
        if isinstance(part, TextPart)
        else (place, part)
        for place, part in draft.parts
    ]
    draft.role = "user"
