"""The content parts that events are folded to."""

from typing import Any

import pytest

from llmcore.folds.response import collect
from llmcore.schema.content import (
    AudioPart,
    Citation,
    ContentPart,
    DocumentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    TokenLogprob,
    ToolCallPart,
    ToolResultPart,
)
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.events import (
    File,
    LLMEvent,
    ProviderEvent,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    Source,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolError,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolResult,
)
from tests.support.strategies.values import framed

META: Any = {"acme": {"item": "i1"}}


def parts(*inner: LLMEvent) -> tuple[ContentPart, ...]:
    """Return the parts that *inner*, one whole step, comes to."""
    return collect(framed(inner)).unwrap().message.content


# -- parts


@pytest.mark.parametrize(
    ("inner", "part"),
    [
        (
            [
                TextStart("0"),
                TextDelta("0", "hi"),
                TextEnd(
                    "0",
                    "hi",
                    citations=(Citation(url="https://acme.test"),),
                    logprobs=(TokenLogprob(token="hi", logprob=-1.0),),
                    provider_metadata=META,
                ),
            ],
            TextPart(
                "hi",
                citations=(Citation(url="https://acme.test"),),
                logprobs=(TokenLogprob(token="hi", logprob=-1.0),),
                provider_metadata=META,
            ),
        ),
        (
            [
                TextStart("0", refusal=True),
                TextDelta("0", "no"),
                TextEnd("0", "no", refusal=True, provider_metadata=META),
            ],
            RefusalPart("no", provider_metadata=META),
        ),
        (
            [
                ReasoningStart("0"),
                ReasoningDelta("0", "hm"),
                ReasoningEnd("0", "hm", signature="s", encrypted="e", provider_metadata=META),
            ],
            ReasoningPart("hm", signature="s", encrypted="e", provider_metadata=META),
        ),
        (
            [
                ToolInputStart("c1", "f", kind="custom", provider_executed=True),
                ToolInputDelta("c1", "x"),
                ToolInputEnd("c1", "x"),
                ToolCall(
                    "c1", "f", "x", kind="custom", provider_executed=True, provider_metadata=META
                ),
            ],
            ToolCallPart(
                "c1", "f", "x", kind="custom", provider_executed=True, provider_metadata=META
            ),
        ),
        (
            [
                ToolResult(
                    "c1",
                    {"x": 1},
                    name="f",
                    is_error=True,
                    kind="custom",
                    provider_executed=True,
                    provider_metadata=META,
                )
            ],
            ToolResultPart(
                "c1",
                {"x": 1},
                name="f",
                is_error=True,
                kind="custom",
                provider_executed=True,
                provider_metadata=META,
            ),
        ),
        (
            [ProviderEvent("acme", {"x": 1}, replay=True, provider_metadata=META)],
            ProviderPart("acme", {"x": 1}, provider_metadata=META),
        ),
        (
            [File(id="f", media_type="image/png", data=b"x", provider_metadata=META)],
            ImagePart(data=b"x", media_type="image/png", provider_metadata=META),
        ),
        (
            [File(id="f", media_type="audio/wav", file_id="a1", transcript="hi")],
            AudioPart(file_id="a1", media_type="audio/wav", transcript="hi"),
        ),
        (
            [File(id="f", url="https://acme.test/a.csv", name="a.csv")],
            DocumentPart(url="https://acme.test/a.csv", name="a.csv"),
        ),
        (
            [File(id="f", url="data:image/png;base64,AAAA", media_type="image/png", data=b"x")],
            ImagePart(url="data:image/png;base64,AAAA", media_type="image/png"),
        ),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else "",
)
def test_each_kind_of_event_is_its_part(inner: list[LLMEvent], part: ContentPart) -> None:
    """Nothing of what the event carried is lost in the part."""
    assert parts(*inner) == (part,)


@pytest.mark.parametrize(
    "event",
    [
        ToolResult("c1", "x"),
        ToolError(tool_call_id="c1", name="f", message="no"),
        ProviderEvent("acme", {"ping": True}),
        Source(id="s1"),
    ],
)
def test_some_events_are_not_parts(event: LLMEvent) -> None:
    """Results of our own tools are the next message's; other events are only told."""
    assert parts(event) == ()


def test_sources_are_listed_beside_the_message() -> None:
    """Pages that a response rests on stand beside the message."""
    sources = (Source(id="s1", url="https://acme.test"), Source(id="s2"))

    assert collect(framed(sources)).unwrap().sources == sources


def test_parts_stand_where_they_started() -> None:
    """The order of starts is the order of parts, independent of the ends."""
    content = parts(
        ReasoningStart("0"),
        TextStart("0"),
        ProviderEvent("acme", {"n": 1}, replay=True),
        TextDelta("0", "hi"),
        TextEnd("0", "hi"),
        ReasoningEnd("0", "hm"),
    )

    assert content == (ReasoningPart("hm"), TextPart("hi"), ProviderPart("acme", {"n": 1}))


# -- files that are not parts


@pytest.mark.parametrize(
    "file",
    [
        File(id="f1", media_type="audio/wav", transcript="hi"),
        File(id="f1", media_type="image/png", url="/etc/passwd"),
        File(id="f1", url="~/.ssh/id_rsa"),
        File(id="f1", url="./a", name="a"),
    ],
)
def test_a_file_without_content_is_reported(file: File) -> None:
    """A server's file name is never taken for a path on the caller's disk."""
    response = collect(framed([file])).unwrap()

    assert response.message.content == ()
    assert response.diagnostics == (
        Diagnostic(
            "file-without-content",
            "files[f1]",
            action="dropped",
            message="a generated file has neither data nor an absolute URL nor a file id",
        ),
    )


def test_a_local_url_gives_way_to_the_data() -> None:
    """A file that has both is not lost."""
    assert parts(File(id="f", url="/tmp/a.png", data=b"x", media_type="image/png")) == (
        ImagePart(data=b"x", media_type="image/png"),
    )
