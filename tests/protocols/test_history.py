"""History repair: whatever the caller hands over, the target gets what it accepts."""

import re
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from llmcore.protocols.anthropic_messages.names import CALL_IDS as ANTHROPIC
from llmcore.protocols.history import HistoryPolicy, Repaired, model_family, repair
from llmcore.protocols.openai_chat.names import CALL_IDS as OPENAI_CHAT
from llmcore.protocols.openai_responses.names import CALL_IDS as OPENAI_RESPONSES
from llmcore.protocols.tools import CallIdRule, synthetic_call_id
from llmcore.routes.mistral import MISTRAL_CALL_IDS as MISTRAL
from llmcore.schema.content import (
    Citation,
    ContentPart,
    ImagePart,
    ProviderPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    cache_ttl,
    cached,
)
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.messages import Message, Origin

CHAT = HistoryPolicy(
    protocol="chat",
    provider="alpha",
    model="alpha-2",
    metadata_key="alpha",
    call_ids=OPENAI_CHAT,
    reasoning="drop",
)
RESPONSES = replace(
    CHAT,
    protocol="responses",
    call_ids=OPENAI_RESPONSES,
    reasoning="signed",
    reasoning_may_end_turn=False,
)
MESSAGES = HistoryPolicy(
    protocol="messages",
    provider="alpha",
    model="alpha-2",
    metadata_key="alpha",
    call_ids=ANTHROPIC,
    alternate=True,
    starts_with_user=True,
    system_messages="demote",
    empty_text="drop_blank",
    reasoning="signed",
    reasoning_may_end_turn=False,
)
CONTENTS = HistoryPolicy(
    protocol="contents",
    provider="alpha",
    model="alpha-2",
    metadata_key="alpha",
    alternate=True,
    starts_with_user=True,
    name_results=True,
    system_messages="lift",
    empty_text="drop_empty",
)
PLAIN = replace(CHAT, call_ids=MISTRAL, developer_role=False, reasoning="any")
POLICIES = {
    "chat": CHAT,
    "responses": RESPONSES,
    "messages": MESSAGES,
    "contents": CONTENTS,
    "plain": PLAIN,
}

OWN = Origin(provider="alpha", model="alpha-2-20260101", protocol="messages")
OTHER_MODEL = Origin(provider="alpha", model="alpha-3", protocol="messages")
FOREIGN = Origin(provider="beta", model="beta-1", protocol="chat")


def call(call_id: str, name: str = "look") -> ToolCallPart:
    return ToolCallPart(call_id, name, {"q": call_id})


def codes(repaired: Repaired) -> list[str]:
    return [diagnostic.code for diagnostic in repaired.diagnostics]


def said(repaired: Repaired) -> set[tuple[str, str, str]]:
    return {(entry.code, entry.path, entry.action) for entry in repaired.diagnostics}


def shape(messages: Sequence[Message]) -> list[Any]:
    """Return roles, and of each part the one thing that tells it apart."""
    return [(message.role, [_mark(part) for part in message.content]) for message in messages]


def _mark(part: ContentPart) -> str:
    match part:
        case ToolCallPart():
            return f"call {part.id}"
        case ToolResultPart():
            return f"result {part.tool_call_id}={part.content}"
        case ReasoningPart():
            return f"think {part.text}"
        case TextPart() | RefusalPart():
            return part.text
        case _:
            return type(part).__name__


# -- the independent checker: each target's own rule, said once more


def check_history(repaired: Repaired, policy: HistoryPolicy) -> None:
    """Fail unless the target of *policy* would accept the conversation."""
    messages = repaired.messages
    check_pairing(messages, separate=not policy.alternate)
    check_ids(messages, policy)
    assert len(repaired.paths) == len(messages)
    if policy.alternate:
        sides = ["user" if m.role == "tool" else m.role for m in messages]
        assert all(one != two for one, two in pairwise(sides))
    if policy.starts_with_user and messages:
        assert messages[0].role == "user"
    for message in messages:
        check_parts(message, policy)


def check_pairing(messages: Sequence[Message], *, separate: bool) -> None:
    """Each turn's results stand directly after it, complete, in call order, and nowhere else."""
    position = 0
    while position < len(messages):
        message = messages[position]
        assert message.role != "tool", "results without calls"
        position += 1
        wanted = [part.id for part in message.tool_calls]
        if not wanted:
            continue
        answers = messages[position : position + (len(wanted) if separate else 1)]
        assert all(answer.role == "tool" for answer in answers)
        parts = [part for answer in answers for part in answer.content]
        head, rest = parts[: len(wanted)], parts[len(wanted) :]
        assert [part.tool_call_id for part in head if isinstance(part, ToolResultPart)] == wanted
        assert not any(isinstance(part, ToolResultPart) for part in rest)
        assert not (separate and rest)
        position += len(answers)


def check_ids(messages: Sequence[Message], policy: HistoryPolicy) -> None:
    """Every id of a call is legal, and given once."""
    made = [(part.id, message.origin) for message in messages for part in message.tool_calls]
    assert len(made) == len({call_id for call_id, _ in made})
    rule = policy.call_ids
    for call_id, origin in made:
        assert rule.allows(call_id) or (origin is not None and policy.keeps_opaque(origin))


