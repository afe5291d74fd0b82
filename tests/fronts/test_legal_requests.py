"""Requests that the APIs' references allow, for an upstream of each protocol.

What a vendor declares is what its upstream gets, and whatever a request says, its upstream gets or
a Diagnostic names: a field is taken out, and that must change the one or the other.
"""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from llmcore import Client
from llmcore.fronts import reading
from llmcore.fronts.front import FRONT_IDS, ClientRequest, front_by_id
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.result import Failure, Success
from scripts.fronts_table import MODELS
from tests.support.json_paths import places
from tests.support.upstreams import upstream_of
from tests.support.wire.vendor_types import body_misfits

CLIENT = Client(environ={})
REQUESTS: Mapping[str, Mapping[str, dict[str, Any]]] = {
    front_id: import_module(f"tests.fronts.legal_requests.{front_id.replace('-', '_')}").REQUESTS
    for front_id in FRONT_IDS
}
PATH = "/v1beta/models/m:streamGenerateContent"

Sent = tuple[str, tuple[Diagnostic, ...], str]
"""The body that an upstream gets, what is reported, and what the response is written with."""


def sent(front_id: str, protocol_id: str, body: dict[str, Any]) -> Sent | str:
    """Return what becomes of a request; the message of one that is refused."""
    model = MODELS[protocol_id]
    upstream = evolve(upstream_of(protocol_id, model), provider=model.provider)
    result = front_by_id(front_id).read(ClientRequest(body=body, path=PATH), upstream)
    if isinstance(result, Failure):
        assert 400 <= result.error.status < 500
        return str(result.error.message)
    read: Any = result.unwrap()
    match CLIENT.prepare(read.request, streaming=read.streaming):
        case Success(prepared):
            native = json.dumps(prepared.body, default=dict)
            written = f"{read.streaming} {_written(read)}"
            return native, (*read.diagnostics, *prepared.diagnostics), written
        case Failure(error):
            return error.message


def _written(context: Any) -> str:
    """Return the settings that a response is written with; Responses repeats the whole request."""
    names = ("usage_place", "shows_logprobs", "include_thoughts", "shows_thinking", "choices")
    return str([getattr(context, name, None) for name in names])


@cache
def requests_of(front_id: str, protocol_id: str) -> Mapping[str, Sent | str]:
    """Return what becomes of every request of a front."""
    return {name: sent(front_id, protocol_id, body) for name, body in REQUESTS[front_id].items()}


fronts = pytest.mark.parametrize("front_id", FRONT_IDS)
upstreams = pytest.mark.parametrize("protocol_id", list(MODELS))


# -- refused

STORED = re.compile("stored files?")
OWNERS = {
    "openai-chat": {"openai-chat", "openai-responses"},
    "openai-responses": {"openai-chat", "openai-responses"},
    "anthropic-messages": {"anthropic-messages"},
    "gemini": {"gemini"},
}
"""Whose files the ids in requests of a front name."""


@upstreams
@fronts
def test_no_request_is_refused_but_for_a_file_that_the_upstream_does_not_have(
    front_id: str, protocol_id: str
) -> None:
    """With a message that names it."""
    found = requests_of(front_id, protocol_id)
    refused = {name: text for name, text in found.items() if isinstance(text, str)}

    expected = protocol_id not in OWNERS[front_id]
    assert set(refused) == {name for name in found if STORED.fullmatch(name) and expected}
    assert all("names " in text and "file" in text for text in refused.values())


# -- what a vendor declares

UNDECLARED = {
    "anthropic-messages": r"body\.(temperature|top_k|top_p) is no field",  # gone from the types
    "gemini": r"(serviceTier|store): unknown",  # newer than the types
}
FUTURE = r"body\.((another|future_field) is no field|input: .*'future': )"


@upstreams
@fronts
def test_an_upstream_gets_what_its_vendor_declares(front_id: str, protocol_id: str) -> None:
    """But for fields of the future, which a server of the same API gets."""
    known = [UNDECLARED.get(protocol_id, "$^"), FUTURE if front_id == protocol_id else "$^"]
    wrong = []
    for name, made in requests_of(front_id, protocol_id).items():
        if not isinstance(made, str):
            body = json.loads(made[0])
            streams = body.get("stream") is True
            found = body_misfits(protocol_id, body, stream=streams)
            wrong += [(name, one) for one in found if not re.match("|".join(known), one)]

    assert wrong == []


