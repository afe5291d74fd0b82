"""Reading requests of the Gemini API."""

import base64
from typing import Any

import pytest

from llmcore.fronts.errors import FrontError
from llmcore.fronts.front import ClientRequest
from llmcore.fronts.gemini import front
from llmcore.schema.content import (
    AudioPart,
    DocumentPart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.messages import Message
from llmcore.schema.options import ReasoningOptions, ResponseFormat
from llmcore.schema.tools import HostedTool, ToolChoice, ToolDefinition
from tests.fronts.anthropic_messages.messages_kit import built
from tests.fronts.gemini.gemini_kit import (
    HELLO,
    codes,
    messages_of,
    read,
    refused,
    request_of,
    signature,
    upstream,
)

# -- the path


@pytest.mark.parametrize(
    ("path", "model", "streaming"),
    [
        ("/v1beta/models/gemini-3-pro:generateContent", "gemini-3-pro", False),
        ("/v1beta/models/gemini-3-pro:streamGenerateContent", "gemini-3-pro", True),
        ("/v1beta/models/gemini-3-pro%3AstreamGenerateContent", "gemini-3-pro", True),
        ("/v1/models/openai/gpt-5:generateContent/", "openai/gpt-5", False),
        ("/v1beta/models/models/m:countTokens", "m", False),
        ("/v1beta/models/llama3:8b:generateContent", "llama3:8b", False),
        ("/v1beta/tunedModels/mine:generateContent", "tunedModels/mine", False),
        (
            "/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent",
            "m",
            True,
        ),
    ],
)
def test_the_path_names_model_and_method(path: str, model: str, *, streaming: bool) -> None:
    wanted = front.routing(ClientRequest(body={}, path=path))

    assert (wanted.model, wanted.streaming) == (model, streaming)


@pytest.mark.parametrize(
    ("path", "status"),
    [("/v1beta/models/m:generateAnswer", 501), ("/v1beta/files", 404), ("", 404)],
)
def test_a_path_without_model_or_method_is_refused(path: str, status: int) -> None:
    with pytest.raises(FrontError) as caught:
        front.routing(ClientRequest(body={}, path=path))

    assert caught.value.status == status


def test_a_count_wraps_the_request_it_counts() -> None:
    body: Any = {"generateContentRequest": {"model": "models/m", "contents": [HELLO]}}
    path = "/v1beta/models/m:countTokens"
    counted = front.read(ClientRequest(body=body, path=path), upstream()).unwrap()

    assert counted.request.messages == (Message.user("Hello"),)
    assert front.token_count is not None
    assert front.token_count(7) == {"totalTokens": 7}


# -- contents


@pytest.mark.parametrize(
    "contents",
    [
        "Hello",
        {"parts": [{"text": "Hello"}]},
        {"role": "user", "parts": {"text": "Hello"}},
        ["Hello"],
        [{"role": "", "parts": ["Hello"]}],
    ],
)
def test_contents_may_be_bare(contents: Any) -> None:
    assert request_of({"contents": contents}).messages == (Message.user("Hello"),)


@pytest.mark.parametrize("name", ["systemInstruction", "system_instruction"])
@pytest.mark.parametrize("value", ["Be brief.", {"role": "user", "parts": [{"text": "Be brief."}]}])
def test_instructions_are_the_system_prompt(name: str, value: Any) -> None:
    assert request_of({name: value}).system == (TextPart("Be brief."),)


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (
            {"inlineData": {"mimeType": "image/png", "data": PNG}},
            ImagePart(data=b"\x89PNG\r\n\x1a\n", media_type="image/png"),
        ),
        (
            {"inline_data": {"mime_type": "audio/wav", "data": "-_8="}},
            AudioPart(data=b"\xfb\xff", media_type="audio/wav"),
        ),
        (
            {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0", "displayName": "a"}},
            DocumentPart(data=b"%PDF-", media_type="application/pdf", name="a"),
        ),
        (
            {"fileData": {"mimeType": "image/png", "fileUri": "https://a.example/b"}},
            ImagePart(url="https://a.example/b", media_type="image/png"),
        ),
        (
            {
                "inlineData": {"mimeType": "image/png", "data": PNG},
                "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"},
            },
            ImagePart(data=b"\x89PNG\r\n\x1a\n", media_type="image/png", detail="high"),
        ),
    ],
)
def test_files_are_pictures_sound_or_documents(part: Any, expected: Any) -> None:
    (message,) = messages_of({"role": "user", "parts": [part]})

    assert message.content == (expected,)