def check_parts(message: Message, policy: HistoryPolicy) -> None:
    """No part is of a kind that the target refuses."""
    assert message.content
    reasoning = [isinstance(part, ReasoningPart) for part in message.content]
    assert not any(reasoning) or policy.reasoning != "drop"
    assert policy.reasoning_may_end_turn or not reasoning[-1]
    assert policy.developer_role or message.role != "developer"
    assert policy.system_messages == "keep" or message.role not in ("system", "developer")
    for part in message.content:
        if isinstance(part, TextPart) and policy.empty_text == "drop_blank":
            assert part.text.strip()
        if isinstance(part, TextPart) and policy.empty_text == "drop_empty":
            assert part.text or policy.metadata_key in part.provider_metadata
        if isinstance(part, ReasoningPart) and policy.reasoning == "signed":
            own = part.provider_metadata.get(policy.metadata_key, {})
            assert part.signature is not None or part.encrypted is not None or "id" in own
        if isinstance(part, ToolResultPart) and policy.name_results:
            assert part.name


# -- nothing to do


@pytest.mark.parametrize("name", POLICIES)
def test_a_sound_history_comes_back_as_it_is(name: str) -> None:
    """Messages that need no repair are the caller's own objects, and nothing is reported."""
    policy = POLICIES[name]
    ids = "abcdefgh1", "abcdefgh2"
    both = (ToolResultPart(ids[0], "1", name="look"), ToolResultPart(ids[1], "2", name="look"))
    results = [Message("tool", both)] if policy.alternate else [Message("tool", (p,)) for p in both]
    history = [
        Message.user("hi"),
        Message.assistant("let me see", call(ids[0]), call(ids[1])),
        *results,
        Message.assistant("done"),
        Message.user("thanks", ImagePart(url="https://x.test/a.png")),
    ]

    repaired = repair(history, policy)

    assert repaired.diagnostics == ()
    assert all(new is old for new, old in zip(repaired.messages, history, strict=True))


def test_no_messages_stay_no_messages() -> None:
    """An empty conversation has nothing to repair."""
    assert repair([], MESSAGES) == Repaired(messages=(), paths=())


# -- calls and results


def test_results_go_after_their_calls_in_call_order() -> None:
    """Text of the user in between follows the results."""
    history = [
        Message.user("go"),
        Message.assistant(call("a"), call("b"), call("c")),
        Message.tool("c", "C"),
        Message.user("hurry"),
        Message.tool("a", "A"),
        Message.tool("b", "B"),
    ]

    repaired = repair(history, CHAT)

    assert shape(repaired.messages) == [
        ("user", ["go"]),
        ("assistant", ["call a", "call b", "call c"]),
        ("tool", ["result a=A"]),
        ("tool", ["result b=B"]),
        ("tool", ["result c=C"]),
        ("user", ["hurry"]),
    ]
    assert said(repaired) == {
        ("tool-result-moved", "messages[4].content[0]", "changed"),
        ("tool-result-moved", "messages[5].content[0]", "changed"),
    }
    assert repaired.messages[2] is history[4]
    assert repaired.paths == tuple(f"messages[{n}]" for n in (0, 1, 4, 5, 2, 3))


def test_one_message_holds_all_results_where_sides_take_turns() -> None:
    """Results come first, then the user's own words."""
    history = [
        Message.user("go"),
        Message.assistant(call("a"), call("b")),
        Message.tool("b", "B"),
        Message.tool("a", "A"),
        Message.user("and?"),
    ]

    repaired = repair(history, MESSAGES)

    assert shape(repaired.messages)[2:] == [("tool", ["result a=A", "result b=B", "and?"])]
    assert codes(repaired) == ["tool-result-moved"]


@pytest.mark.parametrize("policy", [CHAT, MESSAGES])
def test_a_missing_result_is_made_up_as_an_error(policy: HistoryPolicy) -> None:
    """The result states that there was none, at the end of the history too."""
    history = [Message.user("go"), Message.assistant(call("a", "look"), call("b", "find"))]

    repaired = repair([*history[:2], Message.tool("b", "B")], policy)
    made = repaired.messages[2].content[0]

    assert isinstance(made, ToolResultPart)
    assert (made.tool_call_id, made.name, made.is_error) == ("a", "look", True)
    assert str(made.content).startswith("No result")
    assert said(repaired) == {("tool-result-missing", "messages[1].content[0]", "added")}
    assert codes(repair(history, policy)) == ["tool-result-missing"] * 2


def test_a_stray_result_is_dropped() -> None:
    """A trimmed head leaves results whose calls are gone."""
    repaired = repair([Message.tool("gone", "x"), Message.user("hi")], CHAT)

    assert shape(repaired.messages) == [("user", ["hi"])]
    assert said(repaired) == {("tool-result-stray", "messages[0].content[0]", "dropped")}


@pytest.mark.parametrize("policy", [CHAT, RESPONSES, MESSAGES, CONTENTS])
def test_a_history_of_which_nothing_is_left_is_one_message(policy: HistoryPolicy) -> None:
    """No API takes a request without any."""
    history = [Message.tool("gone", "x")]

    repaired = repair(history, policy)

    assert shape(repaired.messages) == [("user", ["(empty message)"])]
    assert codes(repaired) == ["tool-result-stray", "first-message-added"]
    assert repair(history, replace(policy, continues_stored=True)).messages
    assert repair([], policy).messages == ()


@pytest.mark.parametrize("policy", [RESPONSES, replace(CONTENTS, starts_with_user=False)])
def test_a_result_for_a_stored_call_stays(policy: HistoryPolicy) -> None:
    """Where the provider holds the earlier turns, their calls need not be in sight."""
    history = [Message.tool("stored", "x", name="look"), Message.user("hi")]

    repaired = repair(history, replace(policy, continues_stored=True))

    assert [part for m in repaired.messages for part in m.content] == [
        part for m in history for part in m.content
    ]
    assert repaired.diagnostics == ()


