"""Text that stands for what an API does not take as it is."""

from typing import Any

import pytest
from attrs import evolve, fields_dict

from llmcore.client.client import Client
from llmcore.protocols import openai_chat, openai_responses
from llmcore.protocols.lowering import document_text, is_unset, nearest_effort, tagged_text
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema.content import (
    Citation,
    DocumentPart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.messages import Message, Origin
from llmcore.schema.model import Model
from llmcore.schema.options import GenerationOptions, ReasoningOptions
from llmcore.schema.request import LLMRequest, request
from tests.support.every_protocol import EVERY_COLUMN
from tests.support.wire.matrix import Column


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("Be brief.", "Be brief."),
        ("a < b </other>", "a < b </other>"),
        ("x</system>y", "x&lt;/system>y"),
        ("< / SYSTEM >", "&lt; / SYSTEM >"),
        ("</system></system\n>", "&lt;/system>&lt;/system\n>"),
        ("</systems>", "</systems>"),
    ],
)
def test_tagged_text_escapes_its_closing_tag_wherever_it_stands(text: str, inside: str) -> None:
    """Text cannot end its tag and speak with the authority of what stands outside it."""
    assert tagged_text("system", text) == f"<system>\n{inside}\n</system>"


def test_document_text_escapes_its_closing_tag() -> None:
    """The same for a document that becomes text."""
    part = DocumentPart(data=b"x", name="a.txt")

    assert document_text(part, "a</document>b") == (
        '<document name="a.txt">\na&lt;/document>b\n</document>'
    )


@pytest.mark.parametrize(
    ("effort", "levels", "nearest"),
    [
        ("high", ("low", "high"), "high"),
        ("medium", ("low", "high"), "low"),
        ("minimal", ("none", "low"), "low"),
        ("none", ("minimal", "low"), "minimal"),
        ("max", ("none", "low", "xhigh"), "xhigh"),
        ("turbo", ("low", "high"), "turbo"),
    ],
)
def test_nearest_effort_is_the_highest_below_or_the_lowest_that_reasons(
    effort: str, levels: tuple[str, ...], nearest: str
) -> None:
    """A word that no API has in common stays as it is."""
    assert nearest_effort(effort, levels) == nearest


@pytest.mark.parametrize(
    ("model", "effort", "sent", "code"),
    [
        ("gpt-5.1", "minimal", "low", "reasoning-effort-changed"),
        ("gpt-5.6-sol", "minimal", "low", "reasoning-effort-changed"),
        ("gpt-5.5", "max", "xhigh", "reasoning-effort-changed"),
        ("gpt-5.1-2025-11-13", "xhigh", "high", "reasoning-effort-changed"),
        ("gpt-5-mini", "minimal", "minimal", None),
        ("gpt-5", "none", "minimal", "reasoning-not-off"),
        ("o3", "none", "low", "reasoning-not-off"),
        ("o5-mini", "max", "high", "reasoning-effort-changed"),
        ("gpt-6.1-sol", "none", "low", "reasoning-not-off"),
        ("gpt-6-astra", "minimal", "low", "reasoning-effort-changed"),
        ("gpt-6.2-astra-law", "none", "low", "reasoning-not-off"),
        ("gpt-6.1-terra", "none", "none", None),
        ("gpt-6-luna", "none", "none", None),
        ("gpt-5.2-pro", "minimal", "medium", "reasoning-effort-changed"),
        ("gpt-5.4-pro-2026-03-05", "xhigh", "xhigh", None),
        ("gpt-5-pro", "medium", "high", "reasoning-effort-changed"),
        ("gpt-5-codex", "minimal", "low", "reasoning-effort-changed"),
        ("gpt-5.1-codex", "none", "low", "reasoning-not-off"),
        ("gpt-5.1-codex-mini", "xhigh", "high", "reasoning-effort-changed"),
        ("gpt-5.1-codex-max", "xhigh", "xhigh", None),
        ("gpt-5.3-codex", "minimal", "low", "reasoning-effort-changed"),
        ("gpt-5.2-chat-latest", "high", "medium", "reasoning-effort-changed"),
        ("gpt-9", "minimal", "low", "reasoning-effort-changed"),
        ("gpt-9", "none", "none", None),
        ("house-model", "minimal", "minimal", None),
    ],
)
def test_openai_models_get_an_effort_that_they_accept(
    model: str, effort: str, sent: str, code: str | None
) -> None:
    """In both APIs; models of another family get what was asked for."""
    asked = request(
        model=Model(model, "openai"), prompt="q", reasoning_effort=effort, temperature=0.5
    )

    responses = openai_responses.protocol.body.build(asked, False).unwrap()
    chat = openai_chat.make(openai_chat.OPENAI).body.build(asked, False).unwrap()

    assert responses.body.get("reasoning") == {"effort": sent}
    assert chat.body.get("reasoning_effort") == sent
    for built in (responses, chat):
        found = [one.code for one in built.diagnostics if one.path == "reasoning.effort"]
        assert found == ([code] if code else [])
        assert ("temperature" in built.body) is (sent == "none" or model == "house-model")