@pytest.mark.parametrize("uri", ["gs://bucket/b", "/etc/passwd", "files/abc"])
@pytest.mark.parametrize("within", [False, True])
def test_files_that_are_no_web_addresses_are_refused_for_other_upstreams(
    uri: str, *, within: bool
) -> None:
    """Also within what a function returned: only Google's services can open them."""
    file = {"fileData": {"fileUri": uri}}
    response = {"functionResponse": {"name": "f", "response": {}, "parts": [file]}}
    contents = [{"role": "user", "parts": [response if within else file]}]
    error = refused({"contents": contents})

    assert "fileData.fileUri names a file by its id" in error.message


@pytest.mark.parametrize(
    ("key", "type_"), [("inlineData", "mimeType"), ("inline_data", "mime_type")]
)
@pytest.mark.parametrize(
    "protocol_id",
    ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "bedrock-converse"],
)
def test_an_inline_picture_reaches_every_upstream(protocol_id: str, key: str, type_: str) -> None:
    """Once, after the words that stand before it."""
    parts = [{"text": "See:"}, {key: {type_: "image/png", "data": PNG}}]
    made = read({"contents": [{"role": "user", "parts": parts}]}, protocol_id)
    sent = str(built(made.request, protocol_id))

    assert codes(made) == []
    assert sent.count(PNG) == 1
    assert sent.index("See:") < sent.index(PNG)


@pytest.mark.parametrize(
    "contents",
    [
        [],
        [{"role": "robot", "parts": []}],
        [7],
        [{"role": "user", "parts": [7]}],
        [{"role": "user", "parts": [{"inlineData": {"data": "?"}}]}],
        [{"role": "model", "parts": [{"functionCall": {"args": {}}}]}],
    ],
)
def test_invalid_contents_are_refused(contents: Any) -> None:
    assert refused({"contents": contents}).status == 400


@pytest.mark.parametrize(
    ("body", "policy", "place"),
    [
        ({"contents": [HELLO, HELLO]}, {"max_items": 1}, "contents"),
        (
            {"tools": [{"functionDeclarations": [{"name": "f"}, {"name": "g"}]}]},
            {"max_tools": 1},
            "tools",
        ),
    ],
)
def test_more_than_the_policy_takes_is_refused_by_its_place(
    body: Any, policy: Any, place: str
) -> None:
    error = refused(body, **policy)

    assert (error.status, error.param) == (400, place)


def test_a_content_of_the_system_stays_in_its_place() -> None:
    """Its text alone: Google's own API has no such role."""
    system = {"role": "system", "parts": [{"text": "Be brief."}, {"inlineData": {"data": PNG}}]}

    assert messages_of(HELLO, system)[1] == Message.system("Be brief.")


# -- calls and their responses


def called(*names: str, **fields: Any) -> dict[str, Any]:
    """Return a turn of the model that calls functions."""
    parts = [{"functionCall": {"name": name, "args": {}, **fields}} for name in names]
    return {"role": "model", "parts": parts}


def responded(*pairs: tuple[str, Any]) -> dict[str, Any]:
    """Return what functions returned, by their names."""
    parts = [{"functionResponse": {"name": name, "response": value}} for name, value in pairs]
    return {"role": "user", "parts": parts}