def test_results_for_stored_calls_stand_one_to_a_message() -> None:
    """Like any other results of a target that wants them so."""
    history = [Message("tool", (ToolResultPart("s1", "x"), ToolResultPart("s2", "y")))]

    repaired = repair(history, replace(RESPONSES, continues_stored=True))

    assert shape(repaired.messages) == [("tool", ["result s1=x"]), ("tool", ["result s2=y"])]


def test_two_results_for_one_call_are_an_error() -> None:
    """Which of them is true, only the caller knows."""
    history = [
        Message.assistant(call("a")),
        Message.tool("a", "yes"),
        Message.user("wait"),
        Message.tool("a", "no"),
    ]

    with pytest.raises(InvalidRequestError, match=r"messages\[3\].content\[0\] is a second result"):
        repair(history, CHAT)


def test_a_result_that_is_sent_again_is_dropped() -> None:
    """Semantic Kernel continues a stored response with all results so far."""
    history = [
        Message.assistant(call("a")),
        Message.tool("a", "yes"),
        Message.assistant(call("b")),
        Message("tool", (ToolResultPart("a", "yes"), ToolResultPart("b", "no"))),
    ]

    repaired = repair(history, CHAT)

    assert shape(repaired.messages)[1:] == [
        ("tool", ["result a=yes"]),
        ("assistant", ["call b"]),
        ("tool", ["result b=no"]),
    ]
    assert [one.code for one in repaired.diagnostics] == ["tool-result-stray"]


def test_a_late_result_still_finds_its_call() -> None:
    """Better the tool's real response than a made-up error."""
    history = [
        Message.user("go"),
        Message.assistant(call("a")),
        Message.user("still there?"),
        Message.assistant("working"),
        Message.tool("a", "A"),
    ]

    assert shape(repair(history, MESSAGES).messages)[1:] == [
        ("assistant", ["call a"]),
        ("tool", ["result a=A", "still there?"]),
        ("assistant", ["working"]),
    ]


def test_calls_split_over_messages_are_one_turn() -> None:
    """Some frameworks write one message per parallel call."""
    history = [
        Message.user("go"),
        Message.assistant(call("a")),
        Message.assistant(call("b")),
        Message.tool("a", "A"),
        Message.tool("b", "B"),
    ]

    assert shape(repair(history, MESSAGES).messages)[1:] == [
        ("assistant", ["call a", "call b"]),
        ("tool", ["result a=A", "result b=B"]),
    ]
    assert codes(repair(history, MESSAGES)) == ["roles-merged"]
    assert shape(repair(history, CHAT).messages)[1:] == [
        ("assistant", ["call a"]),
        ("tool", ["result a=A"]),
        ("assistant", ["call b"]),
        ("tool", ["result b=B"]),
    ]
    assert codes(repair(history, CHAT)) == ["tool-result-moved"]


def test_one_id_over_messages_of_one_turn_is_answered_in_order() -> None:
    """The turn counts, not the message."""
    history = [
        Message.user("go"),
        Message.assistant(call("x")),
        Message.assistant(call("x")),
        Message.tool("x", "first"),
        Message.tool("x", "second"),
    ]

    assert shape(repair(history, MESSAGES).messages)[2] == (
        "tool",
        ["result x=first", "result x_2=second"],
    )


def test_results_for_stored_calls_come_before_the_users_words() -> None:
    """They answer the turn that the provider holds."""
    history = [Message.user("and?"), Message.tool("stored", "x")]

    repaired = repair(history, replace(MESSAGES, continues_stored=True, starts_with_user=False))

    assert shape(repaired.messages) == [("tool", ["result stored=x", "and?"])]


def test_what_else_a_tool_message_holds_becomes_the_users() -> None:
    """Some targets take nothing but a result in a tool message."""
    parts = (ToolResultPart("a", "A"), TextPart("look here"))
    history = [Message.user("go"), Message.assistant(call("a")), Message("tool", parts)]

    assert shape(repair(history, CHAT).messages)[2:] == [
        ("tool", ["result a=A"]),
        ("user", ["look here"]),
    ]
    assert codes(repair(history, CHAT)) == ["tool-message-split"]
    assert repair(history, MESSAGES).messages[2] is history[2]


def test_a_result_behind_the_users_words_in_a_tool_message_moves() -> None:
    """Text between two results is treated alike inside a tool message."""
    parts = (ToolResultPart("a", "A"), TextPart("look here"), ToolResultPart("b", "B"))
    history = [Message.user("go"), Message.assistant(call("a"), call("b")), Message("tool", parts)]

    repaired = repair(history, MESSAGES)

    assert shape(repaired.messages)[2] == ("tool", ["result a=A", "result b=B", "look here"])
    assert said(repaired) == {("tool-result-moved", "messages[2].content[2]", "changed")}


def test_provider_executed_calls_are_no_business_of_tool_messages() -> None:
    """They live in the assistant's message, with or without a result."""
    hosted = ToolCallPart("srv_1", "web_search", {}, provider_executed=True)
    answer = ToolResultPart("srv_1", "found", provider_executed=True)
    open_call = ToolCallPart("srv_2", "web_search", {}, provider_executed=True)
    history = [Message.user("go"), Message.assistant(hosted, answer, "so", open_call)]

    repaired = repair(history, MESSAGES)

    assert repaired.messages[1] is history[1]
    assert repaired.diagnostics == ()


def test_a_result_takes_kind_and_name_of_its_call() -> None:
    """The lowering needs both, and the constructor of a tool message knows neither."""
    freeform = ToolCallPart("a", "patch", "*** Begin", kind="custom")
    history = [Message.user("go"), Message.assistant(freeform), Message.tool("a", "ok")]

    result = repair(history, CONTENTS).messages[2].content[0]

    assert isinstance(result, ToolResultPart)
    assert (result.kind, result.name) == ("custom", "patch")


