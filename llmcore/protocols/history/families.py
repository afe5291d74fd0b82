"""Model families: which model ids mean the same model.

Signatures and encrypted reasoning are bound to the model that made them. Anthropic: each
model reads its own thinking blocks and those of a fixed set of others ("Preserved
thinking", read 2026-09). Gemini: thought signatures of another model need the documented
dummy value instead ("Thought signatures"). OpenAI ties encrypted reasoning to the
organisation and documents no use by another model. So a family here is one model with
all its snapshots and aliases, and never two models of one vendor.
"""

import re

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
    """Return the model's name without what only tells its snapshots apart.

    Dates, revisions, `latest` and `preview` go, and so do path, region and vendor:
    `us.anthropic.claude-sonnet-4-5-20250929-v1:0` and `claude-sonnet-4-5` are one.
    """
    name = _ROUTING.sub("", model_id.strip().lower().rsplit("/", 1)[-1])
    name = re.sub(r"-v\d+:[\w.-]+$", "", name)
    while (shorter := _SNAPSHOT.sub("", name)) != name and shorter:
        name = shorter
    return name


def same_family(one: str, other: str) -> bool:
    """Whether both ids mean the same model, as far as names tell.

    A name without any number (`my-deployment`, `gemini-flash-latest`) is an alias that
    says nothing of the model behind it, so it is given the benefit of the doubt.
    """
    first, second = model_family(one), model_family(other)
    return first == second or not (_names_a_version(first) and _names_a_version(second))


def _names_a_version(family: str) -> bool:
    return any(character.isdigit() for character in family)
