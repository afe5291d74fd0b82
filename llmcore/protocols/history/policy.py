"""The rules of a target for conversations, and families of model ids."""

import re
from typing import Literal

import msgspec

from llmcore.protocols.tools import ANY_CALL_ID, CallIdRule
from llmcore.schema.messages import Origin
from llmcore.schema.request import LLMRequest


class HistoryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of a target for conversations."""

    protocol: str
    """The target protocol's id, such as `anthropic-messages`."""
    provider: str
    model: str
    metadata_key: str
    """The key of the target's own data in `provider_metadata`."""
    call_ids: CallIdRule = ANY_CALL_ID
    tool_results: Literal["separate", "together"] = "separate"
    """One tool message per result, or one for all results of an assistant turn."""
    name_results: bool = False
    """Whether each result must carry its tool's name."""
    alternate: bool = False
    """Whether the two sides must take turns. Neighbours on one side then become one message;
    tool results and the user message after them become one message of role `tool`,
    results first: lower all of its parts. Implies `tool_results="together"`."""
    starts_with_user: bool = False
    system_messages: Literal["keep", "lift", "demote"] = "keep"
    """Of system and developer messages among the messages: `keep` them where they are; `lift`
    all their text into `Repaired.system`; or `demote`: lift those before the first
    other message, and turn later ones into user text in a `<system>` tag, which leaves
    the cached prefix of a running conversation as it is."""
    developer_role: bool = True
    """Whether the target supports it; if not, developer messages become system messages."""
    empty_text: Literal["keep", "drop_empty", "drop_blank"] = "keep"
    """`drop_empty`: text parts of no characters go, unless they carry the target's own data;
    `drop_blank`: those of nothing but white space go too, whatever they carry."""
    empty_user_text: bool = False
    """Whether a user's message may be an empty text and nothing else."""
    reasoning: Literal["drop", "signed", "own", "any"] = "any"
    """Which reasoning the target takes back: none; only with a signature, encrypted data or
    an item id of its own; or bare text too: of its own API, or of any."""
    reasoning_may_end_turn: bool = True
    """Whether an assistant message may end with reasoning."""
    item_ids: bool = True
    """Whether the ids of the provider's stored items (`provider_metadata[key]["id"]`) are
    sent back. Ids of a message of which reasoning was dropped never are."""
    continues_stored: bool = False
    """Whether the provider holds earlier turns, so that results may answer calls that are
    not among the messages."""

    def same_api(self, origin: Origin | None) -> bool:
        """Return whether the target's API made it, with whatever model; None counts as yes."""
        if origin is None:
            return True
        return origin.provider == self.provider and origin.protocol in (None, self.protocol)

    def keeps_opaque(self, origin: Origin | None) -> bool:
        """Return whether signatures and encrypted data of *origin* are good at the target.

        They are where protocol, provider and model family are the same, and for None:
        a message made by hand is the caller's own responsibility.
        """
        if origin is None:
            return True
        return self.same_api(origin) and same_family(origin.model, self.model)


class LoweringTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The target that messages are lowered for."""

    policy: HistoryPolicy
    keys: frozenset[str]
    """Under which ids native parts are this API's own."""

    @property
    def metadata_key(self) -> str:
        """Where replayed provider data stands."""
        return self.policy.metadata_key


def native_provider_ids(request: LLMRequest, *ids: str) -> frozenset[str]:
    """Return the ids under which native parts are the target's own: *ids*, and its provider's."""
    return frozenset(filter(None, (*ids, request.provider_id)))


# -- which model ids mean one model


_ROUTING = re.compile(r"^(?:[a-z-]+\.)+(?=[a-z])")
"""Bedrock's region and vendor: `us.anthropic.`."""
_SNAPSHOT = re.compile(
    r"(?:"
    r"@[\w.-]+"  # Vertex AI: @20250929
    r"|:[\w.-]+"  # Bedrock and OpenRouter: :0, :free
    r"|-\d{4}-\d{2}-\d{2}|-\d{2}-\d{4}|-\d{8}|-\d{6}|-\d{4}|-\d{3}"  # dates and revisions
    r"|-latest|-preview|-exp|-experimental"
    r")$"
)


def model_family(model_id: str) -> str:
    """Return the model's name without the part that differs between its snapshots.

    Dates, revisions, `latest` and `preview` go, and so do path, region and vendor:
    `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and `claude-sonnet-4-5` are one.
    """
    name = _ROUTING.sub("", model_id.strip().lower().rsplit("/", 1)[-1])
    name = re.sub(r"-v\d+:[\w.-]+$", "", name)
    while (shorter := _SNAPSHOT.sub("", name)) != name and shorter:
        name = shorter
    return name


def same_family(id_: str, other: str) -> bool:
    """Return whether both ids mean the same model, as far as names tell.

    A name without any number (`my-deployment`, `gemini-flash-latest`) is an alias that
    does not identify the model behind it, so it is assumed to be the same.
    """
    first, second = model_family(id_), model_family(other)
    return first == second or not (_names_a_version(first) and _names_a_version(second))


def _names_a_version(family: str) -> bool:
    return any(character.isdigit() for character in family)
