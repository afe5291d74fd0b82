"""Pending calls: for an approval, which may be signed, or for a later result."""

from typing import Any

import pytest
from attrs import evolve, frozen

from llmcore.generation.approvals import ToolChangedError
from llmcore.generation.generate import generate
from llmcore.generation.results import GenerateResult
from llmcore.generation.tool import ToolDeferred, tool
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.content import ToolCallPart
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.messages import Message
from llmcore.testing.fake_model import FakeModel, call

pytestmark = pytest.mark.anyio

SECRET = "a key of the server"
deleted: list[str] = []


@tool(needs_approval=True)
def delete(name: str) -> str:
    """Delete a table."""
    deleted.append(name)
    return f"{name} is gone"


async def asked(fake: FakeModel, **settings: Any) -> GenerateResult[None]:
    given: dict[str, Any] = {"tools": [delete], "approval_secret": SECRET, **settings}
    return await generate(fake.model, client=fake.client, **given)


async def waiting() -> tuple[FakeModel, GenerateResult[None]]:
    deleted.clear()
    fake = FakeModel([call("delete", {"name": "logs"}, call_id="c1")], "Done.")
    return fake, await asked(fake, prompt="Tidy up.")


async def test_signed_approval_runs_the_call() -> None:
    fake, result = await waiting()
    result = from_json(GenerateResult[Any], to_json(result))  # as a client would carry it

    final = await asked(fake, messages=result.messages, approvals=result.approval_tokens)

    assert (final.text, deleted) == ("Done.", ["logs"])


async def test_signed_call_can_be_refused_without_a_token() -> None:
    fake, result = await waiting()

    final = await asked(fake, messages=result.messages, approvals={"c1": False})

    assert (final.text, deleted) == ("Done.", [])


def _renamed(result: GenerateResult[None]) -> tuple[Message, ...]:
    *before, last = result.messages
    changed = ToolCallPart("c1", "delete", {"name": "users"})
    return (*before, evolve(last, content=(changed,)))


@tool(name="delete", needs_approval=True)
def delete_everything(name: str, cascade: bool = True) -> str:
    """Delete a table and all that refers to it."""
    deleted.append(f"{name} {cascade}")
    return "all is gone"


async def test_approval_of_another_definition_is_an_error_of_its_own_and_nothing_runs() -> None:
    fake, result = await waiting()

    with pytest.raises(ToolChangedError) as raised:
        await asked(
            fake,
            messages=result.messages,
            approvals=result.approval_tokens,
            tools=[delete_everything],
        )

    assert raised.value.error_code == "tool-changed"
    assert deleted == []


@pytest.mark.parametrize(
    "changed",
    [
        {"approvals": {"c1": True}},
        {"approvals": {"c1": "v1.00"}},
        {"approvals": {"c1": "v1.ü"}},
        {"messages": _renamed},
        {"approval_secret": b"another key"},
    ],
    ids=["unsigned", "forged", "not ascii", "other arguments", "other key"],
)
async def test_approval_that_does_not_fit_the_call_is_an_error_and_nothing_runs(
    changed: dict[str, Any],
) -> None:
    fake, result = await waiting()
    made = {name: item(result) if callable(item) else item for name, item in changed.items()}
    given = {"messages": result.messages, "approvals": result.approval_tokens, **made}

    with pytest.raises(InvalidRequestError, match="does not fit") as raised:
        await asked(fake, **given)

    assert raised.value.error_code == "approval-mismatch"
    assert deleted == []


async def test_token_without_the_secret_is_an_error() -> None:
    fake, result = await waiting()
    given: Any = {"messages": result.messages, "approvals": result.approval_tokens}

    with pytest.raises(InvalidRequestError, match="give its approval_secret"):
        await asked(fake, approval_secret=None, **given)


@pytest.mark.parametrize("secret", ["", b"", 3], ids=repr)
async def test_secret_that_is_empty_or_not_text_is_refused(secret: Any) -> None:
    with pytest.raises(InvalidRequestError, match="approval_secret must be text or bytes"):
        await asked(FakeModel(), prompt="Hi", approval_secret=secret)


async def test_no_tokens_without_a_secret() -> None:
    fake = FakeModel([call("delete", {"name": "logs"})])

    result = await asked(fake, prompt="Hi", approval_secret=None)

    assert len(result.pending_calls) == 1
    assert result.approval_tokens == {}


async def test_tool_that_defers_itself_is_pending_and_is_answered_later() -> None:
    @tool
    def order(item: str) -> str:
        """Order an item."""
        if item == "piano":
            raise ToolDeferred
        return f"{item} is ordered"

    pieces = [call("order", {"item": "piano"}), call("order", {"item": "lamp"})]
    fake = FakeModel(pieces, "Both are on their way.")

    result = await generate(fake.model, "Order both.", tools=[order], client=fake.client)

    (pending,) = result.pending_calls
    assert pending.arguments == {"item": "piano"}
    assert [done.content for done in result.tool_results] == ["lamp is ordered"]
    answered = [*result.messages, Message.tool(pending.id, "piano is ordered")]
    final = await generate(fake.model, messages=answered, tools=[order], client=fake.client)
    assert final.text == "Both are on their way."


# -- typed contexts


@frozen
class Account:
    name: str


async def test_context_of_the_annotated_type_reaches_the_tool() -> None:
    @tool
    def whose(context: Account | None) -> str:
        """Return the owner."""
        return context.name if context else "nobody"

    for context, answer in ((Account("Ada"), "Ada"), (None, "nobody")):
        fake = FakeModel([call("whose")], "x")
        result = await generate(
            fake.model, "Hi", tools=[whose], tool_context=context, client=fake.client
        )
        assert result.steps[0].tool_results[0].content == answer


@pytest.mark.parametrize("context", [None, "Ada", {"name": "Ada"}], ids=repr)
async def test_context_of_another_type_is_refused_before_anything_is_sent(context: object) -> None:
    @tool
    def whose(context: Account) -> str:
        """Return the owner."""
        return context.name

    fake = FakeModel()
    with pytest.raises(InvalidRequestError, match=r"must be a Account, not .* 'context' of whose"):
        await generate(fake.model, "Hi", tools=[whose], tool_context=context, client=fake.client)