@upstreams
@fronts
def test_a_request_has_a_message_and_room_for_its_response(front_id: str, protocol_id: str) -> None:
    """Also of instructions alone, and of much thinking."""
    for name, made in requests_of(front_id, protocol_id).items():
        body: dict[str, Any] = (
            {"input": "refused"} if isinstance(made, str) else json.loads(made[0])
        )
        assert body.get("messages") or body.get("contents") or body.get("input"), name
        budget = (body.get("thinking") or {}).get("budget_tokens", 0)
        assert budget <= 0.8 * body.get("max_tokens", 0) or budget == 0, name


# -- nothing is lost silently

QUIET = (
    r"\.(type|role|status)$",
    r"\.(mime_?[tT]ype|media_type|format)$",  # of data that shows it
    r"\.(id|tool_use_id|name)$",  # of what is paired by order, and of what has only one name
    r"(input|arguments|args)(\..*)?$",  # of a tool that the provider ran, or empty
    r"cache_control(\.ttl)?$",  # where caching needs no mark
    r"prompt_cache_breakpoint(\.mode)?$",
    r"(annotations|citations)(\[.*)?$",  # of an earlier response: the text stays, and the pages too
    r"encrypted_(content|index)$",  # only its vendor can read it
    r"additionalProperties$",  # added where a strict schema needs it
    r"strict$",  # of schemas that are closed anyway; Gemini's forced calls keep to them
    r"(json_schema|format)\.(name|description)$",  # a label of OpenAI's
    r"(response_?[mM]ime_?[tT]ype|candidateCount|responseLogprobs)$",  # said by another field
    r"^stream_options\.include_obfuscation$|^stream_options$",  # no response has padding
    r"^include(\[0\])?$",  # of the response, which has it where the upstream sends it
    r"^metadata(\.run)?$|^store$",  # kept with the response, by the gateway
    r"tool_?[cC]onfig|tool_choice(\.disable_parallel_tool_use)?$|parallel_tool_calls$",
    r"(allowed_|tools)\[\d\]|functionDeclarations\[2\]",  # what may not be called is not offered
    r"propertyOrdering\[\d\]$",
    r"(defer_loading|eager_input_streaming)$",  # how tools are sent
    r"^thinking\.budget_tokens$|reasoning\.summary$|thinkingConfig(\.[a-zA-Z]+)?$",
    r"^mcp_servers",  # of a toolset that is reported
    r"max_output_length$|\.container$|detail$|is_error$",  # the default
    r"(language|outcome)$",
    r"user_location\.approximate\.[a-z]+$",  # reported as a whole
    r"stop(_sequences|Sequences)?\[\d\]$",
    r"summary(\[0\](\.text)?)?$|content\[0\]\.text$|input\[1\]\.content(\[0\])?$",
    r"^text\.format$",
    r"^generationConfig(\.responseModalities(\[0\])?)?$",  # text alone, as every upstream answers
    r"^input\[1\]\.output$",  # of a result without its call, which is reported
)
"""Fields that may be taken out without a change: what they say is so anyway, or said elsewhere."""


