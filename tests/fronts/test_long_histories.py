"""Conversations of several turns and upstreams, through each front: what an upstream is sent.

Each vendor's rules hold also of histories that a client has edited, and signatures and encrypted
reasoning go back unchanged, to the provider that made them alone. Rules, read November 2026:
https://developers.openai.com/api/docs/guides/function-calling,
https://developers.openai.com/api/docs/guides/reasoning,
https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use,
https://ai.google.dev/gemini-api/docs/thought-signatures.
"""

import copy
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore import Client
from llmcore.fronts.front import FRONT_IDS, ClientRequest, ResponseIdentity, Upstream, front_by_id
from llmcore.fronts.policy import TranslationPolicy
from llmcore.fronts.sealer import Sealer
from llmcore.protocols.protocol import Protocol
from llmcore.routes.decoding import decode_response
from llmcore.schema.result import Failure
from llmcore.testing.recorded import framing_of
from tests.bridge.fronts.test_loops import SEALS, SKIPPED, opened, state_of
from tests.support.wire.matrix import COLUMNS, PIXEL_64, Column, Native, Said

CLIENT = Client(environ={})
SEALER = Sealer(b"a key of the tests")
MODELS = {column.id: column.model_at("http://upstream.example") for column in COLUMNS}
PATH = "/v1beta/models/m:generateContent"
LISTS = {"openai-responses": "input", "gemini": "contents"}
"""Where the history is; in the other fronts it is in `messages`."""


def _protocol_of(column: Column) -> Protocol[Any, Any, Any]:
    route: Any = MODELS[column.id].route
    protocol: Protocol[Any, Any, Any] = route.protocol
    return protocol


# -- responses of upstreams, each with signatures of its own


def answer_of(column: Column, number: int, random: Random) -> Any:
    """Return a response: thinking, text and calls, each of which may be missing."""
    cities = tuple(random.choice(("Bergen", "Oslo")) for _ in range(random.choice((0, 0, 1, 2, 3))))
    text = random.choice(("", "Let me see.", "It rains. "))
    said = Said(
        thinking=random.choice(("", "The coast.")),
        text=text or ("" if cities else "Well."),
        cities=cities,
        first_call=number * 10,
    )
    return _marked(column.whole(said), number)


def _marked(document: Any, number: int) -> Any:
    marks = {
        "signature": f"sig{number}",
        "encrypted_content": f"enc{number}==",
        "thoughtSignature": b64encode(b"sig%d" % number).decode(),
    }
    if isinstance(document, list):
        return [_marked(one, number) for one in document]
    if not isinstance(document, dict):
        return document
    made = {name: marks.get(name) or _marked(value, number) for name, value in document.items()}
    if str(made.get("id")).startswith(("rs_", "msg_")):
        made["id"] += f"x{number}"
    return made


# -- clients


def asks(front: str, text: str, *, image: bool) -> Native:
    """Return a message of the user."""
    url = f"data:image/png;base64,{PIXEL_64}"
    match front:
        case "openai-responses":
            parts: list[Native] = [{"type": "input_text", "text": text}]
            picture: Native = {"type": "input_image", "image_url": url}
        case "openai-chat":
            parts = [{"type": "text", "text": text}]
            picture = {"type": "image_url", "image_url": {"url": url}}
        case "anthropic-messages":
            parts = [{"type": "text", "text": text}]
            source = {"type": "base64", "media_type": "image/png", "data": PIXEL_64}
            picture = {"type": "image", "source": source}
        case _:
            data = {"inlineData": {"mimeType": "image/png", "data": PIXEL_64}}
            return {"role": "user", "parts": [{"text": text}, *([data] if image else [])]}
    return {"role": "user", "content": [*parts, *([picture] if image else [])]}


def instructs(front: str) -> Native:
    """Return instructions in the middle of a conversation."""
    if front == "gemini":
        return {"role": "system", "parts": [{"text": "Be brief."}]}
    role = "developer" if front == "openai-responses" else "system"
    return {"role": role, "content": "Be brief."}


def turn_of(front: str, answer: Any) -> tuple[list[Native], list[Native]]:
    """Return a response as the client sends it back, and the results of its calls."""
    match front:
        case "openai-responses":
            items = answer["output"]
            calls = [item["call_id"] for item in items if item["type"] == "function_call"]
            return items, [
                {"type": "function_call_output", "call_id": id_, "output": f"rain {id_}"}
                for id_ in calls
            ]
        case "openai-chat":
            message = answer["choices"][0]["message"]
            calls = [call["id"] for call in message.get("tool_calls") or ()]
            return [message], [
                {"role": "tool", "tool_call_id": id_, "content": f"rain {id_}"} for id_ in calls
            ]
        case "anthropic-messages":
            blocks = answer["content"]
            results = [
                {"type": "tool_result", "tool_use_id": block["id"], "content": "rain"}
                for block in blocks
                if block["type"] == "tool_use"
            ]
            told = [{"role": "user", "content": results}] if results else []
            return [{"role": "assistant", "content": blocks}], told
        case _:
            content = answer["candidates"][0]["content"]
            made = [part["functionCall"] for part in content["parts"] if "functionCall" in part]
            parts = [
                {"functionResponse": {**_named(call), "response": {"output": "rain"}}}
                for call in made
            ]
            return [content], [{"role": "user", "parts": parts}] if parts else []