def test_responses_without_ids_belong_to_calls_by_name_and_order() -> None:
    answers = responded(("g", {"output": "3"}), ("f", {"output": "1"}), ("f", {"output": "2"}))
    _, calls, results = messages_of(HELLO, called("f", "f", "g"), answers)
    ids = [part.id for part in calls.tool_calls]

    assert len(set(ids)) == 3
    found = {part.tool_call_id: part.content for part in results.content}  # type: ignore[union-attr]
    assert [found[id_] for id_ in ids] == ["1", "2", "3"]


@pytest.mark.parametrize("role", ["function", "tool", "user"])
def test_a_response_with_an_id_belongs_to_that_call(role: str) -> None:
    part = {"functionResponse": {"id": "c2", "name": "f", "response": {"output": "2"}}}
    turn = {
        "role": "model",
        "parts": [{"functionCall": {"id": id_, "name": "f"}} for id_ in ("c1", "c2")],
    }
    *_, results = messages_of(HELLO, turn, {"role": role, "parts": [part]})

    assert results.content == (ToolResultPart("c2", "2", name="f"),)


def test_an_id_that_no_call_has_counts_as_none() -> None:
    """Some clients keep no ids of calls, and name a function's response after the function."""
    parts = [
        {"functionResponse": {"id": "f", "name": "f", "response": {"output": value}}}
        for value in ("1", "2")
    ]
    _, calls, results = messages_of(HELLO, called("f", "f"), {"role": "tool", "parts": parts})
    first, second = (part.id for part in calls.tool_calls)

    assert results.content == (
        ToolResultPart(first, "1", name="f"),
        ToolResultPart(second, "2", name="f"),
    )


def test_a_response_of_another_function_with_an_unknown_id_answers_no_call() -> None:
    part = {"functionResponse": {"id": "c9", "name": "g", "response": {"output": "1"}}}
    *_, results = messages_of(HELLO, called("f"), {"role": "user", "parts": [part]})

    assert results.content == (ToolResultPart("c9", "1", name="g"),)


def test_words_beside_responses_come_after_them() -> None:
    content = responded(("f", {"output": "1"}))
    content["parts"].insert(0, {"text": "Go on."})
    *_, results, words = messages_of(HELLO, called("f"), content)

    assert results.role == "tool"
    assert words == Message.user("Go on.")


@pytest.mark.parametrize(
    ("response", "content", "failed"),
    [
        ({"output": "ok"}, "ok", False),
        ({"result": "ok"}, "ok", False),
        ({"return_value": "ok"}, "ok", False),
        ({"return_value": "ok", "more": 1}, {"return_value": "ok", "more": 1}, False),
        ({"output": {"a": 1}}, {"a": 1}, False),
        ({"error": "no"}, "no", True),
        ({"error": {"code": 1}}, {"code": 1}, True),
        ({"error": "no", "code": 1}, {"error": "no", "code": 1}, True),
        ({"result": 1}, {"result": 1}, False),
        ({"name": "f", "content": "ok"}, "ok", False),
        ({"name": "f", "content": {"a": 1}}, {"a": 1}, False),
        ({"name": "other", "content": "ok"}, {"name": "other", "content": "ok"}, False),
        ({"output": "x", "exit": 0}, {"output": "x", "exit": 0}, False),
        ({}, {}, False),
        (None, "", False),
    ],
)
def test_an_output_or_an_error_is_what_a_function_returned(
    response: Any, content: Any, *, failed: bool
) -> None:
    *_, results = messages_of(HELLO, called("f"), responded(("f", response)))
    (part,) = results.content

    assert isinstance(part, ToolResultPart)
    assert (part.content, part.is_error) == (content, failed)