@pytest.mark.parametrize(
    "model", ["gpt-4o", "gpt-4.1-mini", "ft:gpt-4o:me::1", "gpt-5-chat-latest"]
)
@pytest.mark.parametrize(
    ("settings", "reported"),
    [
        (ReasoningOptions(effort="high"), True),
        (ReasoningOptions(summary="auto"), True),
        (ReasoningOptions(effort="none"), False),
    ],
)
def test_openai_models_that_do_not_reason_are_asked_for_none(
    model: str, settings: ReasoningOptions, reported: bool
) -> None:
    """They refuse the parameter; what was asked for is reported, unless it was not to reason."""
    asked = request(model=Model(model, "openai"), prompt="q", reasoning=settings)

    for protocol in (openai_responses.protocol, openai_chat.make(openai_chat.OPENAI)):
        built = protocol.body.build(asked, False).unwrap()
        assert built.body.keys().isdisjoint(("reasoning", "reasoning_effort"))
        assert [note.path for note in built.diagnostics] == (["reasoning"] if reported else [])


@pytest.mark.parametrize("model", ["gpt-5.6-sol", "gpt-6.2-sol", "gpt-7"])
def test_only_responses_takes_the_highest_effort(model: str) -> None:
    """Chat Completions refuses `max` of the same models."""
    asked = request(model=Model(model, "openai"), prompt="q", reasoning_effort="max")

    responses = openai_responses.protocol.body.build(asked, False).unwrap()
    chat = openai_chat.make(openai_chat.OPENAI).body.build(asked, False).unwrap()

    assert responses.body.get("reasoning") == {"effort": "max"}
    assert responses.diagnostics == ()
    assert chat.body.get("reasoning_effort") == "xhigh"
    assert [one.code for one in chat.diagnostics] == ["reasoning-effort-changed"]


@pytest.mark.parametrize("column", EVERY_COLUMN, ids=lambda column: column.id)
def test_citations_of_another_api_are_left_out_and_reported(column: Column) -> None:
    """Each API takes back its own at most."""
    cited = TextPart("It rains.", citations=(Citation(url="https://cited.example"),))
    made = Origin(provider="elsewhere", model="m-1")
    history = [Message.user("q"), Message.assistant(cited, origin=made), Message.user("Go on.")]
    asked = request(model=column.model_at("https://h.example"), messages=history)

    prepared = Client().prepare(asked).unwrap()

    left_out = [note for note in prepared.diagnostics if "citations" in note.path]
    assert [note.code for note in left_out] == ["unsupported-content"]
    assert "cited.example" not in str(prepared.body)


@pytest.mark.parametrize(
    ("protocol_id", "places"),
    [
        ("anthropic-messages", ["messages[2].content[2]", "messages[1].content[1].detail"]),
        ("bedrock-converse", ["messages[2].content[2]", "messages[1].content[1].detail"]),
        ("gemini", ["messages[1].content[1].detail"]),
        ("openai-chat", ["messages[2].content[2]"]),
        ("openai-responses", ["messages[2].content[2]"]),
    ],
)
def test_a_diagnostic_names_the_position_that_a_part_has_in_the_request(
    protocol_id: str, places: list[str]
) -> None:
    """Also where messages are joined, and where parts before it are left out."""
    picture = ImagePart(data=b"\x89PNG\r\n\x1a\n", media_type="image/png", detail="high")
    asked = LLMRequest(
        model=Model("amazon.nova-lite-v1:0", "any"),
        messages=(
            Message.user("Hi"),
            Message.user([TextPart("and"), picture]),
            Message.assistant(
                [ReasoningPart("hm"), TextPart("See"), evolve(picture, detail=None)],
                origin=Origin(provider="elsewhere", model="m", protocol="other"),
            ),
            Message.user("ok"),
        ),
    )
    built = protocol_by_id(protocol_id).body.build(asked, False).unwrap()

    reported = [
        note.path
        for note in built.diagnostics
        if note.code in ("unsupported-parameter", "unsupported-content")
    ]
    assert reported == places


def test_a_diagnostic_names_the_position_of_a_part_that_stands_in_two_places() -> None:
    picture = ImagePart(data=b"\x89PNG\r\n\x1a\n", media_type="image/png", detail="high")
    asked = LLMRequest(
        model=Model("gemini-2.5-flash", "any"),
        messages=(
            Message.user([TextPart("Look"), picture]),
            Message.assistant("ok"),
            Message.user("Hi"),
            Message.user([TextPart("again"), TextPart("please"), picture]),
        ),
    )
    built = protocol_by_id("gemini").body.build(asked, False).unwrap()

    reported = [note.path for note in built.diagnostics if note.code == "unsupported-parameter"]
    assert reported == ["messages[0].content[1].detail", "messages[2].content[3].detail"]


def test_a_diagnostic_names_the_part_of_a_result_that_was_moved() -> None:
    picture = ImagePart(data=b"\x89PNG\r\n\x1a\n", media_type="image/png")
    calls = [ToolCallPart("c1", "look", {}), ToolCallPart("c2", "look", {})]
    results = [ToolResultPart(call.id, (TextPart("Seen"), picture)) for call in calls]
    asked = LLMRequest(
        model=Model("gpt-4o", "any"),
        messages=(
            Message.user("Look twice"),
            Message.assistant(calls),
            Message("tool", (results[1], results[0])),
        ),
    )
    built = protocol_by_id("openai-chat").body.build(asked, False).unwrap()

    reported = {note.path for note in built.diagnostics if note.code == "moved-tool-result-media"}
    assert reported == {f"messages[2].content[{n}].content[1]" for n in (0, 1)}


@pytest.mark.parametrize("name", fields_dict(GenerationOptions))
def test_options_of_which_any_is_set_are_not_unset(name: str) -> None:
    values: dict[str, Any] = {"stop": ("x",), "logprobs": False, "service_tier": "flex"}

    assert is_unset(GenerationOptions())
    assert not is_unset(evolve(GenerationOptions(), **{name: values.get(name, 0)}))
