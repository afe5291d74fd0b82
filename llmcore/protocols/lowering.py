"""Shared by request builders: placeholders, results as text, the end of a conversation.

Parts that an API cannot carry are replaced by a short text (`omitted_text`), documents and
instructions by text in a tag (`tagged_text`), which the text itself cannot close.
`FixedSampling` holds which models reject sampling parameters (temperature, top_p, penalties, log
probabilities), `Efforts` which efforts of reasoning they accept; their patterns are for a whole
model id, and the empty one fits none.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, TypeAlias, get_args

from attrs import evolve, fields_dict

from llmcore.protocols import media
from llmcore.schema.changed import changed
from llmcore.schema.content import Citation, ContentPart, DocumentPart, ProviderPart, ToolResultPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, NativeObject, text_or_json
from llmcore.schema.messages import Message
from llmcore.schema.options import GenerationOptions, ReasoningEffort, ServiceTier, merge_json
from llmcore.schema.request import LLMRequest

# -- text in place of parts


def omitted_text(what: str, why: str, diagnostics: Diagnostics, words: str | None = None) -> str:
    """Return the text in place of content that is left out, and report it; *words* describe it."""
    diagnostics.dropped(
        "unsupported-content", f"{what} was left out ({why}); a short text stands in its place"
    )
    return f"[{what}, left out{f': {words}' if words else ''}]"


def tagged_text(tag: str, text: str, attributes: str = "") -> str:
    """Return *text* inside a tag, which no closing tag in the text can end."""
    escaped = re.sub(rf"<(?=\s*/\s*{tag}\b)", "&lt;", text, flags=re.IGNORECASE)
    return f"<{tag}{attributes}>\n{escaped}\n</{tag}>"


def document_text(part: DocumentPart, text: str) -> str:
    """Return a text document inside a tag with its name, title and context."""
    facts = {"name": part.name, "title": part.title, "context": part.context}
    attributes = "".join(f' {name}="{_quoted(fact)}"' for name, fact in facts.items() if fact)
    return tagged_text("document", text, attributes)


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;")


def file_name(part: DocumentPart) -> str:
    """Return the document's name, or one whose ending names the format."""
    if part.name or part.title:
        return str(part.name or part.title)
    ending = media.document_format(media.media_type_of(part) or "")
    return f"document.{ending}" if ending else "document"


def omitted_part(part: ContentPart, diagnostics: Diagnostics) -> str:
    """Return the text in place of a part that the API cannot represent, and report it."""
    owner = part.provider if isinstance(part, ProviderPart) else ""
    what = f"a part of {owner}" if owner else media.noun_of(part)
    return omitted_text(what, "the API cannot represent it", diagnostics)


def omitted_block(
    what: str, why: str, diagnostics: Diagnostics, words: str | None = None
) -> NativeObject:
    """Return `omitted_text` as a block of text, as Anthropic and Chat Completions have it."""
    return {"type": "text", "text": omitted_text(what, why, diagnostics, words)}


def with_parts(message: Message, convert: Callable[[ContentPart], ContentPart]) -> Message:
    """Return *message* with each part as *convert* returns it; itself where none changes."""
    parts = tuple(map(convert, message.content))
    same = all(new is old for new, old in zip(parts, message.content, strict=True))
    return message if same else evolve(message, content=parts)


# -- results and citations


def result_text(part: ToolResultPart) -> str:
    """Return a result without parts as text; that of a failed tool begins with "Error:"."""
    text = text_or_json(part.content)  # type: ignore[arg-type]
    says_error = "error" in text[:40].lower()  # it begins with that, or a similar word
    return f"Error: {text}" if part.is_error and not says_error else text


def native_citations(
    citations: Iterable[Citation], metadata_key: str, diagnostics: Diagnostics
) -> Iterator[JsonObject]:
    """Yield citations in their native form; those that have none are left out."""
    for index, citation in enumerate(citations):
        native = citation.provider_metadata.get(metadata_key)
        if native:
            yield native
        else:
            why = "only the API's own citations can be sent back"
            diagnostics.at(f"citations[{index}]").dropped("unsupported-content", why)


# -- conversations that end with the assistant ("prefill")


CONTINUE_TEXT: Final = "(continue)"
"""The user message appended to a conversation that ends with the assistant. Older models continue
such a response ("prefill"); newer ones refuse the request."""


def note_continue_message(diagnostics: Diagnostics) -> None:
    """Record that a user message was appended after the response."""
    why = "the model does not continue a response that the request begins"
    diagnostics.added("last-message-added", f"{why}: {CONTINUE_TEXT!r} is sent after it")