def test_pictures_of_a_response_stand_in_their_places() -> None:
    held = [{"inlineData": {"mimeType": "image/png", "data": PNG}}]
    answer = {"name": "f", "response": {"output": "Before\n[file 1]\nafter"}, "parts": held}
    *_, results = messages_of(
        HELLO, called("f"), {"role": "user", "parts": [{"functionResponse": answer}]}
    )
    (part,) = results.content

    assert isinstance(part, ToolResultPart)
    picture = ImagePart(data=b"\x89PNG\r\n\x1a\n", media_type="image/png")
    assert part.content == (TextPart("Before"), picture, TextPart("after"))


@pytest.mark.parametrize(
    ("response", "files"),
    [
        ({"output": "x", "exit": 0}, []),
        ({"error": "no", "code": 1}, []),
        ({"answer": 42}, [{"inlineData": {"mimeType": "image/png", "data": PNG}}]),
    ],
    ids=["output and more", "error and more", "object beside a file"],
)
def test_response_that_has_no_neutral_form_goes_to_gemini_as_it_came(
    response: dict[str, Any], files: list[Any]
) -> None:
    answer = {"name": "f", "response": response, **({"parts": files} if files else {})}
    turn = {"role": "user", "parts": [{"functionResponse": answer}]}
    made = read({"contents": [HELLO, called("f"), turn]}, "gemini")

    sent = built(made.request, "gemini")["contents"][-1]["parts"]
    assert [part["functionResponse"]["response"] for part in sent] == [response]


# -- turns of the model that began elsewhere


NATIVE: dict[str, Any] = {
    "role": "model",
    "parts": [
        {"text": "Hm.", "thought": True},
        {"text": "a", "thoughtSignature": signature(b"one")},
        {"text": "b"},
        {
            "functionCall": {"id": "c1", "name": "f", "args": {"x": 1}},
            "thoughtSignature": signature(b"two"),
        },
    ],
}


def test_native_signatures_stay_on_their_parts_for_gemini() -> None:
    """A signed text is not joined with the next one."""
    _, turn = messages_of(HELLO, NATIVE, protocol_id="gemini")

    assert [getattr(part, "text", None) for part in turn.content] == ["Hm.", "a", "b", None]
    own = [part.provider_metadata.get("google", {}) for part in turn.content]
    assert [one.get("thoughtSignature") for one in own] == [
        None,
        signature(b"one"),
        None,
        signature(b"two"),
    ]
    assert turn.tool_calls[0].id == "c1"


def test_native_signatures_do_not_reach_other_models() -> None:
    made = read({"contents": [HELLO, NATIVE]})
    turn = made.request.messages[1]

    assert turn.content == (
        ReasoningPart("Hm."),
        TextPart("ab"),
        ToolCallPart("c1", "f", {"x": 1}),
    )
    assert codes(made) == ["opaque-data-dropped"]


@pytest.mark.parametrize(
    "word",
    [
        "skip_thought_signature_validator",
        "skip/thought/signature/validator",
        base64.b64encode(b"skip_thought_signature_validator").decode(),
        "context_engineering_is_the_way_to_go",
    ],
)
@pytest.mark.parametrize("protocol_id", ["openai-chat", "gemini"])
def test_a_word_that_skips_the_check_is_not_a_signature(word: str, protocol_id: str) -> None:
    turn = {"role": "model", "parts": [{"functionCall": {"name": "f"}, "thoughtSignature": word}]}
    made = read({"contents": [HELLO, turn]}, protocol_id)
    (call,) = made.request.messages[1].tool_calls

    assert codes(made) == []
    assert "thoughtSignature" not in call.provider_metadata.get("google", {})


def test_code_that_gemini_ran_is_text_to_other_models() -> None:
    turn = {
        "role": "model",
        "parts": [
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        ],
    }
    made = read({"contents": [HELLO, turn]})

    assert made.request.messages[1].text == "```\nprint(1)\n```\n```\n1\n```\n"
    assert codes(made) == ["hosted-tool-as-text", "hosted-tool-as-text"]


