"""The table of `docs/fronts.md`: what each API's requests carry to each upstream protocol.

    python scripts/fronts_table.py

writes it into the page; a test says when that is due. Each feature is a request that is written in
the client's API, read by its front, and built again for the upstream; the cell is what the
diagnostics of both say.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import evolve

from llmcore import (
    AmazonBedrock,
    Anthropic,
    Client,
    DocumentPart,
    Google,
    ImagePart,
    LLMRequest,
    Message,
    Model,
    OpenAI,
    TextPart,
    ToolChoice,
    ToolDefinition,
    request,
)
from llmcore.fronts.front import FRONT_IDS, ClientRequest, Upstream, front_by_id
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.schema.content import ToolCallPart, ToolResultPart, cached
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.json import JsonObject
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions, ResponseFormat
from llmcore.schema.result import Failure, Success
from llmcore.schema.tools import CustomTool, HostedTool
from scripts.made_sections import with_section

PAGE: Final = Path(__file__).parents[1] / "docs" / "fronts.md"

CLIENT: Final = Client(environ={})


def models(base_url: str | None = None) -> Mapping[str, Model[Any]]:
    """Return a model of each protocol, at the vendors' addresses or all at *base_url*."""
    openai = OpenAI.configure(api_key="k", base_url=base_url and f"{base_url}/v1")
    bedrock = AmazonBedrock.configure(region="us-east-1", api_key="k", base_url=base_url)
    return {
        "openai-responses": openai.responses("gpt-5.2"),
        "openai-chat": openai.chat("gpt-5.2"),
        "anthropic-messages": Anthropic.configure(api_key="k", base_url=base_url).model(
            "claude-sonnet-4-6"
        ),
        "gemini": Google.configure(api_key="k", base_url=base_url).model("gemini-3.1-pro-preview"),
        "bedrock-converse": bedrock.model("anthropic.claude-sonnet-4-6"),
    }


MODELS: Final = models()
CLIENTS_MODELS: Final[Mapping[str, Sequence[Model[Any]]]] = {
    **{front_id: (model,) for front_id, model in MODELS.items()},
    "openai-chat": (MODELS["openai-chat"], OpenAI(api_key="k").chat("gpt-4.1")),
    "anthropic-messages": (
        MODELS["anthropic-messages"],
        Anthropic(api_key="k").model("claude-opus-5"),
    ),
}
"""Whose requests are written in the client's API: a feature may need another model."""
TITLES: Final = {
    "openai-responses": "Responses",
    "openai-chat": "Chat",
    "anthropic-messages": "Messages",
    "gemini": "Gemini",
    "bedrock-converse": "Bedrock",
}

PIXEL: Final = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
TOOL: Final = ToolDefinition(
    name="look",
    description="Look.",
    parameters={"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
)
CALL: Final = ToolCallPart("call_1", "look", {"at": "a"})
SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"yes": {"type": "boolean"}},
    "required": ["yes"],
    "additionalProperties": False,
}
HI: Final = request(prompt="Hi", max_tokens=2000)


def _answered(result: ToolResultPart) -> LLMRequest:
    messages = (Message.user("Hi"), Message.assistant((CALL,)), Message("tool", (result,)))
    return evolve(HI, tools=(TOOL,), messages=messages)


def _options(**options: Any) -> LLMRequest:
    return evolve(HI, generation=GenerationOptions(max_tokens=2000, **options))


def _shown(part: Any) -> LLMRequest:
    return evolve(HI, messages=(Message.user((TextPart("What is it?"), part)),))


