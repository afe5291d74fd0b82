"""Prompt caching: where breakpoints go, how many, for how long."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.schema.content import ProviderPart, ReasoningPart, TextPart, ToolCallPart, cached
from llmcore.schema.json import JsonObject
from llmcore.schema.messages import Message
from llmcore.schema.options import CachePolicy, ReasoningOptions
from llmcore.schema.request import LLMRequest
from llmcore.schema.tools import HostedTool, ToolDefinition
from llmcore.testing.prefix import assert_prefix_stable
from tests.support.wire.anthropic import ask, body, built, codes, text


def breakpoints(asked: LLMRequest) -> list[tuple[str, str]]:
    """Return the places of a body's breakpoints and how long they last, in prompt order."""
    return list(_found(body(asked)))


def _found(sent: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for section in ("tools", "system"):
        for index, item in enumerate(sent.get(section, [])):
            yield from _mark(f"{section}[{index}]", item)
    for index, said in enumerate(sent["messages"]):
        for number, block in enumerate(said["content"]):
            yield from _mark(f"messages[{index}][{number}]", block)


def _mark(place: str, item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "cache_control" in item:
        yield place, item["cache_control"].get("ttl", "5m")


def tools(*lifetimes: str | None) -> list[ToolDefinition]:
    """Return tools with cache marks."""
    return [
        ToolDefinition(f"tool_{n}", cache=ttl)  # type: ignore[arg-type]
        for n, ttl in enumerate(lifetimes)
    ]


def part(said: str, ttl: Any = None) -> Any:
    """Return text, marked if *ttl* is given."""
    return TextPart(said) if ttl is None else cached(TextPart(said), ttl=ttl)


TALK = [Message.user("a"), Message.assistant("b"), Message.user("c", "d")]

# -- automatic


def test_tools_system_and_the_tail() -> None:
    """Breakpoints end the tools, the system prompt, the conversation and the turn before."""
    asked = ask(tools=tools(None, None), system=["s", "t"], messages=TALK)

    assert breakpoints(asked) == [
        ("tools[1]", "5m"),
        ("system[1]", "5m"),
        ("messages[0][0]", "5m"),
        ("messages[2][1]", "5m"),
    ]
    assert built(asked).headers == {"anthropic-beta": "prompt-caching-2024-07-31"}


def test_only_what_is_there_is_marked() -> None:
    """Without tools and system prompt, the conversation alone."""
    assert breakpoints(ask()) == [("messages[0][0]", "5m")]


def test_the_policy_says_for_how_long() -> None:
    """Automatic breakpoints last as long as the policy says."""
    asked = ask(system="s", cache=CachePolicy(ttl="1h"))

    assert breakpoints(asked) == [("system[0]", "1h"), ("messages[0][0]", "1h")]


@pytest.mark.parametrize(
    "fields",
    [
        {"cache": CachePolicy(mode="manual")},
        {"provider_options": {"anthropic": {"auto_cache": False}}},
    ],
)
def test_manual_cache_keeps_the_callers_breakpoints_only(fields: dict[str, Any]) -> None:
    """Only the caller's own remain, and the option does not become a field of the body."""
    asked = ask(system=[cached(TextPart("s"))], **fields)

    assert breakpoints(asked) == [("system[0]", "5m")]
    assert "auto_cache" not in body(asked)


def test_cache_off_removes_all_breakpoints_and_reports_the_callers() -> None:
    """No breakpoint at all, the caller's own included, which is reported."""
    asked = ask(
        tools=tools("1h"),
        messages=[Message.user(part("a", "5m"))],
        cache=CachePolicy(mode="off"),
        provider_options={"anthropic": {"cache_control": {"type": "ephemeral"}}},
    )

    assert breakpoints(asked) == []
    assert "cache_control" not in body(asked)
    assert codes(asked) == [
        ("cache-breakpoint-dropped", "tools[0]"),
        ("cache-breakpoint-dropped", "messages[0].content[0]"),
    ]
    assert built(asked).headers == {}


def test_thinking_is_never_marked() -> None:
    """The tail's breakpoint goes on the last block that takes one."""
    redacted = ProviderPart("anthropic", {"type": "redacted_thinking", "data": "d"})
    said = Message.assistant(ReasoningPart("Hm", signature="s"), "b", redacted)
    thinks = ReasoningOptions(budget_tokens=2000)
    asked = ask(messages=[Message.user("a"), said], reasoning=thinks)

    assert breakpoints(asked) == [("messages[0][0]", "5m"), ("messages[1][1]", "5m")]


def test_deferred_tools_are_not_part_of_the_prefix() -> None:
    """A tool that is not shown at first cannot be the end of a prefix."""
    deferred: JsonObject = {"name": "g", "input_schema": {"type": "object"}, "defer_loading": True}
    asked = ask(tools=[*tools(None), HostedTool.raw("anthropic", deferred)])

    assert breakpoints(asked)[0] == ("tools[0]", "5m")


@pytest.mark.parametrize(
    ("block", "marked"),
    [
        ({"type": "search_result", "source": "s", "title": "t", "content": []}, True),
        ({"type": "block_of_2031"}, False),
    ],
)
def test_native_blocks_are_marked_where_they_may_be(block: dict[str, Any], marked: bool) -> None:
    """Known blocks take a breakpoint; unknown ones may not."""
    asked = ask(messages=[Message.user("a", ProviderPart("anthropic", block))])

    assert breakpoints(asked) == [("messages[0][1]" if marked else "messages[0][0]", "5m")]


def test_the_provider_may_place_one_itself() -> None:
    """`cache_control` of the whole body is one of the four, and takes the tail."""
    asked = ask(
        tools=tools(None),
        system="s",
        messages=TALK,
        provider_options={"anthropic": {"cache_control": {"type": "ephemeral", "ttl": "1h"}}},
    )

    assert body(asked)["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    assert breakpoints(asked) == [
        ("tools[0]", "1h"),
        ("system[0]", "1h"),
        ("messages[0][0]", "1h"),
    ]


# -- the caller's own


def test_own_ones_come_first_and_automatic_ones_fill_the_rest() -> None:
    """Automatic breakpoints take the room that the caller's leave."""
    asked = ask(
        tools=tools("5m", None),
        system=[part("s", "5m"), part("t")],
        messages=[Message.user(part("a", "5m"), "b")],
    )

    assert [place for place, _ in breakpoints(asked)] == [
        "tools[0]",
        "system[0]",
        "messages[0][0]",
        "messages[0][1]",
    ]


def test_more_than_four_own_ones() -> None:
    """The last of each section is kept, then the latest; the others are said to be lost."""
    asked = ask(
        tools=tools("1h", "1h"),
        system=[part("s", "1h"), part("t", "1h")],
        messages=[Message.user(part("a", "1h"), part("b", "1h"))],
    )

    assert [place for place, _ in breakpoints(asked)] == [
        "tools[1]",
        "system[1]",
        "messages[0][0]",
        "messages[0][1]",
    ]
    assert codes(asked) == [
        ("cache-breakpoint-dropped", "tools[0]"),
        ("cache-breakpoint-dropped", "system[0]"),
    ]


def test_native_cache_marks_count_as_the_callers_breakpoints() -> None:
    """A raw `cache_control` on a part, and one in a native tool, are the caller's own."""
    marked = TextPart(
        "a", provider_metadata={"anthropic": {"cache_control": {"type": "ephemeral", "ttl": "1h"}}}
    )
    bash: JsonObject = {
        "type": "bash_20250124",
        "name": "bash",
        "cache_control": {"type": "ephemeral"},
    }
    asked = ask(
        tools=[HostedTool.raw("anthropic", bash)],
        messages=[Message.user(marked)],
        cache=CachePolicy(mode="manual"),
    )

    assert breakpoints(asked) == [("tools[0]", "5m"), ("messages[0][0]", "5m")]
    assert codes(asked) == [("cache-ttl-shortened", "messages[0].content[0]")]


def test_marks_on_native_parts() -> None:
    """`cached` works on parts that are kept in the native form too."""
    block = {"type": "search_result", "source": "s", "title": "t", "content": [text("x")]}
    marked = cached(ProviderPart("anthropic", block), ttl="1h")
    asked = ask(messages=[Message.user(marked, "a")], cache=CachePolicy(mode="manual"))

    assert breakpoints(asked) == [("messages[0][0]", "1h")]


def test_a_mark_on_a_result() -> None:
    """A tool's result can end a prefix."""
    asked = ask(
        messages=[
            Message.user("a"),
            Message.assistant(ToolCallPart("toolu_1", "f")),
            Message("tool", [cached(Message.tool("toolu_1", "r").content[0], ttl="1h")]),
        ],
        cache=CachePolicy(mode="manual"),
    )

    assert breakpoints(asked) == [("messages[2][0]", "1h")]


@pytest.mark.parametrize(
    ("block", "kept"),
    [({"type": "block_of_2031"}, True), ({"type": "thinking", "thinking": "t"}, False)],
)
def test_native_marks_on_native_blocks(block: dict[str, Any], kept: bool) -> None:
    """Whoever writes a block that we do not know, knows whether it can be marked."""
    marked = ProviderPart("anthropic", {**block, "cache_control": {"type": "ephemeral"}})
    asked = ask(messages=[Message.user("a", marked, "b")], cache=CachePolicy(mode="manual"))

    assert breakpoints(asked) == ([("messages[0][1]", "5m")] if kept else [])
    lost = [] if kept else [("cache-breakpoint-dropped", "messages[0].content[1]")]
    assert codes(asked) == lost


def test_a_mark_inside_a_result_is_seen() -> None:
    """A native mark inside a tool's result names the beta feature too."""
    inner = {"type": "text", "text": "r", "cache_control": {"type": "ephemeral"}}
    asked = ask(
        messages=[
            Message.user("a"),
            Message.assistant(ToolCallPart("toolu_1", "f")),
            Message.tool("toolu_1", (ProviderPart("anthropic", inner),)),
        ],
        cache=CachePolicy(mode="manual"),
    )

    assert built(asked).headers == {"anthropic-beta": "prompt-caching-2024-07-31"}


def test_native_text_has_no_place_for_marks() -> None:
    """A system prompt and messages that are given as plain strings stay strings."""
    native: Any = {
        "system": "s",
        "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
    }
    asked = ask(tools=tools(None), provider_options={"anthropic": native})

    sent = body(asked)
    assert (sent["system"], sent["messages"]) == (native["system"], native["messages"])
    assert "cache_control" in sent["tools"][0]


def test_a_mark_on_empty_text_moves() -> None:
    """Empty text is left out; its mark goes to the part before."""
    asked = ask(
        messages=[Message.user("a", part(" ", "1h"), "b")], cache=CachePolicy(mode="manual")
    )

    assert breakpoints(asked) == [("messages[0][0]", "1h")]


# -- for how long


@pytest.mark.parametrize(
    ("first", "second", "policy", "expected"),
    [
        ("1h", "5m", None, ["1h", "5m", "5m"]),
        ("5m", "1h", None, ["5m", "5m", "5m"]),
        (None, "1h", None, ["1h", "1h", "5m"]),
        (None, "1h", "1h", ["1h", "1h", "1h"]),
        ("5m", None, "1h", ["5m", "5m", "5m"]),
        ("1h", None, None, ["1h", "5m", "5m"]),
    ],
)
def test_longer_breakpoints_precede_shorter_ones(
    first: Any, second: Any, policy: Any, expected: list[str]
) -> None:
    """None outlives one before it; automatic ones fit themselves to the caller's."""
    asked = ask(
        tools=tools(first),
        system=[part("s", second)],
        messages=[Message.user("a")],
        cache=CachePolicy(ttl=policy),
    )

    assert [ttl for _, ttl in breakpoints(asked)] == expected
    shortened = (first, second) == ("5m", "1h")
    assert codes(asked) == ([("cache-ttl-shortened", "system[0]")] if shortened else [])


LIFETIMES = st.sampled_from([None, "5m", "1h"])


@given(
    st.lists(LIFETIMES, max_size=4),
    st.lists(LIFETIMES, max_size=4),
    st.lists(st.lists(LIFETIMES, min_size=1, max_size=3), min_size=1, max_size=4),
    st.sampled_from(["auto", "manual", "off"]),
    LIFETIMES,
)
def test_the_rules_always_hold(
    on_tools: list[Any], on_system: list[Any], on_talk: list[list[Any]], mode: Any, ttl: Any
) -> None:
    """At most four, longer before shorter, whatever the caller marks."""
    turns = [
        (Message.user if n % 2 == 0 else Message.assistant)(*(part("x", one) for one in marks))
        for n, marks in enumerate(on_talk)
    ]
    asked = ask(
        tools=tools(*on_tools),
        system=[part("s", one) for one in on_system],
        messages=turns,
        cache=CachePolicy(mode=mode, ttl=ttl),
    )

    found = [lifetime for _, lifetime in breakpoints(asked)]
    own = sum(one is not None for marks in (on_tools, on_system, *on_talk) for one in marks)
    assert len(found) <= 4
    assert found == sorted(found)  # "1h" before "5m"
    assert (len(found) == 0) == (mode == "off" or (mode == "manual" and own == 0))
    if mode != "off":
        assert len(found) >= min(own, 4)


def test_each_turn_begins_with_the_one_before() -> None:
    """Breakpoints wander, the prompt under them does not change."""
    turns = [
        Message.user("a"),
        Message.assistant("b", ToolCallPart("toolu_1", "f", {"x": 1})),
        Message.tool("toolu_1", {"r": 1}),
        Message.assistant("c"),
        Message.user("d"),
    ]
    fields: dict[str, Any] = {"tools": tools(None, None), "system": "s"}

    assert_prefix_stable([body(ask(messages=turns[:n], **fields)) for n in (1, 3, 5)])