def test_state_of_another_gateway_is_dropped_and_reported() -> None:
    forged = base64.b64encode(b"ob1.forged").decode()
    turn = {
        "role": "model",
        "parts": [{"text": "Hm.", "thought": True}, {"text": "So.", "thoughtSignature": forged}],
    }
    for protocol_id in ("openai-chat", "gemini"):
        made = read({"contents": [HELLO, turn]}, protocol_id)

        assert made.request.messages[1].content == (TextPart("So."),)
        assert codes(made) == ["opaque-data-dropped"]


# -- settings


@pytest.mark.parametrize("snake", [False, True])
def test_settings_are_read_in_both_spellings(*, snake: bool) -> None:
    config = {
        "temperature": 0.5, "topP": 0.9, "topK": 40.0, "maxOutputTokens": "9",
        "stopSequences": ["a"], "seed": 1, "presencePenalty": 0.1, "frequencyPenalty": 0.2,
    }  # fmt: skip
    spelled = {_snake(name): item for name, item in config.items()} if snake else config
    name = "generation_config" if snake else "generationConfig"
    found = request_of({name: spelled}).generation

    assert (found.temperature, found.top_p, found.top_k, found.max_tokens) == (0.5, 0.9, 40, 9)
    assert (found.stop, found.seed) == (("a",), 1)
    assert (found.presence_penalty, found.frequency_penalty) == (0.1, 0.2)


def _snake(name: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in name)


@pytest.mark.parametrize(
    ("thinking", "expected"),
    [
        ({"thinkingLevel": "HIGH"}, ReasoningOptions(effort="high")),
        ({"thinkingBudget": 0}, ReasoningOptions(effort="none")),
        ({"thinkingBudget": -1}, None),
        ({"thinkingBudget": 512}, ReasoningOptions(effort="low", budget_tokens=512)),
        ({"includeThoughts": True}, ReasoningOptions(summary="auto")),
        ({"includeThoughts": False}, None),
        ({"thinkingLevel": "THINKING_LEVEL_UNSPECIFIED"}, None),
    ],
)
def test_thinking_is_a_level_or_a_budget(thinking: Any, expected: Any) -> None:
    assert request_of({"generationConfig": {"thinkingConfig": thinking}}).reasoning == expected


@pytest.mark.parametrize("budget", [0, -1])
def test_a_gemini_upstream_gets_the_budget_as_it_is(budget: int) -> None:
    config = {"generationConfig": {"thinkingConfig": {"thinkingBudget": budget}}}

    assert request_of(config, "gemini").reasoning == ReasoningOptions(budget_tokens=budget)


@pytest.mark.parametrize("protocol_id", ["openai-chat", "gemini"])
def test_another_negative_budget_is_refused(protocol_id: str) -> None:
    error = refused({"generationConfig": {"thinkingConfig": {"thinkingBudget": -9}}}, protocol_id)

    assert error.status == 400
    assert "budget_tokens is -9" in error.message


JSON = "application/json"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"responseMimeType": "text/plain"}, None),
        ({"responseMimeType": JSON}, ResponseFormat.json()),
        (
            {"responseMimeType": JSON, "_responseJsonSchema": {"type": "object"}},
            ResponseFormat.json_schema({"type": "object"}),
        ),
        (
            {
                "responseMimeType": JSON,
                "responseSchema": {
                    "type": "OBJECT",
                    "properties": {"type": {"type": "STRING", "nullable": True}},
                    "any_of": [{"type": "OBJECT", "min_properties": "1"}],
                },
            },
            ResponseFormat.json_schema(
                {
                    "type": "object",
                    "properties": {"type": {"type": "string", "nullable": True}},
                    "anyOf": [{"type": "object", "minProperties": 1}],
                }
            ),
        ),
        (  # as `google-generativeai` sends them
            {
                "responseMimeType": JSON,
                "responseSchema": {
                    "type": 6,
                    "properties": {"a": {"type": 5, "items": {"type": 0}}, "b": {"type": 7}},
                },
            },
            ResponseFormat.json_schema(
                {
                    "type": "object",
                    "properties": {"a": {"type": "array", "items": {}}, "b": {"type": "null"}},
                }
            ),
        ),
    ],
)
def test_schemas_of_both_kinds_are_json_schemas(config: Any, expected: Any) -> None:
    assert request_of({"generationConfig": config}).response_format == expected


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"safetySettings": [{"category": "X"}]}, "safetySettings"),
        ({"generationConfig": {"speechConfig": {}}}, "generationConfig.speechConfig"),
        ({"hologram": 1}, "hologram"),
        ({"generationConfig": {"hologram": 1}}, "generationConfig.hologram"),
        ({"labels": {"team": 7}}, "labels.team"),
    ],
)
def test_what_the_upstream_has_no_place_for_is_reported(body: Any, place: str) -> None:
    made = read(body)

    assert [one.path for one in made.diagnostics] == [place]