def at(body: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        body = body[key]
    return body


def dotted(path: tuple[Any, ...]) -> str:
    return "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in path)[1:]


def reported(place: str, diagnostics: tuple[Diagnostic, ...]) -> bool:
    """Return whether one of *diagnostics* is of the place, or of what it is in."""
    return any(
        one.path and re.match(re.escape(one.path) + r"(?![a-zA-Z_])", place) for one in diagnostics
    )


def silent(front_id: str, protocol_id: str, name: str) -> Iterator[str]:
    """Yield the fields of a request that change nothing if they are taken out."""
    whole, body = requests_of(front_id, protocol_id)[name], REQUESTS[front_id][name]
    if isinstance(whole, str):
        return
    for path in places(body):
        place = dotted(path)
        if at(body, path) in (None, "", [], {}, False) or path == ("model",):
            continue
        if re.search("|".join(QUIET), place) or reported(place, whole[1]):
            continue
        changed = copy.deepcopy(body)
        del at(changed, path[:-1])[path[-1]]
        if sent(front_id, protocol_id, changed) == whole:
            yield place


@upstreams
@fronts
def test_what_a_request_says_is_sent_or_reported(front_id: str, protocol_id: str) -> None:
    """Field by field, and whole objects too."""
    names = REQUESTS[front_id].keys() - {"empty contents"}
    lost = {name: list(silent(front_id, protocol_id, name)) for name in names}

    assert {name: found for name, found in lost.items() if found} == {}


def _gemini(part: dict[str, Any], role: str = "user", **fields: Any) -> dict[str, Any]:
    return {"contents": [{"role": role, "parts": [part]}], **fields}


def _chat(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hi", **fields}]}


def _messages(**block: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": [block]}]
    return {"model": "m", "max_tokens": 9, "messages": messages}


WRONG: Mapping[str, tuple[str, dict[str, Any]]] = {
    "messages[0].name": ("openai-chat", _chat(name=7)),
    "messages[0].content[0].file.filename": (
        "openai-chat",
        _chat(content=[{"type": "file", "file": {"file_data": "aGk=", "filename": 7}}]),
    ),
    "tool_choice.type": ("openai-chat", {**_chat(), "tool_choice": {"type": 7}}),
    "tools[0].function.strict": (
        "openai-chat",
        {**_chat(), "tools": [{"type": "function", "function": {"name": "f", "strict": 1}}]},
    ),
    "response_format.json_schema.name": (
        "openai-chat",
        {
            **_chat(),
            "response_format": {"type": "json_schema", "json_schema": {"name": 7, "schema": {}}},
        },
    ),
    "prompt_cache_options.ttl": ("openai-chat", {**_chat(), "prompt_cache_options": {"ttl": 7}}),
    "stream_options.include_obfuscation": (
        "openai-responses",
        {"model": "m", "input": "Hi", "stream_options": {"include_obfuscation": "no"}},
    ),
    "input[0].action": (
        "openai-responses",
        {"model": "m", "input": [{"type": "shell_call", "call_id": "s", "action": "ls"}]},
    ),
    "input[0].namespace": (
        "openai-responses",
        {
            "model": "m",
            "input": [
                {
                    "type": "function_call",
                    "call_id": "c",
                    "name": "f",
                    "arguments": "{}",
                    "namespace": 7,
                }
            ],
        },
    ),
    "messages[0].content[0].title": (
        "anthropic-messages",
        _messages(type="search_result", title=7, source="s", content=[]),
    ),
    "messages[0].content[0].citations.enabled": (
        "anthropic-messages",
        _messages(
            type="document",
            source={"type": "text", "media_type": "text/plain", "data": "Hi"},
            citations={"enabled": "yes"},
        ),
    ),
    "contents[0].parts[0].inlineData.mimeType": (
        "gemini",
        _gemini({"inlineData": {"data": "aGk=", "mimeType": 7}}),
    ),
    "contents[0].parts[0].functionCall.args": (
        "gemini",
        _gemini({"functionCall": {"name": "f", "args": "{}"}}, "model"),
    ),
    "contents[0].parts[0].functionResponse.id": (
        "gemini",
        _gemini({"functionResponse": {"name": "f", "response": {}, "id": 7}}),
    ),
    "toolConfig.functionCallingConfig": (
        "gemini",
        _gemini({"text": "Hi"}, toolConfig={"functionCallingConfig": "ANY"}),
    ),
    "tools[0].functionDeclarations[0].parameters": (
        "gemini",
        _gemini({"text": "Hi"}, tools=[{"functionDeclarations": [{"name": "f", "parameters": 7}]}]),
    ),
}
"""Requests with a value of another type, by its path."""


@pytest.mark.parametrize("path", list(WRONG))
def test_a_value_of_another_type_is_refused_by_its_path(path: str) -> None:
    """An upstream of another API would get the request without it."""
    front_id, body = WRONG[path]
    request = ClientRequest(body=body, path=PATH)

    result = front_by_id(front_id).read(request, upstream_of("bedrock-converse"))

    assert isinstance(result, Failure)
    assert (result.error.status, result.error.param) == (400, path)


FREE = re.compile(
    r"(^|\.)(metadata|labels|logit_bias|headers|configs|input|args|env|partialArgs.*)$"
    r"|(^|\.)(parameters|input_schema|schema|parametersJsonSchema|response\w*Schema|response)(\.|$)"
)
"""Objects whose names are the client's own."""
NAMED_ELSEWHERE = re.compile(
    r"annotations\[\d\]\."  # what an earlier response cites is reported there
    r"|_|\.parts\.later"  # Gemini's paths are those of the documents
)


def with_unknown(value: Any, path: tuple[Any, ...] = ()) -> tuple[Any, list[tuple[str, str]]]:
    """Return *value* with a field of the future in every object, and the fields with places."""
    if FREE.search(dotted(path)) and isinstance(value, dict):
        return value, []
    made: list[tuple[str, str]] = []
    keys = value if isinstance(value, dict) else range(len(value) if isinstance(value, list) else 0)
    inner = {}
    for key in keys:
        inner[key], more = with_unknown(value[key], (*path, key))
        made += more
    if isinstance(value, dict):
        name = f"later{len(made)}x{len(path)}x{sum(map(ord, dotted(path)))}"
        return {**inner, name: 1}, [*made, (name, dotted((*path, name)))]
    return (list(inner.values()) if isinstance(value, list) else value), made


@upstreams
@fronts
def test_an_unknown_field_of_any_object_is_sent_or_reported(
    front_id: str, protocol_id: str
) -> None:
    """All at once: in every object that the vendor has the names of."""
    lost = {}
    for name in REQUESTS[front_id].keys() - {"result without its call", "choice of none"}:
        body = REQUESTS[front_id][name]
        marked, names = with_unknown(body)
        made = sent(front_id, protocol_id, marked)
        if isinstance(made, str):
            continue
        native, notes, _ = made
        found = [where for key, where in names if key not in native and not reported(where, notes)]
        lost[name] = [where for where in found if not NAMED_ELSEWHERE.search(where)]

    assert {name: found for name, found in lost.items() if found} == {}


PLACES: Mapping[str, tuple[tuple[Any, ...], ...]] = {
    "openai-chat": ((), ("messages", 0), ("messages", 1), ("messages", 1, "content", 0)),
    "openai-responses": ((), ("input", 0), ("input", 1), ("input", 1, "content", 0)),
    "anthropic-messages": ((), ("messages", 0), ("messages", 0, "content", 0), ("system", 0)),
    "gemini": (
        *((), ("generationConfig",), ("contents", 0), ("contents", 0, "parts", 0)),
        *(("systemInstruction",), ("systemInstruction", "parts", 0)),
    ),
}
"""Objects of a request that may have fields of the future."""
SHORT: Mapping[str, dict[str, Any]] = {
    "openai-chat": {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        ]
    },
    "openai-responses": {
        "input": [
            {"role": "user", "content": "Hi"},
            {"role": "system", "content": [{"type": "input_text", "text": "Be brief."}]},
        ]
    },
    "anthropic-messages": {
        "max_tokens": 9,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
    },
    "gemini": {
        "generationConfig": {},
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
    },
}


@pytest.mark.parametrize("count", [2, 3000])
@pytest.mark.parametrize("protocol_id", ["anthropic-messages", "bedrock-converse"])
@fronts
def test_of_many_fields_that_are_lost_each_is_reported_or_counted(
    front_id: str, protocol_id: str, count: int
) -> None:
    """None in place of another: the first ones by name, and how many more there are."""
    if front_id == protocol_id:
        return
    for path in PLACES[front_id]:
        body = copy.deepcopy({"model": "m", **SHORT[front_id]})
        at(body, path).update({f"later{number}": number for number in range(count)})
        made = sent(front_id, protocol_id, body)

        assert not isinstance(made, str)
        notes = [one for one in made[1] if one.action == "dropped" and "later" in f"{one.path}"]
        counted = [re.search(r"\* \(([0-9]+) more\)$", one.path or "") for one in made[1]]
        rest = [int(one[1]) for one in counted if one]
        assert [one.path for one in notes] == [
            dotted((*path, f"later{number}")) for number in range(len(notes))
        ]
        assert len(notes) + sum(rest) == count


@pytest.mark.parametrize("front_id", ["openai-chat", "openai-responses"])
def test_of_two_names_of_the_end_user_one_is_sent_and_the_other_reported(front_id: str) -> None:
    """Anthropic has one field for both."""
    body = {"model": "m", "safety_identifier": "abc", "user": "xyz", **SHORT[front_id]}
    made = sent(front_id, "anthropic-messages", body)

    assert not isinstance(made, str)
    assert '"user_id": "abc"' in made[0]
    assert [one.path for one in made[1] if one.action == "dropped"] == ["user"]


def test_metadata_that_has_anthropics_name_of_the_end_user_is_kept() -> None:
    body = {"model": "m", "metadata": {"user_id": "abc"}, "user": "xyz", **SHORT["openai-chat"]}
    made = sent("openai-chat", "anthropic-messages", body)

    assert not isinstance(made, str)
    assert '"user_id": "abc"' in made[0]
    assert [one.path for one in made[1] if one.action == "dropped"] == ["user"]


def test_a_field_that_is_lost_silently_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A control: a front that forgets to report."""
    forgetful = SimpleNamespace(**{**vars(reading), "report_unknown": lambda *_: None})
    monkeypatch.setattr("llmcore.fronts.openai_chat.messages.reading", forgetful)
    requests_of.cache_clear()
    found = list(silent("openai-chat", "gemini", "what may come"))
    requests_of.cache_clear()

    assert found == ["messages[0].weight"]
