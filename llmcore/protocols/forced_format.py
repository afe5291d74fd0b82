"""Response formats that an API, or a model behind it, does not enforce.

A model can be made to call a tool whose input is the response, and the stream turns that call
back into text. If a call cannot be required either, the format is described in instructions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

from attrs import field

from llmcore.protocols.tool_schema import Projected, SchemaTarget, may_be_object, project
from llmcore.schema import json
from llmcore.schema.content import ContentPart, TextPart
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject, JsonValue, NativeObject, text_or_json, without
from llmcore.schema.native_json import str_or_none
from llmcore.schema.options import ResponseFormat
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import ToolChoice

WRAPPER: Final = "answer"
"""The property of the tool's input that wraps a response that is not an object."""

TOOL_DESCRIPTION: Final = "Gives the final answer. Call it exactly once."

_PATH: Final = "response_format.schema"


# -- which way


@frozen(kw_only=True)
class FormatSupport:
    """How a model can be constrained to a format, and the schemas of each way."""

    format: bool
    """Whether the API enforces a schema for the response."""
    tool: bool
    """Whether a tool call can be required."""
    format_target: SchemaTarget
    tool_target: SchemaTarget


@frozen(kw_only=True)
class FormatPlan:
    """How the requested format is enforced."""

    by: Literal["nothing", "format", "tool", "words"] = "nothing"
    projected: Projected = Projected(schema={})
    wrapped: bool = False
    """Whether the response is in a property of the tool's input."""


NO_FORMAT: Final = FormatPlan()
"""The plan for a request that wants no format."""


def forced_plan(response_format: ResponseFormat | None, support: FormatSupport) -> FormatPlan:
    """Return how to enforce the format *response_format*."""
    if response_format is None or response_format.type == "text":
        return NO_FORMAT
    if response_format.schema is None:
        return FormatPlan(by="words")
    if support.format:
        projected = project(response_format.schema, support.format_target, _PATH)
        if projected.strict:
            return FormatPlan(by="format", projected=projected)
    if not support.tool:
        return FormatPlan(by="words")
    wrapped = response_format.schema.get("type") != "object"
    schema = _wrapped(response_format.schema) if wrapped else response_format.schema
    return FormatPlan(
        by="tool", projected=project(schema, support.tool_target, _PATH), wrapped=wrapped
    )


def _wrapped(schema: JsonObject) -> JsonObject:
    """Return *schema* as the one property of an object; what it refers to stays at the root."""
    inner = without(schema, *_AT_ROOT)
    at_root = {name: value for name, value in schema.items() if name in _AT_ROOT}
    return {"type": "object", "properties": {WRAPPER: inner}, "required": [WRAPPER], **at_root}


_AT_ROOT: Final = frozenset({"$defs", "definitions", "$schema", "$id"})


def with_description(schema: JsonObject, response_format: ResponseFormat) -> JsonObject:
    """Return *schema* with the format's description, for an API that has no field for it."""
    texts = (response_format.description, str_or_none(schema.get("description")))
    known = dict.fromkeys(text for text in texts if text)
    return {**schema, "description": "\n".join(known)} if known else schema


# -- by a tool


def format_tool(request: LLMRequest) -> str:
    """Return the name of the tool that represents the response, which no tool of *request* has."""
    name = "structured_answer"
    taken = {getattr(tool, "name", None) for tool in request.tools}
    while name in taken:
        name += "_"
    return name


def unwrapped(arguments: JsonValue) -> str:
    """Return the response that a tool's input holds in its one property, as text."""
    if isinstance(arguments, Mapping) and WRAPPER in arguments:
        return json.dumps(arguments[WRAPPER]).decode()
    return text_or_json(arguments)


# -- by the format of OpenAI's APIs


NO_OBJECT: Final = "the API takes schemas of objects only"


def allows_object(response_format: ResponseFormat) -> bool:
    """Return whether a response of this format may be an object, as OpenAI's formats all are.

    "Root objects must not be anyOf and must be an object". Source, read November 2026:
    https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas.
    """
    return response_format.schema is None or may_be_object(response_format.schema)