def test_a_result_under_a_wrong_name_is_renamed() -> None:
    """The call says which tool it was."""
    history = [
        Message.user("go"),
        Message.assistant(call("a", "look")),
        Message.tool("a", "ok", name="find"),
    ]

    repaired = repair(history, CHAT)

    assert repaired.messages[2].content[0].name == "look"  # type: ignore[union-attr]
    assert codes(repaired) == ["tool-result-renamed"]


# -- ids


def test_an_illegal_id_changes_in_the_call_and_its_result() -> None:
    """Pairs stay pairs."""
    history = [
        Message.user("go"),
        Message.assistant(call("call_1|fc_2")),
        Message.tool("call_1|fc_2", "A"),
    ]

    repaired = repair(history, MESSAGES)
    new_id = repaired.messages[1].tool_calls[0].id

    assert new_id == ANTHROPIC.fit("call_1|fc_2")
    assert shape(repaired.messages)[2] == ("tool", [f"result {new_id}=A"])
    assert said(repaired) == {("tool-call-id-changed", "messages[1].content[0]", "changed")}


LONG = "mcp__files__read" * 5


@pytest.mark.parametrize(
    ("call_id", "origin", "kept"),
    [
        (LONG, OWN, True),
        (LONG, None, False),
        (LONG, FOREIGN, False),
        ("functions.read:0", OWN, True),
        ("functions.read:0", FOREIGN, False),
        (synthetic_call_id("r", 0, 0), OWN, False),
    ],
)
@pytest.mark.parametrize("times", [1, 2])
def test_an_odd_id_stays_with_the_server_that_made_it(
    call_id: str, origin: Origin | None, kept: bool, times: int
) -> None:
    """It finds in it what it wrote there: a number, or a signature."""
    rule = CallIdRule(r"[a-zA-Z0-9_]+", 15)
    policy = HistoryPolicy(
        protocol="messages", provider="alpha", model="alpha-2", metadata_key="alpha", call_ids=rule
    )
    results = [Message.tool(call_id, "A")] * times  # a second one is removed
    calling = Message.assistant(call(call_id), origin=origin)

    repaired = repair([Message.user("go"), calling, *results], policy)

    new_id = repaired.messages[1].tool_calls[0].id
    assert (new_id == call_id) is kept
    assert shape(repaired.messages)[2] == ("tool", [f"result {new_id}=A"])


def test_ids_that_recur_are_distinguished() -> None:
    """Servers that count from 0 in every response would tie results to the wrong call."""
    turn = [Message.assistant(call("call_0")), Message.tool("call_0", "A")]

    repaired = repair([Message.user("go"), *turn, *turn, *turn], CHAT)

    ids = [part.id for message in repaired.messages for part in message.tool_calls]
    assert ids == ["call_0", "call_0_2", "call_0_3"]


def test_parallel_calls_of_one_id_are_answered_in_their_order() -> None:
    """Two calls and two results of one id can only mean one each."""
    history = [
        Message.user("go"),
        Message.assistant(call("x"), call("x")),
        Message.tool("x", "first"),
        Message.tool("x", "second"),
    ]

    assert shape(repair(history, CHAT).messages)[2:] == [
        ("tool", ["result x=first"]),
        ("tool", ["result x_2=second"]),
    ]


def test_no_call_gets_the_id_of_a_hosted_one() -> None:
    """The provider's own calls keep their ids, so others give way."""
    hosted = ToolCallPart("x", "web_search", {}, provider_executed=True)
    history = [Message.user("go"), Message.assistant(hosted, call("x")), Message.tool("x", "A")]

    repaired = repair(history, CHAT)

    assert shape(repaired.messages)[1:] == [
        ("assistant", ["call x", "call x_2"]),
        ("tool", ["result x_2=A"]),
    ]


def test_missing_ids_are_made_up() -> None:
    """Calls and results without an id are tied by their order."""
    history = [
        Message.user("go"),
        Message.assistant(call(""), call("")),
        Message.tool("", "first"),
        Message.tool("", "second"),
    ]

    assert shape(repair(history, CHAT).messages)[1:] == [
        ("assistant", ["call call_0_0", "call call_0_1"]),
        ("tool", ["result call_0_0=first"]),
        ("tool", ["result call_0_1=second"]),
    ]


# -- opaque data


def signed(text: str = "hm") -> ReasoningPart:
    return ReasoningPart(text, signature="s1", provider_metadata={"alpha": {"id": "rs_1"}})


@pytest.mark.parametrize("origin", [None, OWN, evolve(OWN, protocol=None)])
def test_opaque_data_goes_home_unchanged(origin: Origin | None) -> None:
    """The model gets its own output back as the very same object."""
    parts: list[ContentPart] = [
        signed(),
        ReasoningPart("", encrypted="blob"),
        ReasoningPart("", signature="s2"),
        TextPart("ok", provider_metadata={"alpha": {"id": "msg_1"}}),
        ProviderPart("alpha", {"type": "compaction"}),
    ]
    history = [Message.user("hi"), Message.assistant(parts, origin=origin)]

    repaired = repair(history, MESSAGES)

    assert repaired.messages[1] is history[1]
    assert repaired.diagnostics == ()