# -- the caller's native fields


def with_stream_options(body: JsonObject, options: JsonObject, *, stream: bool) -> dict[str, Any]:
    """Return *body* with the native *options* of the caller, but for whether to *stream*."""
    merged = {**(merge_json(body, options) if options else body)}
    if stream:
        merged["stream"] = True
    else:
        merged.pop("stream", None)
        merged.pop("stream_options", None)
    return merged


# -- service tiers


def lower_service_tier(
    request: LLMRequest, words: Mapping[str, str], diagnostics: Diagnostics
) -> str | None:
    """Return the API's word for the tier of *request*; *words* has those of the neutral tiers.

    An API that has tiers takes words of its own as they are. "auto" and "default" ask for nothing
    that an API without such words does not do anyway.
    """
    tier = request.generation.service_tier
    if tier is None or (words and tier not in get_args(ServiceTier)):
        return tier
    if tier not in words and tier not in ("auto", "default"):
        diagnostics.at("generation.service_tier").unsupported(
            f"the API has no service tier {tier!r}"
        )
    return words.get(tier)


# -- sampling parameters


_read_options: Final = attrgetter(*fields_dict(GenerationOptions))
_UNSET: Final = _read_options(GenerationOptions())


def is_unset(options: GenerationOptions) -> bool:
    """Return whether no option is set, as of many requests: there is nothing to lower then."""
    return bool(_read_options(options) == _UNSET)


def note_missing(
    options: GenerationOptions, names: Iterable[str], diagnostics: Diagnostics, api: str = "the API"
) -> None:
    """Record the options *names* that are set to more than False, and that *api* does not have."""
    for name in names:
        value = getattr(options, name)
        if value not in (None, ()) and value is not False:
            diagnostics.at(f"generation.{name}").unsupported(f"{api} has no {name}")


def check_least(options: GenerationOptions, least: Mapping[str, int]) -> None:
    """Raise InvalidRequestError for an option below what the API takes, by *least*."""
    for name, number in least.items():
        value = getattr(options, name)
        if value is not None and value < number:
            raise InvalidRequestError(
                f"generation.{name} is {value}, and the API takes {number} or more: raise it, or "
                "leave it out"
            )


@frozen(kw_only=True)
class FixedSampling:
    """The models of one provider that reject sampling parameters."""

    always: str = ""
    unless_off: str = ""
    """Models that reject the parameters unless the reasoning effort is `none`."""
    with_effort: str = ""
    """Models that reject them unless the reasoning effort is `none` or left unset."""

    def rejects(self, model: str, effort: str | None) -> bool:
        """Return whether *model* rejects sampling parameters while it thinks with *effort*."""
        if matches_model(self.always, model):
            return True
        if effort == "none":
            return False
        if matches_model(self.unless_off, model):
            return True
        return effort is not None and matches_model(self.with_effort, model)


@lru_cache(maxsize=4096)
def matches_model(pattern: str, model: str) -> bool:
    """Return whether *pattern* is for *model*."""
    return bool(pattern) and re.fullmatch(pattern, model) is not None


SKIP_SIGNATURE: Final = "skip_thought_signature_validator"
"""Sent as the thought signature of a call that a Gemini model did not make.

Source: https://ai.google.dev/gemini-api/docs/thought-signatures (FAQs), read November 2026.
"""

OPENAI_FIXED_SAMPLING: Final = FixedSampling(
    # https://developers.openai.com/api/docs/guides/deployment-checklist ("when reasoning effort is
    # not none, remove temperature"; from GPT-5.5 on only if requested),
    # https://learn.microsoft.com/azure/ai-foundry/openai/how-to/reasoning ("not supported")
    always=r"o\d(-.*)?|gpt-5(-(mini|nano|pro|codex).*|-\d.*)?",
    unless_off=r"gpt-5\.(\d-(pro|codex)|[5-9]).*|gpt-([6-9]|[12]\d).*",
    with_effort=r"gpt-5\.[1-4].*",
)

# -- efforts of reasoning

Efforts: TypeAlias = tuple[tuple[str, tuple[str, ...]], ...]
"""Models (patterns; the first that fits counts), and the efforts that they accept, least first.

Those without any do not reason, and refuse all that is about it.
"""