def test_native_settings_reach_a_gemini_upstream() -> None:
    body = {
        "safetySettings": [{"category": "X"}],
        "cachedContent": "cachedContents/1",
        "generationConfig": {"responseModalities": ["IMAGE"], "candidateCount": 2},
        "labels": {"team": "a"},
    }
    made = read(body, "gemini")

    assert made.diagnostics == ()
    assert made.request.metadata == {"team": "a"}
    assert made.request.provider_options == {
        "google": {
            "safetySettings": [{"category": "X"}],
            "cachedContent": "cachedContents/1",
            "responseModalities": ["IMAGE"],
            "candidateCount": 2,
        }
    }


_CHOICES = {"type": "STRING", "enum": ["a", "b"]}


@pytest.mark.parametrize(
    ("body", "native"),
    [
        (
            {"generationConfig": {"responseMimeType": "text/x.enum", "responseSchema": _CHOICES}},
            {"responseMimeType": "text/x.enum", "responseSchema": _CHOICES},
        ),
        ({"store": False}, {"store": False}),
        ({"continuationToken": "t"}, {"continuationToken": "t"}),
        (
            {"modelArmorConfig": {"promptTemplateName": "p"}, "outputConfig": {}},
            {"modelArmorConfig": {"promptTemplateName": "p"}, "outputConfig": {}},
        ),
        (
            {"generationConfig": {"modelConfig": {"featureSelectionPreference": "BALANCED"}}},
            {"modelConfig": {"featureSelectionPreference": "BALANCED"}},
        ),
        (
            {
                "tools": [{"googleSearch": {}}],
                "tool_config": {"include_server_side_tool_invocations": True},
            },
            {"toolConfig": {"includeServerSideToolInvocations": True}},
        ),
    ],
    ids=["choices", "not stored", "continued", "shielded", "model", "shown searches"],
)
def test_what_only_gemini_has_reaches_a_gemini_upstream_whole(body: Any, native: Any) -> None:
    made = read(body, "gemini")

    assert made.request.provider_options == {"google": native}
    assert made.diagnostics == ()


def test_a_search_of_older_models_is_offered_without_its_threshold() -> None:
    retrieval = {"dynamicRetrievalConfig": {"mode": "MODE_DYNAMIC", "dynamicThreshold": 0.5}}
    made = read({"tools": [{"googleSearchRetrieval": retrieval}]}, "gemini")

    assert made.request.tools == (HostedTool(kind="web_search"),)
    assert [d.path for d in made.diagnostics] == [
        "tools[0].googleSearchRetrieval.dynamicRetrievalConfig"
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"cachedContent": "cachedContents/1"},
        {"continuationToken": "t"},
        {"generationConfig": {"candidateCount": 2}},
        {"generationConfig": {"responseModalities": ["AUDIO"]}},
        {"generationConfig": {"responseMimeType": "text/x.enum"}},
        {"generationConfig": {"temperature": "hot"}},
        {"generationConfig": []},
    ],
)
def test_what_would_change_the_response_is_refused(body: Any) -> None:
    assert refused(body).status == 400