@pytest.mark.parametrize("origin", [OTHER_MODEL, FOREIGN, evolve(OWN, protocol="chat")])
def test_opaque_data_of_others_stays_behind(origin: Origin) -> None:
    """Signatures, encrypted data, item ids and metadata mean nothing to another model."""
    text = TextPart("ok", provider_metadata={"alpha": {"id": "m"}, "other": {"k": 1}})
    answer = Message.assistant(signed(), ReasoningPart("", encrypted="blob"), text, origin=origin)
    answer = evolve(answer, provider_metadata={"alpha": {"phase": "final"}})

    repaired = repair([Message.user("hi"), answer], MESSAGES)

    assert repaired.messages[1].content == (TextPart("ok", provider_metadata={"other": {"k": 1}}),)
    assert repaired.messages[1].provider_metadata == {}
    assert said(repaired) == {
        ("opaque-data-dropped", "messages[1]", "dropped"),
        ("reasoning-dropped", "messages[1].content[0]", "dropped"),
        ("reasoning-dropped", "messages[1].content[1]", "dropped"),
        ("opaque-data-dropped", "messages[1].content[2]", "dropped"),
    }


@pytest.mark.parametrize(
    ("origin", "policy", "reported"),
    [
        (FOREIGN, CONTENTS, True),
        (None, CONTENTS, True),
        (Origin(provider="alpha", model="alpha-2", protocol="contents"), CONTENTS, False),
        (Origin(provider="alpha", model="alpha-9", protocol="contents"), CONTENTS, False),
        (FOREIGN, replace(CONTENTS, citations=True), False),
    ],
    ids=["foreign", "made by hand", "own", "own, another model", "taken back"],
)
def test_citations_that_an_api_does_not_take_are_reported_unless_it_made_them(
    origin: Origin | None, policy: HistoryPolicy, reported: bool
) -> None:
    cited = TextPart("It rains.", citations=(Citation(url="https://a.example"),))
    answer = Message.assistant(cited, "So.", origin=origin)

    repaired = repair([Message.user("hi"), answer], policy)

    left_out = ("unsupported-content", "messages[1].content[0].citations", "dropped")
    assert (left_out in said(repaired)) is reported
    assert repaired.messages[1].text == "It rains.So."


def test_foreign_thoughts_stay_readable_where_the_target_takes_them() -> None:
    """The text is kept as reasoning, its signature is not."""
    history = [Message.user("hi"), Message.assistant(signed("why"), "ok", origin=FOREIGN)]

    repaired = repair(history, CONTENTS)

    assert repaired.messages[1].content[0] == ReasoningPart("why")
    assert codes(repaired) == ["opaque-data-dropped"]


def test_an_empty_signature_is_none() -> None:
    """Servers that imitate the API send one; the models of the API itself refuse it."""
    thought = ReasoningPart("why", signature="")
    history = [Message.user("hi"), Message.assistant(thought, "ok", origin=OWN)]

    repaired = repair(history, MESSAGES)

    assert shape(repaired.messages)[1] == ("assistant", ["ok"])
    assert codes(repaired) == ["reasoning-dropped"]


def test_foreign_thoughts_without_words_are_dropped() -> None:
    """Encrypted data of another provider leaves nothing to read."""
    blob = ReasoningPart("", encrypted="blob")
    history = [Message.user("hi"), Message.assistant(blob, "ok", origin=FOREIGN)]

    repaired = repair(history, CONTENTS)

    assert shape(repaired.messages)[1] == ("assistant", ["ok"])
    assert codes(repaired) == ["reasoning-dropped"]


def test_native_parts_of_another_provider_are_dropped() -> None:
    """Nobody else can read them; what a provider ran itself goes with them."""
    parts: list[ContentPart] = [
        ProviderPart("beta", {"x": 1}),
        ToolCallPart("srv", "web_search", {}, provider_executed=True),
        ToolResultPart("srv", "found", provider_executed=True),
        TextPart("ok"),
    ]
    history = [Message.user("hi"), Message.assistant(parts, origin=FOREIGN)]

    repaired = repair(history, MESSAGES)

    assert shape(repaired.messages)[1] == ("assistant", ["ok"])
    assert codes(repaired) == [
        "provider-part-dropped",
        "hosted-tool-dropped",
        "hosted-tool-dropped",
    ]


def test_no_item_id_outlives_its_reasoning() -> None:
    """Stored items come as a group: a message's id without its reasoning item is refused."""
    parts: list[ContentPart] = [
        ReasoningPart("", provider_metadata={"alpha": {"id": "rs_1"}}),
        ReasoningPart("bare"),
        TextPart("ok", provider_metadata={"alpha": {"id": "msg_1", "phase": "final"}}),
    ]
    history = [Message.user("hi"), Message.assistant(parts)]

    repaired = repair(history, RESPONSES)

    assert repaired.messages[1].content == (
        TextPart("ok", provider_metadata={"alpha": {"phase": "final"}}),
    )
    assert codes(repaired) == ["reasoning-dropped", "item-ids-dropped", "reasoning-dropped"]


def test_reasoning_that_lives_in_metadata_goes_home_too() -> None:
    """Some servers send structured details instead of text, and want them back."""
    details = ReasoningPart("", provider_metadata={"alpha": {"details": [{"data": "x"}]}})
    history = [Message.user("hi"), Message.assistant(details, "ok")]

    assert repair(history, CONTENTS).messages[1] is history[1]
    assert codes(repair(history, MESSAGES)) == ["reasoning-dropped"]


def test_item_ids_are_left_out_where_nothing_is_stored() -> None:
    """Encrypted content alone carries the reasoning then."""
    parts: list[ContentPart] = [
        ReasoningPart("", encrypted="blob", provider_metadata={"alpha": {"id": "rs_1"}}),
        ReasoningPart("", provider_metadata={"alpha": {"id": "rs_2"}}),
        TextPart("ok", provider_metadata={"alpha": {"id": "msg_1"}}),
    ]
    history = [Message.user("hi"), Message.assistant(parts)]

    repaired = repair(history, replace(RESPONSES, item_ids=False))

    assert [part.provider_metadata for part in repaired.messages[1].content] == [{"alpha": {}}] * 2
    assert codes(repaired) == ["reasoning-dropped"]