OPENAI_ALWAYS_THINKS: Final = r"gpt-6(\.\d+)?-astra.*|gpt-6\.[1-9]\d*-sol.*"
"""OpenAI's models (a pattern) whose reasoning cannot be turned off, so that Chat Completions takes
no tools for them.

Sources, read November 2026: https://developers.openai.com/api/docs/models/gpt-6.2-sol ("The API
rejects requests that set reasoning effort to `none`"),
https://github.com/UKGovernmentBEIS/inspect_ai/pull/5254 (the API's words for GPT-6 Astra),
https://developers.openai.com/api/docs/guides/deployment-checklist (tools).
"""

OPENAI_EFFORTS: Final[Efforts] = (
    # https://developers.openai.com/api/docs/guides/reasoning, .../guides/latest-model and, of each
    # model, .../api/docs/models;
    # errors of the API: "Unsupported value: 'minimal' is not supported with the 'gpt-5.6-sol'
    # model. Supported values are: 'none', 'low', 'medium', 'high', 'xhigh', and 'max'.",
    # "Unsupported parameter: 'reasoning.effort' is not supported with this model" (GPT-4);
    # chat, pro, codex: https://github.com/anomalyco/models.dev/pull/2351,
    # https://github.com/openai/codex/issues/6647, https://github.com/haoxiang-xu/PuPu/issues/263
    (r"(ft:)?(gpt-[34]|chatgpt-|gpt-5-chat).*", ()),
    (r"gpt-5\.\d-chat.*", ("medium",)),
    (r"gpt-5-pro.*", ("high",)),
    (r"gpt-5\.[24]-pro.*", ("medium", "high", "xhigh")),
    (r"gpt-5(\.1)?-codex(?!-max).*", ("low", "medium", "high")),
    (r"gpt-5\.(1-codex-max|[23]-codex).*", ("low", "medium", "high", "xhigh")),
    (r"o\d(-(?!preview|.*deep-research).*)?", ("low", "medium", "high")),
    (r"gpt-5(-(mini|nano))?(-\d.*)?", ("minimal", "low", "medium", "high")),
    (r"gpt-5\.1(-\d.*)?", ("none", "low", "medium", "high")),
    (r"gpt-5\.[2-5](-(mini|nano))?(-\d.*)?", ("none", "low", "medium", "high", "xhigh")),
    (OPENAI_ALWAYS_THINKS, ("low", "medium", "high", "xhigh", "max")),
    (
        r"gpt-(5\.([6-9]|\d\d)|[6-9]|[12]\d)([.-].*)?",
        ("none", "low", "medium", "high", "xhigh", "max"),
    ),
)
"""The efforts of OpenAI's models; later ones are assumed to have those of GPT-5.6. Models that are
not listed are sent any effort unchanged."""


def nearest_effort(effort: str, levels: Sequence[str]) -> str:
    """Return the one of *levels* (least first) for *effort*: the highest below it, else the lowest.

    Reasoning is not turned off for an effort that is too low. A provider's own word stays.
    """
    order = get_args(ReasoningEffort)
    if effort in levels or effort not in order:
        return effort
    reasons = [level for level in levels if level != "none"]
    known = [level for level in reasons if level in order]  # others are a provider's own words
    below = [level for level in known if order.index(level) < order.index(effort)]
    return below[-1] if below else reasons[0]


def accepted_effort(
    effort: str, levels: Sequence[str], diagnostics: Diagnostics, *, model: str = "the model"
) -> str:
    """Return the `nearest_effort` to *effort*, and report where it is another one."""
    nearest = nearest_effort(effort, levels)
    if nearest != effort:
        code = "reasoning-not-off" if effort == "none" else "reasoning-effort-changed"
        why = f"{model} takes {', '.join(levels)}; {effort!r} became {nearest!r}"
        diagnostics.at("reasoning.effort").changed(code, why)
    return nearest


def with_accepted_effort(
    request: LLMRequest, efforts: Efforts, diagnostics: Diagnostics, *, name: str = ""
) -> LLMRequest:
    """Return *request* with an effort of reasoning that its model accepts, and report a change.

    *name* is what *efforts* call the model, where its id is another.
    """
    reasoning, model = request.reasoning, name or request.model_id
    if reasoning is None:
        return request
    levels = next((levels for models, levels in efforts if matches_model(models, model)), None)
    if levels == ():
        if reasoning.effort != "none":
            diagnostics.at("reasoning").unsupported(f"{model} does not reason")
        return changed(request, reasoning=None)
    if levels is None or reasoning.effort is None:
        return request
    effort = accepted_effort(reasoning.effort, levels, diagnostics, model=model)
    if effort == reasoning.effort:
        return request
    return changed(request, reasoning=changed(reasoning, effort=effort))
