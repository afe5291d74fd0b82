"""`generate_many`: many prompts, a bounded number at a time."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from llmcore import Client, LLMRequest, Message, Success
from llmcore.client.event_stream import EventStream
from llmcore.client.middleware import Next
from llmcore.generation.many import Prompt, generate_many
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError
from llmcore.testing.fake_model import FakeModel
from llmcore.testing.script import ScriptEndedError
from tests.support.programs.packages import without
from tests.support.servers.loopback import Answer, Received, chat_stream, model_at, serve

pytestmark = pytest.mark.anyio


def echo(received: Received) -> Answer:
    """Answer with the words of the user; refuse those that ask for it."""
    body: Any = received.json
    words = body["messages"][-1]["content"]
    if words == "refuse":
        data = b'{"error": {"message": "as you wish"}}'
        return Answer([data], status=400, headers={"content-type": "application/json"})
    return Answer(chat_stream([words]), headers={"content-type": "text/event-stream"})


def texts(outcomes: Sequence[Any]) -> list[str]:
    return [
        one.unwrap().text if isinstance(one, Success) else str(one.failure()) for one in outcomes
    ]


async def test_results_and_failures_are_in_the_order_of_the_prompts() -> None:
    """One that fails does not keep the others from a response."""
    with serve(echo) as server:
        prompts: list[Prompt] = ["a", "refuse", [Message.user("c")]]
        made = await generate_many(model_at(server.url), prompts, concurrency=2)

    assert texts(made)[0] == "a"
    assert "as you wish" in texts(made)[1]
    assert isinstance(made[1].failure(), LLMError)
    assert texts(made)[2] == "c"


async def test_an_error_of_the_program_is_raised_alone() -> None:
    fake = FakeModel("one response")

    with pytest.raises(ScriptEndedError, match="the fake model has 1"):
        await generate_many(fake.model, ["a", "b", "c"], client=fake.client, concurrency=3)


async def test_no_prompts_is_an_empty_list() -> None:
    """Nothing is sent."""
    assert await generate_many("m", [], provider="nobody") == []


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_at_most_so_many_runs_are_under_way(concurrency: int) -> None:
    """However many prompts there are."""
    running, most = 0, 0

    async def count(request: LLMRequest, call_next: Next) -> EventStream:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.01)
        running -= 1
        return call_next(request)

    with serve(echo) as server:
        async with Client(middleware=[count]) as client:
            await generate_many(
                model_at(server.url), list("abcdef"), concurrency=concurrency, client=client
            )

    assert most == concurrency


async def test_finished_results_are_not_asked_for_again(tmp_path: Path) -> None:
    """The same prompt twice is two results; a failure is tried again."""
    path = tmp_path / "results.db"
    prompts = ["a", "a", "refuse", "b"]
    with serve(echo) as server:
        first = await generate_many(model_at(server.url), prompts, resume_from=path)
        sent = len(server.received)
        again = await generate_many(model_at(server.url), [*prompts, "c"], resume_from=path)
        later: list[Any] = [one.json for one in server.received[sent:]]

    asked = [body["messages"][-1]["content"] for body in later if body]
    assert texts(first)[:2] == ["a", "a"]
    assert texts(again) == [*texts(first), "c"]
    assert sorted(asked) == ["c", "refuse"]


async def test_a_file_of_something_else_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    """And stays as it is."""
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n")

    with pytest.raises(ConfigurationError, match="cannot be used as a file of results"):
        await generate_many("m", ["a"], resume_from=path)
    assert path.read_text() == "dear diary\n"


async def test_a_concurrency_of_zero_is_refused() -> None:
    """It would never end."""
    with pytest.raises(InvalidRequestError, match="at least 1, not 0"):
        await generate_many("m", ["a"], concurrency=0)


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("missing", [(), ("rich.console", "rich.progress")])
async def test_progress_counts_on_stderr(
    missing: Sequence[str],
    terminal: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Standard output is the program's own; without rich, there is a count.

    A log file gets the end only.
    """
    without(monkeypatch, *missing)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with serve(echo) as server:
        await generate_many(model_at(server.url), ["a", "b"], progress=True)
    shown = capsys.readouterr()

    assert shown.out == ""
    if missing:
        assert shown.err == ("\r1/2\r2/2\n" if terminal else "\r2/2\n")
    else:
        assert "100%" in shown.err


async def test_progress_is_a_count_in_a_notebook_without_widgets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The bar of rich would be a warning and nothing else there."""
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("llmcore.generation.progress.find_spec", lambda name: None)
    fake = FakeModel("Hi", "Hi")

    await generate_many(fake.model, ["a", "b"], progress=True, client=fake.client)

    assert capsys.readouterr().err == "\r1/2\r2/2\n"