@pytest.mark.parametrize(
    "config",
    [
        {"candidateCount": 1},
        {"responseModalities": ["TEXT"]},
        {"responseModalities": [1]},
        {"temperature": None},
    ],
)
def test_settings_equal_to_the_default_are_accepted_without_a_report(config: Any) -> None:
    assert read({"generationConfig": config}).diagnostics == ()


# -- tools


def declared(*names: str) -> dict[str, Any]:
    """Return a tool of functions without parameters."""
    return {"functionDeclarations": [{"name": name} for name in names]}


@pytest.mark.parametrize(
    "given",
    [
        {"parameters": {"type": "OBJECT", "properties": {"a": {"type": "INTEGER"}}}},
        {"parametersJsonSchema": {"type": "object", "properties": {"a": {"type": "integer"}}}},
        {"parameters_json_schema": {"properties": {"a": {"type": "integer"}}}},
    ],
)
def test_functions_take_schemas_of_both_kinds(given: Any) -> None:
    tool = {"function_declarations": [{"name": "f", "description": "F", **given}]}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}

    assert request_of({"tools": [tool]}).tools == (ToolDefinition("f", "F", schema),)


@pytest.mark.parametrize(
    ("calling", "choice", "tools"),
    [
        ({}, None, ["f", "g"]),
        ({"mode": "AUTO"}, ToolChoice.auto(), ["f", "g"]),
        ({"mode": "VALIDATED"}, ToolChoice.auto(), ["f", "g"]),
        ({"mode": "NONE"}, ToolChoice.none(), ["f", "g"]),
        ({"mode": "ANY"}, ToolChoice.required(), ["f", "g"]),
        ({"mode": "any"}, ToolChoice.required(), ["f", "g"]),
        ({"mode": 2}, ToolChoice.required(), ["f", "g"]),
        ({"mode": 3}, ToolChoice.none(), ["f", "g"]),
        ({"mode": 0}, None, ["f", "g"]),
        ({"mode": "ANY", "allowedFunctionNames": ["g"]}, ToolChoice.named("g"), ["f", "g"]),
        ({"mode": "ANY", "allowed_function_names": ["f", "h"]}, ToolChoice.required(), ["f"]),
    ],
)
def test_function_calling_modes_become_tool_choices(
    calling: Any, choice: Any, tools: list[str]
) -> None:
    config = {"functionCallingConfig": calling}
    made = request_of({"tools": [declared("f", "g")], "toolConfig": config})

    assert made.tool_choice == choice
    assert [tool.name for tool in made.tools if isinstance(tool, ToolDefinition)] == tools


@pytest.mark.parametrize(
    ("protocol_id", "kept", "reported"),
    [("gemini", {"google": {"behavior": "NON_BLOCKING"}}, []), ("openai-chat", {}, ["behavior"])],
)
def test_fields_of_functions_that_only_google_has_go_to_google_alone(
    protocol_id: str, kept: Any, reported: list[str]
) -> None:
    function = {"name": "f", "behavior": "NON_BLOCKING"}
    made = read({"tools": [{"functionDeclarations": [function]}]}, protocol_id)
    (tool,) = made.request.tools

    assert isinstance(tool, ToolDefinition)
    assert tool.provider_metadata == kept
    assert [note.path.rpartition(".")[2] for note in made.diagnostics] == reported


def test_a_call_of_any_function_where_none_is_offered_goes_to_google_alone() -> None:
    """Which ignores it; elsewhere a choice that nothing can fulfil is dropped with a report."""
    calling = {"mode": "ANY"}
    body = {"tools": [{"googleSearch": {}}], "toolConfig": {"functionCallingConfig": calling}}
    made = read(body, "openai-responses")

    assert made.request.tool_choice is None
    assert codes(made) == ["unsupported-parameter"]
    same = request_of(body, "gemini")
    assert same.tool_choice is None
    assert same.provider_options["google"] == {"toolConfig": {"functionCallingConfig": calling}}