def _named(call: Native) -> Native:
    return {name: call[name] for name in ("id", "name") if name in call}


def edited(front: str, history: Sequence[Native], random: Random) -> list[Native]:
    """Return *history* with a turn or a part removed, repeated, moved or changed."""
    items = copy.deepcopy(list(history))
    at = random.randrange(len(items))
    match random.choice(("remove", "repeat", "move", "cut", "instruct", "part", "text")):
        case "remove":
            del items[at]
        case "repeat":
            items.insert(at, copy.deepcopy(items[at]))
        case "move":
            items.insert(random.randrange(len(items)), items.pop(at))
        case "cut":
            items = items[at:]
        case "instruct":
            items.insert(at + 1, instructs(front))
        case "part":
            parts = _parts(items[at])
            if parts:
                del parts[random.randrange(len(parts))]
                items = items if parts else [*items[:at], *items[at + 1 :]]
        case _:
            for part in _parts(items[at]):
                if part.get("text"):
                    part["text"] = "Changed."
    return items


def _parts(item: Native) -> list[Any]:
    """Return the parts of an item, or its calls."""
    for name in ("tool_calls", "content", "parts"):
        if isinstance(item.get(name), list):
            found: list[Any] = item[name]
            return found
    return []


# -- vendors' rules


def broken_rules(protocol_id: str, body: Native) -> Iterator[str]:
    """Yield the rules of a vendor that the history in *body* breaks."""
    match protocol_id:
        case "openai-responses":
            yield from _of_items(body["input"])
        case "openai-chat":
            yield from _of_chat(body["messages"])
        case "gemini":
            yield from _of_turns(body["contents"], "parts", ("functionCall", "functionResponse"))
        case "bedrock-converse":
            yield from _of_turns(body["messages"], "content", ("toolUse", "toolResult"))
        case _:
            yield from _of_turns(body["messages"], "content", ("tool_use", "tool_result"))


def _of_items(items: Sequence[Native]) -> Iterator[str]:
    ids = [item["id"] for item in items if "id" in item]
    if len(set(ids)) != len(ids):
        yield f"an id comes twice: {ids}"
    calls: list[str] = []
    answered: list[str] = []
    for item, following in zip(items, [*items[1:], {}], strict=True):
        type_ = str(item["type"])
        if type_ == "function_call":
            calls.append(item["call_id"])
        if type_ == "function_call_output":
            answered.append(item["call_id"])
            if item["call_id"] not in calls:
                yield f"the output {item['call_id']} has no call before it"
        is_item = following.get("type") in ("reasoning", "function_call")
        if type_ == "reasoning" and not (is_item or following.get("role") == "assistant"):
            yield "reasoning stands without its item"
    if sorted(calls) != sorted(answered) or len(set(calls)) != len(calls):
        yield f"the calls {calls} have the outputs {answered}"


def _of_chat(messages: Sequence[Native]) -> Iterator[str]:
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"the result {message['tool_call_id']} has no call"
            waiting = [id_ for id_ in waiting if id_ != message["tool_call_id"]]
            continue
        if waiting:
            yield f"the calls {waiting} have no result"
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
        if message.get("content") is None and not waiting:
            yield "a message has neither content nor calls"
    if waiting:
        yield f"the calls {waiting} have no result"


def _of_turns(turns: Sequence[Native], field: str, names: tuple[str, str]) -> Iterator[str]:
    """Yield the rules that turns break: they alternate, and results answer the turn before."""
    waiting = 0
    before = ""
    for number, turn in enumerate(turns):
        parts: list[Native] = turn[field]
        kinds = [_kind(part, names) for part in parts]
        if turn["role"] == before or not parts:
            yield f"turn {number} is empty, or of the same role as the one before"
        if kinds.count(names[1]) != waiting:
            yield f"turn {number} has {kinds.count(names[1])} results for {waiting} calls"
        if any(not str(part.get("text", "x")).strip() for part in parts if _is_bare(part)):
            yield f"turn {number} has a blank text"
        waiting, before = kinds.count(names[0]), turn["role"]
    if waiting or not turns:
        yield f"{waiting} calls have no result"


