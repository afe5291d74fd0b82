"""Parley: lowering the conversation.

{"turns": [{"by": "person", "say": [{"text": "Hi"}]},
{"by": "model", "say": [{"call": {"id": "c1", "name": "f", "input": {}}}]},
{"by": "person", "say": [{"result": {"id": "c1", "text": "4"}}]}]}
"""

from attrs import evolve

from llmcore.protocols.history import HistoryPolicy, LoweringTarget, native_provider_ids, repair
from llmcore.protocols.lowering import omitted_text, result_text
from llmcore.protocols.tools import object_arguments
from llmcore.schema.content import (
    ContentPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostics
from llmcore.schema.json import NativeObject
from llmcore.schema.request import LLMRequest
from tests.support.parley.names import CALL_IDS, METADATA_KEY, PROTOCOL_ID, ROLES


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
        case ToolCallPart(provider_executed=False):
            arguments = object_arguments(part, diagnostics)
            return {"call": {"id": part.id, "name": part.name, "input": arguments}}
        case ToolResultPart(provider_executed=False):
            return {"result": {"id": part.tool_call_id, "text": _result(part, diagnostics)}}
        case _:
            return {"text": omitted_text(type(part).__name__, "the API has text only", diagnostics)}


def _result(part: ToolResultPart, diagnostics: Diagnostics) -> str:
    if not isinstance(part.content, tuple):
        return result_text(part)
    texts = []
    for index, item in enumerate(part.content):
        if isinstance(item, TextPart):
            texts.append(item.text)
        else:
            here = diagnostics.at(f"content[{index}]")
            texts.append(omitted_text(type(item).__name__, "the API has text only", here))
    return result_text(evolve(part, content="\n".join(texts)))