def test_allowed_names_go_with_the_choice_to_a_gemini_upstream() -> None:
    """The tools stay as they are, which keeps the prompt's prefix."""
    calling = {"mode": "ANY", "allowedFunctionNames": ["f", "g"]}
    body = {"tools": [declared("f", "g", "h")], "toolConfig": {"functionCallingConfig": calling}}
    made = request_of(body, "gemini")

    assert len(made.tools) == 3
    assert made.provider_options["google"] == {"toolConfig": {"functionCallingConfig": calling}}


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ({"googleSearch": {}}, "web_search"),
        ({"google_search": {}}, "web_search"),
        ({"urlContext": {}}, "web_fetch"),
        ({"codeExecution": {}}, "code_execution"),
        ({"googleMaps": {}}, "maps"),
        ({"hologram": {}}, "raw"),
    ],
)
def test_tools_of_google_are_hosted_tools(tool: Any, kind: str) -> None:
    (made,) = request_of({"tools": [tool]}, "gemini").tools

    assert isinstance(made, HostedTool)
    assert made.kind == kind


@pytest.mark.parametrize(
    ("policy", "tool", "found"),
    [
        ("native", "googleSearch", []),
        ("drop", "googleSearch", []),
        ("function", "googleSearch", ["web_search"]),
        ("function", "urlContext", ["web_fetch"]),
    ],
)
def test_a_hosted_tool_that_the_upstream_lacks_follows_the_policy(
    policy: str, tool: str, found: list[str]
) -> None:
    made = read({"tools": [{tool: {}}]}, hosted_tools=policy)

    assert [getattr(tool, "name", "") for tool in made.request.tools] == found
    assert len(made.diagnostics) == 1


def test_a_hosted_tool_is_the_upstreams_own_where_it_has_one() -> None:
    made = read({"tools": [{"googleSearch": {}}]}, "anthropic-messages")

    assert made.request.tools == (HostedTool.web_search(),)


def test_url_context_is_web_fetch_at_an_upstream_of_messages() -> None:
    (made,) = request_of({"tools": [{"urlContext": {}}]}, "anthropic-messages").tools

    assert made == HostedTool.web_fetch()


def test_the_policy_can_refuse_hosted_tools() -> None:
    assert refused({"tools": [{"googleSearch": {}}]}, hosted_tools="error").status == 400


@pytest.mark.parametrize(
    "tools",
    [
        [7],
        [{"functionDeclarations": [{"description": "nameless"}]}],
        [declared("f", "f")],
        [{"functionDeclarations": [{"name": "f", "parameters": {"type": "STRING"}}]}],
        [{"functionDeclarations": [{"name": "f", "parametersJsonSchema": 7}]}],
    ],
)
def test_invalid_tools_are_refused(tools: Any) -> None:
    assert refused({"tools": tools}).status == 400


@pytest.mark.parametrize("stray", ["gone", None], ids=["unknown id", "no id"])
def test_a_result_of_a_call_that_was_removed_is_none_of_another_call(stray: str | None) -> None:
    """The other result names its call."""
    call = {"functionCall": {"id": "c2", "name": "f", "args": {}}}
    removed = {"name": "f", "response": {"output": "1"}, **({"id": stray} if stray else {})}
    kept = {"id": "c2", "name": "f", "response": {"output": "2"}}
    results = [{"functionResponse": removed}, {"functionResponse": kept}]
    made = read({"contents": [{"role": "model", "parts": [call]}, {"parts": results}]})
    (_, answered) = made.request.messages
    found = {part.tool_call_id: part.content for part in answered.content}  # type: ignore[union-attr]

    assert found["c2"] == "2"
    assert set(found.values()) == {"1", "2"}