FEATURES: Final[Mapping[str, LLMRequest]] = {
    "system text": evolve(HI, system=(TextPart("Be brief."),)),
    "system text in the middle": evolve(
        HI,
        messages=(
            Message.user("Hi"),
            Message("system", (TextPart("Be brief."),)),
            Message.assistant("Yes?"),
            Message.user("Go on."),
        ),
    ),
    "image": _shown(ImagePart(data=PIXEL, media_type="image/png")),
    "PDF": _shown(DocumentPart(data=b"%PDF-1.4", media_type="application/pdf", name="a.pdf")),
    "functions": evolve(HI, tools=(TOOL,)),
    "results of tools": _answered(ToolResultPart("call_1", "seen")),
    "failed tool": _answered(ToolResultPart("call_1", "gone", is_error=True)),
    "image in a result": _answered(
        ToolResultPart("call_1", (ImagePart(data=PIXEL, media_type="image/png"),))
    ),
    "a tool required": evolve(HI, tools=(TOOL,), tool_choice=ToolChoice.required()),
    "one call at a time": evolve(HI, tools=(TOOL,), parallel_tool_calls=False),
    "freeform tool": evolve(HI, tools=(CustomTool(name="patch", description="Patch."),)),
    "web search": evolve(HI, tools=(HostedTool.web_search(),)),
    "JSON Schema": evolve(HI, response_format=ResponseFormat.json_schema(SCHEMA, strict=True)),
    "effort of reasoning": evolve(HI, reasoning=ReasoningOptions(effort="high")),
    "temperature": _options(temperature=0.5),
    "top_k": _options(top_k=5),
    "stop sequences": _options(stop=("END",)),
    "seed": _options(seed=7),
    "service tier `flex`": _options(service_tier="flex"),
    "log probabilities": _options(logprobs=True, top_logprobs=2),
    "cache marks": evolve(
        HI, messages=(Message.user((cached(TextPart("Hi")),)),), cache=CachePolicy(mode="manual")
    ),
}
"""One feature each, on top of a plain request."""


def body_of(front_id: str, wanted: LLMRequest) -> dict[str, Any] | None:
    """Return *wanted* in the client's API; None if that cannot express it."""
    if front_id == "openai-chat" and any(isinstance(tool, HostedTool) for tool in wanted.tools):
        return {**_PLAIN_CHAT, "web_search_options": {}}
    for model in CLIENTS_MODELS[front_id]:
        match CLIENT.prepare(evolve(wanted, model=model)):
            case Success(prepared) if {one.code for one in lost(prepared.diagnostics)} <= _SENT:
                return dict(prepared.body)
            case _:
                pass
    return None


_PLAIN_CHAT: Final[Mapping[str, Any]] = {
    "model": "gpt-5.2",
    "messages": [{"role": "user", "content": "Hi"}],
    "max_completion_tokens": 2000,
}
"""What `HI` is in Chat Completions, whose web search is not a tool but a field of the request."""
_SENT: Final = {"thought-signature-skipped"}
"""Codes of changes that a client of Gemini makes, too: calls of other models are not signed."""


def lost(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return those of *diagnostics* that report something left out or changed."""
    return [one for one in diagnostics if one.action != "noted"]


def cell(front_id: str, protocol_id: str, body: Mapping[str, Any]) -> str:
    """Return what becomes of a client's request on its way to an upstream."""
    model = MODELS[protocol_id]
    upstream = Upstream(
        model=model,
        protocol_id=protocol_id,
        policy=TranslationPolicy(),
        sealer=Sealer(b"table"),
        new_id=lambda prefix: f"{prefix}_1",
    )
    path = f"/v1beta/models/{model.id}:generateContent"
    match front_by_id(front_id).read(ClientRequest(body=body, path=path), upstream):
        case Failure():
            return "refused"
        case Success(read):
            pass
    match CLIENT.prepare(read.request):
        case Failure():
            return "refused"
        case Success(prepared):
            found = lost([*read.diagnostics, *prepared.diagnostics])
    actions = {one.action for one in found}
    return "left out" if "dropped" in actions else "changed" if actions else "yes"


def table() -> str:
    """Return a row for each feature and a column for each upstream, front by front."""
    parts = []
    for front_id in FRONT_IDS:
        parts.append(f"### Clients of {TITLES[front_id]}\n\n")
        parts.append("| | " + " | ".join(TITLES.values()) + " |\n")
        parts.append("|---" * (len(TITLES) + 1) + "|\n")
        for name, wanted in FEATURES.items():
            body = body_of(front_id, wanted)
            if body is None:
                continue
            cells = [cell(front_id, protocol_id, body) for protocol_id in TITLES]
            parts.append(f"| {name} | {' | '.join(cells)} |\n")
        parts.append("\n")
    return "".join(parts).rstrip() + "\n"


def page(text: str) -> str:
    """Return *text* with the current table in its place."""
    return with_section(text, table(), "fronts_table")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
