"""Parley: building the request body.

{"model": "parley-2", "rules": "Be brief.", "turns": [
{"by": "person", "say": [{"text": "2 + 2?"}, {"picture": {"kind": "image/png", "data": "iVBO"}}]},
{"by": "model", "say": [{"call": {"id": "c1", "name": "add", "input": {"a": 2}}}]},
{"by": "person", "say": [{"result": {"id": "c1", "text": "4"}}]}]}
"""

from typing import cast

from attrs import evolve

from llmcore.protocols.caching import note_cache_options
from llmcore.protocols.forced_format import format_in_words
from llmcore.protocols.history import HistoryPolicy, LoweringTarget, native_provider_ids, repair
from llmcore.protocols.lowering import note_missing, omitted_part, result_text
from llmcore.protocols.media import base64_data
from llmcore.protocols.protocol import Built, collect_diagnostics
from llmcore.protocols.tool_schema import SchemaTarget, project
from llmcore.protocols.tools import (
    check_forcible,
    freeform_function,
    note_function,
    object_arguments,
)
from llmcore.schema.content import (
    ContentPart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.errors import LLMError
from llmcore.schema.json import NativeObject
from llmcore.schema.options import merge_json
from llmcore.schema.request import LLMRequest
from llmcore.schema.result import Result
from llmcore.schema.tools import CustomTool, HostedTool, ToolChoice, ToolDefinition, ToolSpec
from tests.support.parley.names import (
    CALL_IDS,
    METADATA_KEY,
    MISSING_PARAMETERS,
    PARAMETERS,
    PROTOCOL_ID,
    ROLES,
    TOOL_CHOICES,
    ParleyBody,
    ParleyRules,
    rules_of,
)


def from_request(request: LLMRequest, stream: bool) -> Result[Built[ParleyBody], LLMError]:
    """Return the body of *request*; whether to *stream* makes no other difference."""
    return collect_diagnostics(
        lambda diagnostics: cast("ParleyBody", _lower(request, stream, diagnostics))
    )


def _lower(request: LLMRequest, stream: bool, diagnostics: Diagnostics) -> NativeObject:
    rules, turns = lower_messages(request, target_of(request), diagnostics)
    wanted = request.response_format
    if wanted is not None and wanted.type != "text":
        rules = (
            f"{rules}\n\n{format_in_words(wanted, 'the API has no formats', diagnostics)}".strip()
        )
    body: NativeObject = {
        "model": request.model_id,
        "turns": turns,
        **({"rules": rules} if rules else {}),
        **lower_tools(request, diagnostics),
        **lower_generation(request, diagnostics),
        **lower_reasoning(request, rules_of(request.model_id), diagnostics),
    }
    note_cache_options(request, diagnostics)
    if request.metadata:
        diagnostics.at("metadata").unsupported("the API takes no metadata")
    merged = merge_json(body, request.options_for(METADATA_KEY, request.provider_id))
    return {**merged, "live": stream}


# -- parameters


def lower_generation(request: LLMRequest, diagnostics: Diagnostics) -> NativeObject:
    """Return the limit of the response, the one parameter that the API has."""
    options = request.generation
    note_missing(options, MISSING_PARAMETERS, diagnostics)
    given = {native: getattr(options, name) for name, native in PARAMETERS.items()}
    return {name: value for name, value in given.items() if value is not None}


def lower_reasoning(
    request: LLMRequest, rules: ParleyRules, diagnostics: Diagnostics
) -> NativeObject:
    """Return `effort`."""
    wanted = request.reasoning
    if wanted is None:
        return {}
    if not rules.thinks:
        diagnostics.at("reasoning").unsupported("the model does not think")
        return {}
    if wanted.budget_tokens is not None:
        why = "the API takes an effort, not a number of tokens"
        diagnostics.at("reasoning.budget_tokens").unsupported(why)
    if wanted.summary is not None:
        why = "the API always shows all thoughts"
        diagnostics.at("reasoning.summary").unsupported(why)
    return {} if wanted.effort is None else {"effort": wanted.effort}


# -- messages


def target_of(request: LLMRequest) -> LoweringTarget:
    """Return the target of the messages of *request*."""
    policy = HistoryPolicy(
        protocol=PROTOCOL_ID,
        provider=request.provider_id,
        model=request.model_id,
        metadata_key=METADATA_KEY,
        call_ids=CALL_IDS,
        alternate=True,
        starts_with_user=True,
        system_messages="lift",
        empty_text="drop_empty",
    )
    return LoweringTarget(policy=policy, keys=native_provider_ids(request, METADATA_KEY))


def lower_messages(
    request: LLMRequest, target: LoweringTarget, diagnostics: Diagnostics
) -> tuple[str, list[NativeObject]]:
    """Return `rules`, the text of the system, and `turns`."""
    repaired = repair(request.messages, target.policy)
    repaired.report_to(diagnostics)
    turns: list[NativeObject] = []
    for message, path in zip(repaired.messages, repaired.paths, strict=True):
        here = diagnostics.at(path)
        if message.name:
            here.at("name").unsupported("the API takes no names")
        said = [
            lower_part(part, target, here.part(index, part))
            for index, part in enumerate(message.content)
        ]
        turns.append({"by": ROLES[message.role], "say": said})
    texts = [part.text for part in (*request.system, *repaired.system)]
    return "\n\n".join(filter(None, texts)), turns


# -- parts


def lower_part(part: ContentPart, target: LoweringTarget, diagnostics: Diagnostics) -> NativeObject:
    """Return *part* as an object of one field, which names its kind."""
    match part:
        case TextPart(text=text) | RefusalPart(text=text):
            return {"text": text}
        case ReasoningPart(text=text):
            return {"thought": text}
        case ImagePart() if (found := base64_data(part)) is not None:
            kind, data = found
            return {"picture": {"kind": kind, "data": data}}
        case ToolCallPart(provider_executed=False):
            arguments = object_arguments(part, diagnostics)
            return {"call": {"id": part.id, "name": part.name, "input": arguments}}
        case ToolResultPart(provider_executed=False):
            return {"result": {"id": part.tool_call_id, "text": _result(part, diagnostics)}}
        case _:
            return {"text": omitted_part(part, diagnostics)}


def _result(part: ToolResultPart, diagnostics: Diagnostics) -> str:
    if not isinstance(part.content, tuple):
        return result_text(part)
    texts = []
    for index, item in enumerate(part.content):
        if isinstance(item, TextPart):
            texts.append(item.text)
        else:
            texts.append(omitted_part(item, diagnostics.at(f"content[{index}]")))
    return result_text(evolve(part, content="\n".join(texts)))


# -- tools


def lower_tools(request: LLMRequest, diagnostics: Diagnostics) -> NativeObject:
    """Return `tools` and `pick`."""
    lowered = [
        _lower_tool(tool, diagnostics.at(f"tools[{n}]")) for n, tool in enumerate(request.tools)
    ]
    tools = [tool for tool in lowered if tool is not None]
    check_forcible(request, forced_tools=True, has_tools=bool(tools), known_to="the API")
    if request.parallel_tool_calls is not None:
        why = "the model calls as many tools at once as it likes"
        diagnostics.at("parallel_tool_calls").unsupported(why)
    if not tools:
        return {}
    pick = _lower_choice(request.tool_choice)
    return {"tools": tools, **({} if pick is None else {"pick": pick})}


def _lower_choice(choice: ToolChoice | None) -> NativeObject | None:
    if choice is None or choice.mode == "auto":
        return None
    return {"name": choice.tool_name} if choice.mode == "named" else TOOL_CHOICES[choice.mode]


def _lower_tool(tool: ToolSpec, diagnostics: Diagnostics) -> NativeObject | None:
    match tool:
        case HostedTool():
            diagnostics.dropped("unsupported-tool", f"the API has no {tool.kind}")
            return None
        case CustomTool():
            note_function(diagnostics)
            return _lower_function(freeform_function(tool, closed=False), diagnostics)
        case _:
            return _lower_function(tool, diagnostics)


def _lower_function(tool: ToolDefinition, diagnostics: Diagnostics) -> NativeObject:
    projected = project(
        tool.parameters, SchemaTarget.OPENAI_LOOSE, f"{diagnostics.path}.parameters"
    )
    diagnostics.extend(projected.diagnostics)
    return {"name": tool.name, "about": tool.description, "schema": projected.schema}