def _kind(part: Native, names: tuple[str, str]) -> str | None:
    return next((name for name in names if name in part or part.get("type") == name), None)


def _is_bare(part: Native) -> bool:
    return part.keys() <= {"text", "type"}


# -- a conversation


class Conversation:
    """A conversation of one client, whose upstream changes."""

    def __init__(self, front: str, random: Random) -> None:
        self.front = front
        self.field = LISTS.get(front, "messages")
        self.request = opened(front)
        self.history: list[Native] = [asks(front, "Weather?", image=random.random() < 0.3)]
        self.owners: dict[str, str] = {}
        """The upstream that made each signature."""
        self.is_edited = False
        self._random = random
        self._ids = count(1)

    def step(self, column: Column, number: int) -> None:
        """Ask *column*'s model, check what it gets, and add its response to the history."""
        model = MODELS[column.id]
        upstream = Upstream(
            model=model,
            provider=model.provider,
            protocol_id=_protocol_of(column).id,
            policy=TranslationPolicy(),
            sealer=SEALER,
            new_id=lambda prefix: f"{prefix}_{next(self._ids):06d}",
        )
        front = front_by_id(self.front)
        body = {"model": "m", **self.request, self.field: self.history}
        read = front.read(ClientRequest(body=body, path=PATH), upstream)
        if isinstance(read, Failure):  # of a second result that is another one
            assert self.is_edited, read.error
            assert 400 <= read.error.status < 500
            return
        asked = read.unwrap()
        prepared = CLIENT.prepare(asked.request).unwrap()
        self._check(column, json.loads(json.dumps(prepared.body, default=dict)))
        document = answer_of(column, number, self._random)
        self.owners |= dict.fromkeys(state_of(document), column.id)
        protocol = _protocol_of(column)
        events = decode_response(
            protocol,
            framing_of(protocol, {"content-type": "application/json"}),
            asked.request,
            status=200,
            headers={"content-type": "application/json"},
            chunks=[json.dumps(document).encode()],
            streaming=False,
        )
        info = ResponseIdentity(id=upstream.new_id(front.id_prefix), created_at=1, model="m")
        writer = front.writer(info, asked, upstream)
        writer.start()
        for event in events:
            writer.feed(event)
        turn, results = turn_of(self.front, json.loads(json.dumps(writer.whole())))
        self.history = [*self.history, *turn, *results]
        if not results or self._random.random() < 0.2:
            self.history.append(asks(self.front, "Go on.", image=self._random.random() < 0.2))

    def _check(self, column: Column, body: Native) -> None:
        protocol_id = _protocol_of(column).id
        assert list(broken_rules(protocol_id, body)) == []
        sent = [state for state in state_of(body) if state not in SKIPPED]
        own = [state for state, owner in self.owners.items() if owner == column.id]
        assert set(sent) <= set(own)
        assert not any(seal in json.dumps(body) for seal in SEALS)
        if not self.is_edited:
            assert sent == own

    def edit(self) -> None:
        """Change the history, as clients do."""
        self.history = edited(self.front, self.history, self._random) or self.history[-1:]
        self.is_edited = True


@pytest.mark.parametrize("front", FRONT_IDS)
@given(seed=st.integers(0, 2**32))
def test_each_upstream_gets_its_own_state_in_a_history_that_its_vendor_allows(
    front: str, seed: int
) -> None:
    random = Random(seed)
    conversation = Conversation(front, random)
    column = random.choice(COLUMNS)
    for number in range(1, random.randint(4, 9)):
        column = random.choice(COLUMNS) if random.random() < 0.3 else column
        conversation.step(column, number)


@pytest.mark.parametrize("front", FRONT_IDS)
@given(seed=st.integers(0, 2**32))
def test_each_upstream_gets_what_its_vendor_allows_of_a_history_that_was_edited(
    front: str, seed: int
) -> None:
    random = Random(seed)
    conversation = Conversation(front, random)
    column = random.choice(COLUMNS)
    for number in range(1, random.randint(4, 9)):
        column = random.choice(COLUMNS) if random.random() < 0.3 else column
        conversation.step(column, number)
        if random.random() < 0.6:
            conversation.edit()


BROKEN: Mapping[str, tuple[str, Native]] = {
    "a call without a result": (
        "openai-chat",
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "c"}]}]},
    ),
    "reasoning alone": ("openai-responses", {"input": [{"type": "reasoning", "id": "rs_1"}]}),
    "two turns of one side": (
        "anthropic-messages",
        {"messages": [{"role": "user", "content": [{"text": "a"}]}] * 2},
    ),
    "a result without a call": (
        "gemini",
        {"contents": [{"role": "user", "parts": [{"functionResponse": {}}]}]},
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_that_is_broken_is_found(name: str) -> None:
    """A control."""
    assert list(broken_rules(*BROKEN[name]))