@pytest.mark.parametrize("policy", [RESPONSES, MESSAGES])
def test_a_response_does_not_end_with_reasoning(policy: HistoryPolicy) -> None:
    """Both providers that sign thoughts refuse a turn that is nothing else."""
    history = [
        Message.user("hi"),
        Message.assistant("so", signed()),
        Message.user("go on"),
        Message.assistant(signed()),
        Message.user("and?"),
    ]

    repaired = repair(history, policy)

    assert [m.role for m in repaired.messages][:2] == ["user", "assistant"]
    assert sum(m.role == "assistant" for m in repaired.messages) == 1
    assert ("reasoning-dropped", "messages[3].content[0]", "dropped") in said(repaired)


def test_interleaved_thinking_keeps_its_order() -> None:
    """Order is meaning: no part moves within a response."""
    parts: list[ContentPart] = [
        signed("1"),
        call("a"),
        signed("2"),
        TextPart("t"),
        signed("3"),
        call("b"),
    ]
    history = [
        Message.user("go"),
        Message.assistant(parts, origin=OWN),
        Message("tool", (ToolResultPart("a", "A"), ToolResultPart("b", "B"))),
    ]

    assert repair(history, MESSAGES).messages[1] is history[1]


@pytest.mark.parametrize(
    ("model_id", "family"),
    [
        ("gpt-5.2-2025-12-11", "gpt-5.2"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4-1106-preview", "gpt-4"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("claude-opus-4-1", "claude-opus-4-1"),
        ("models/gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash"),
        ("gemini-1.5-pro-002", "gemini-1.5-pro"),
        ("deepseek/deepseek-r1:free", "deepseek-r1"),
        ("mistral-large-2411", "mistral-large"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
        ("o3", "o3"),
    ],
)
def test_a_family_is_a_model_without_its_snapshots(model_id: str, family: str) -> None:
    """Dates, revisions, regions and vendors do not make another model."""
    assert model_family(model_id) == family
    assert model_family(family) == family


@pytest.mark.parametrize(
    ("made_by", "kept"),
    [("alpha-2", True), ("alpha-2-preview", True), ("alpha-3", False), ("alpha-latest", True)],
)
def test_an_alias_gets_the_benefit_of_the_doubt(made_by: str, kept: bool) -> None:
    """A name without a number does not identify the model behind it."""
    assert MESSAGES.keeps_opaque(evolve(OWN, model=made_by)) is kept


# -- empty text


def test_empty_text_goes_and_its_cache_mark_stays() -> None:
    """APIs return empty blocks that they do not take back."""
    marked = cached(TextPart(" \n"), ttl="1h")
    history = [
        Message.user("a", marked),
        Message.assistant(TextPart(""), signed(), call("c")),
        Message("tool", (ToolResultPart("c", (TextPart(""), ImagePart(url="https://x.test/i"))),)),
    ]

    repaired = repair(history, MESSAGES)

    assert [len(m.content) for m in repaired.messages] == [1, 2, 1]
    assert cache_ttl(repaired.messages[0].content[0]) == "1h"
    result = repaired.messages[2].content[0]
    assert isinstance(result, ToolResultPart)
    assert result.content == (ImagePart(url="https://x.test/i"),)
    assert codes(repaired) == ["empty-text"] * 3


def test_a_cache_mark_does_not_move_onto_reasoning() -> None:
    """Providers accept none there; the loss is reported."""
    history = [Message.user("hi"), Message.assistant(signed(), cached(TextPart("")), call("a"))]

    repaired = repair(history, MESSAGES)

    assert repaired.messages[1].content[0] == signed()
    assert "cache mark went with it" in str(repaired.diagnostics[0])


def test_an_empty_part_that_carries_data_stays() -> None:
    """A signature may come on a part without text, and must go back on it."""
    part = TextPart("", provider_metadata={"alpha": {"thoughtSignature": "s"}})
    history = [Message.user("hi"), Message.assistant("a", part), Message.user("so?")]

    assert repair(history, CONTENTS).messages[1] is history[1]
    assert len(repair(history, MESSAGES).messages[1].content) == 1


@pytest.mark.parametrize("policy", POLICIES.values())
@pytest.mark.parametrize("content", [[], [""]])
def test_empty_messages_are_dropped_or_replaced(policy: HistoryPolicy, content: list[str]) -> None:
    """A user's empty turn gets a placeholder, a response's goes."""
    history = [
        Message.user("hi"),
        Message.assistant(content),
        Message.assistant("yes"),
        Message.user(content),
    ]

    repaired = repair(history, replace(policy, empty_text="drop_blank"))

    assert shape(repaired.messages) == [
        ("user", ["hi"]),
        ("assistant", ["yes"]),
        ("user", ["(empty message)"]),
    ]
    assert ("empty-message", "messages[3]", "changed") in said(repaired)


# -- roles


INSTRUCTED = [
    Message.system("one"),
    Message.developer("two"),
    Message.user("hi"),
    Message.assistant("yes"),
    Message.developer("three"),
    Message.user("go"),
]


def test_instructions_stay_where_the_target_takes_them() -> None:
    """Nothing moves, and only an unknown role gets another name."""
    assert repair(INSTRUCTED, CHAT).messages == tuple(INSTRUCTED)

    renamed = repair(INSTRUCTED, PLAIN)

    assert [m.role for m in renamed.messages] == [
        "system", "system", "user", "assistant", "system", "user",
    ]  # fmt: skip
    assert codes(renamed) == ["developer-as-system"] * 2


def test_instructions_are_lifted_out_of_the_conversation() -> None:
    """All text becomes the caller's to send as system text, in order."""
    repaired = repair(INSTRUCTED, CONTENTS)

    assert [part.text for part in repaired.system] == ["one", "two", "three"]
    assert shape(repaired.messages) == [("user", ["hi"]), ("assistant", ["yes"]), ("user", ["go"])]
    assert said(repaired) == {("system-message-moved", "messages[4]", "changed")}


def test_the_name_of_instructions_that_are_lifted_is_reported() -> None:
    """System text has none."""
    repaired = repair([evolve(Message.system("be"), name="ann"), Message.user("hi")], CONTENTS)

    assert said(repaired) == {("unsupported-parameter", "messages[0].name", "dropped")}


def test_late_instructions_become_tagged_user_text() -> None:
    """Lifting them would change the cached prefix of a running conversation."""
    repaired = repair(INSTRUCTED, MESSAGES)

    assert [part.text for part in repaired.system] == ["one", "two"]
    assert shape(repaired.messages)[2:] == [
        ("user", ["<developer>\nthree\n</developer>", "go"]),
    ]
    assert ("system-message-demoted", "messages[4]", "changed") in said(repaired)


def test_an_empty_word_before_instructions_does_not_make_them_late() -> None:
    """Nothing has been said yet."""
    repaired = repair([Message.user(""), Message.system("be"), Message.user("hi")], MESSAGES)

    assert [part.text for part in repaired.system] == ["be"]
    assert shape(repaired.messages) == [("user", ["hi"])]


def test_pictures_in_instructions_become_the_users() -> None:
    """System text is text; nothing else is lost for it."""
    picture = ImagePart(url="https://x.test/a.png")
    repaired = repair([Message.system("be", picture), Message.user("hi")], MESSAGES)

    assert [part.text for part in repaired.system] == ["be"]
    assert repaired.messages[0].content == (picture, TextPart("hi"))
    assert "system-message-demoted" in codes(repaired)


def test_neighbours_on_one_side_become_one_message() -> None:
    """The merge is noted; it is the same words in the same order."""
    history = [Message.user("a"), Message.user("b"), Message.assistant("c"), Message.assistant("d")]

    repaired = repair(history, MESSAGES)

    assert shape(repaired.messages) == [("user", ["a", "b"]), ("assistant", ["c", "d"])]
    assert said(repaired) == {
        ("roles-merged", "messages[1]", "noted"),
        ("roles-merged", "messages[3]", "noted"),
    }


def test_a_merged_response_keeps_the_origin_of_what_is_left_in_it() -> None:
    """Its signatures must still be known as the target's own the next time."""
    history = [
        Message.user("a"),
        Message.assistant("b", origin=FOREIGN),
        Message.assistant(signed(), "c", origin=OWN),
    ]

    merged = repair(history, MESSAGES).messages[1]

    assert merged.origin == OWN
    assert [type(part) for part in merged.content] == [TextPart, ReasoningPart, TextPart]


def test_a_merged_response_keeps_the_origin_whose_ids_are_in_it() -> None:
    """An id that only its API takes stays, also when the message is repaired again."""
    history = [
        Message.user("a"),
        Message.assistant("b"),
        Message.assistant(ToolCallPart("x|y", "look", {}), origin=OWN),
        Message.tool("x|y", "found"),
    ]

    once = repair(history, MESSAGES)
    again = repair(once.messages, MESSAGES)

    assert once.messages[1].origin == OWN
    assert [call.id for call in once.messages[1].tool_calls] == ["x|y"]
    assert again.messages == once.messages


def test_a_merged_response_keeps_the_origin_of_its_hosted_parts() -> None:
    """Another model of the same API made them, and the API still reads them."""
    hosted = ToolCallPart("srv", "web_search", {}, provider_executed=True)
    history = [
        Message.user("a"),
        Message.assistant("b", origin=FOREIGN),
        Message.assistant(hosted, "c", origin=OTHER_MODEL),
    ]

    assert repair(history, MESSAGES).messages[1].origin == OTHER_MODEL


def test_speakers_that_merge_lose_their_names_out_loud() -> None:
    """One message has one name."""
    history = [Message.user("a", name="Ann"), Message.user("b", name="Bob")]

    assert "speaker-names-dropped" in codes(repair(history, MESSAGES))
    assert repair(history[:1], MESSAGES).messages[0].name == "Ann"


def test_a_history_that_begins_with_a_response_gets_a_first_word() -> None:
    """Trimming leaves such histories, and some targets refuse them."""
    repaired = repair([Message.assistant("hi"), Message.user("so?")], MESSAGES)

    assert shape(repaired.messages)[0] == ("user", ["(earlier messages are left out)"])
    assert codes(repaired) == ["first-message-added"]


# -- laws, over random histories

PATH = re.compile(r"messages\[(\d+)\](?:\.content\[(\d+)\](?:\.content)?)?")

ODD_IDS = ("a", "b", "", "x|y", "ключ", "z" * 2000, "toolu_1", "a_2")


texts = st.sampled_from(["hello", "", " ", "why?"])
origins = st.sampled_from([None, OWN, OTHER_MODEL, FOREIGN])


@st.composite
def answers(draw: st.DrawFn, ids: st.SearchStrategy[str]) -> Message:
    extra = st.one_of(
        texts.map(TextPart),
        st.builds(ReasoningPart, texts, signature=st.sampled_from([None, "sig"])),
        st.builds(
            ReasoningPart,
            texts,
            encrypted=st.just("e"),
            provider_metadata=st.just({"alpha": {"id": "rs"}}),
        ),
        st.just(ProviderPart("alpha", {"n": 1})),
        st.just(ToolCallPart("srv_1", "search", {}, provider_executed=True)),
        texts.map(lambda text: TextPart(text, provider_metadata={"alpha": {"id": "m"}})),
    )
    parts = draw(st.lists(st.one_of(extra, ids.map(call)), max_size=5))
    return Message.assistant(parts, origin=draw(origins))


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """Return a response, results for some of its calls in any order, and talk in between."""
    answer = draw(answers(st.sampled_from(ODD_IDS)))
    asked = [part.id for part in answer.tool_calls]
    answered = draw(st.permutations(asked))[: draw(st.integers(0, len(asked)))]
    talk = st.one_of(
        texts.map(Message.user),
        texts.map(Message.developer),
        st.just(Message.tool("never-asked", "?")),
    )
    after: list[Message] = []
    for call_id in answered:
        after.append(Message.tool(call_id, f"result of {call_id[:9]}"))
        after.extend(draw(st.lists(talk, max_size=1)))
    return [answer, *after]


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    head = draw(st.lists(texts.map(Message.user), max_size=2))
    body = [m for turn in draw(st.lists(turns(), max_size=5)) for m in turn]
    tail = draw(st.lists(texts.map(Message.user), max_size=1))
    whole = [*head, *body, *tail]
    return whole[draw(st.integers(0, min(3, len(whole)))) :]


def attempt(history: Sequence[Message], policy: HistoryPolicy) -> Repaired:
    """Repair, or skip the example where two results meet one call."""
    try:
        return repair(history, policy)
    except InvalidRequestError:
        assume(False)
        raise


@given(history=histories())
def test_any_history_becomes_acceptable(history: list[Message]) -> None:
    """The result satisfies each target's rules, and a second repair finds nothing to do."""
    before = [evolve(message) for message in history]
    for name, policy in POLICIES.items():
        repaired = attempt(history, policy)

        check_history(repaired, policy)
        assert history == before, name
        again = repair(repaired.messages, policy)
        assert again.messages == repaired.messages, name
        assert again.diagnostics == (), name
        pairs = zip(again.messages, repaired.messages, strict=True)
        assert all(new is old for new, old in pairs), name
        assert repair(history, policy) == repaired, name


@given(start=histories(), more=st.lists(turns(), min_size=1, max_size=3))
def test_a_longer_history_keeps_its_repaired_prefix(
    start: list[Message], more: list[list[Message]]
) -> None:
    """Messages are sent again byte for byte: caches and signatures depend on it."""
    start = [*start, Message.user("now")]
    longer = [*start, *(message for turn in more for message in turn)]
    for name, one in POLICIES.items():
        policy = replace(one, system_messages="demote")
        early, late = attempt(start, policy), attempt(longer, policy)
        missing = {entry.path for entry in early.diagnostics if entry.code == "tool-result-missing"}
        assume(missing <= {entry.path for entry in late.diagnostics})

        assert late.messages[: len(early.messages)] == early.messages, name
        assert late.system == early.system, name


@given(history=histories())
def test_messages_that_are_in_order_are_sent_as_by_the_way_of_all_others(
    history: list[Message],
) -> None:
    """The usual conversation is not taken apart, which makes no difference but that of time."""
    for name, policy in POLICIES.items():
        repaired = attempt(history, policy)
        with patch("llmcore.protocols.history.repair.is_in_order", return_value=False):
            assert repair(history, policy) == repaired, name
            again = repair(repaired.messages, policy)
        assert repair(repaired.messages, policy) == again, name


@given(history=histories())
def test_every_path_points_into_the_callers_messages(history: list[Message]) -> None:
    """A Diagnostic names a message, or a part, that the caller can look up."""
    for policy in POLICIES.values():
        for entry in attempt(history, policy).diagnostics:
            found = re.fullmatch(
                r"messages\[(\d+)\](?:\.content\[(\d+)\](?:\.content)?)?", entry.path
            )
            assert found, entry.path
            message = history[int(found[1])]
            assert found[2] is None or int(found[2]) < len(message.content)


@given(ids=st.lists(st.text(min_size=1, max_size=2000), min_size=1, max_size=8, unique=True))
def test_every_result_still_points_to_its_call(ids: list[str]) -> None:
    """Whatever the ids were, the n-th call's result is the n-th call's result."""
    history = [
        Message.user("go"),
        Message.assistant([call(call_id) for call_id in ids]),
        *(Message.tool(call_id, str(number)) for number, call_id in enumerate(ids)),
    ]
    for policy in (CHAT, PLAIN, MESSAGES):
        repaired = repair(history, policy)
        made = [part for m in repaired.messages[2:] for part in m.content]

        assert [part.content for part in made] == [str(n) for n in range(len(ids))]  # type: ignore[union-attr]
        check_ids(repaired.messages, policy)


@pytest.mark.parametrize("policy", [CHAT, MESSAGES])
def test_long_histories_take_linear_time(policy: HistoryPolicy) -> None:
    """Ten times the messages take about ten times as long, recurring ids included."""

    def seconds(turns: int) -> float:
        history = [Message.user("go")]
        for number in range(turns):
            history += [Message.assistant(call("x"), call("y|")), Message.user(str(number))]
            history += [Message.tool("y|", "Y"), Message.tool("x", "X")]
        best = []
        for _ in range(3):
            start = time.process_time()
            repair(history, policy)
            best.append(time.process_time() - start)
        return min(best)

    assert seconds(500) < 30 * seconds(50)