def lower_openai_schema(
    response_format: ResponseFormat, diagnostics: Diagnostics, *, has_strict: bool = True
) -> NativeObject:
    """Return a JSON schema as OpenAI's APIs take it; *has_strict* if the server has that mode."""
    strict = has_strict and response_format.strict is not False
    target = SchemaTarget.OPENAI_STRICT if strict else SchemaTarget.OPENAI_LOOSE
    projected = project(response_format.schema or {}, target, _PATH)
    diagnostics.extend(projected.diagnostics)
    native: NativeObject = {"name": response_format.name}
    if response_format.description:
        native["description"] = response_format.description
    native["schema"] = projected.schema
    if has_strict:
        native["strict"] = projected.strict
    elif response_format.strict:
        why = "the server has no strict mode for schemas"
        diagnostics.at("response_format.strict").unsupported(why)
    return native


# -- in words


def format_in_words(response_format: ResponseFormat, why: str, diagnostics: Diagnostics) -> str:
    """Return instructions that ask for *response_format*; *why* states why nothing enforces it."""
    diagnostics.at("response_format").changed(
        "response-format-in-words", f"{why}: the format is only requested"
    )
    if response_format.schema is None:
        return _WORDS
    schema = json.dumps(with_description(response_format.schema, response_format)).decode()
    return f"{_WORDS} It must match this schema:\n{schema}"


_WORDS: Final = "Answer with one JSON document and nothing else."


def words_of_json_mode(parts: Iterable[ContentPart], diagnostics: Diagnostics) -> str:
    """Return instructions that name JSON; empty where a text among *parts* does.

    OpenAI's APIs and others refuse a conversation without the word in JSON mode: "'messages' must
    contain the word 'json' in some form, to use 'response_format' of type 'json_object'". Source:
    https://developers.openai.com/api/docs/guides/structured-outputs#json-mode, read November 2026.
    """
    if any(isinstance(part, TextPart) and "json" in part.text.lower() for part in parts):
        return ""
    why = "the API requires a conversation that names JSON: an instruction asks for it"
    diagnostics.at("response_format").added("instructions-added", why)
    return _WORDS


# -- in the body


@frozen(kw_only=True)
class ForcedFormat:
    """How a body asks for the shape of the response, at an API where a call may represent it."""

    schema: JsonObject | None = None
    """The schema that the API itself enforces."""
    tool: str | None = None
    """The name of the tool whose input is the response."""
    tool_description: str = TOOL_DESCRIPTION
    tool_schema: JsonObject = field(factory=dict)
    choice: ToolChoice | None = None
    """The choice that leads to a call of the tool, or first to the caller's tools; None leaves
    the caller's own choice."""
    instructions: tuple[str, ...] = ()
    """Texts that end the system prompt."""

    def tools(
        self, function: Callable[[str, str, JsonObject], NativeObject]
    ) -> Sequence[NativeObject]:
        """Return the tool whose input is the response, as *function* makes it, if there is one."""
        if self.tool is None:
            return ()
        return (function(self.tool, self.tool_description, self.tool_schema),)


_NOT_FORCED: Final = ForcedFormat()


def lower_format(
    request: LLMRequest,
    planned: FormatPlan,
    *,
    may_force: bool,
    unenforced: str,
    diagnostics: Diagnostics,
) -> ForcedFormat:
    """Return the fields of the body that ask for the response's shape.

    Without *may_force* no call can be forced, although the model itself takes forced calls (beside
    a budget of thinking). *unenforced* is the reason why only instructions can ask for the shape.
    """
    response_format = request.response_format
    diagnostics.extend(planned.projected.diagnostics)
    if response_format is None or planned.by == "nothing":
        return _NOT_FORCED
    if planned.by == "format":
        return ForcedFormat(schema=planned.projected.schema)
    if planned.by == "words":
        return ForcedFormat(
            instructions=(format_in_words(response_format, unenforced, diagnostics),)
        )
    name, here = format_tool(request), diagnostics.at("response_format")
    if may_force:
        here.noted("response-format-by-tool", "the response is a tool's input")
    else:  # thinking excludes a forced call
        why = "the model does not reason when a tool call is required: the format is only requested"
        here.changed("tool-choice-weakened", why)
    words = f"Give the final response by calling the tool {name}, and in no other way."
    return ForcedFormat(
        tool=name,
        tool_description=response_format.description or TOOL_DESCRIPTION,
        tool_schema=planned.projected.schema,
        choice=_forced_choice(request, name) if may_force else None,
        instructions=() if may_force else (words,),
    )


def _forced_choice(request: LLMRequest, name: str) -> ToolChoice | None:
    mode = request.tool_choice.mode if request.tool_choice is not None else "auto"
    if not request.tools or mode == "none":
        return ToolChoice.named(name)
    return None if mode == "named" else ToolChoice.required()
