"""`run_batch`: many requests run here, with a file of responses that outlives the process."""

import json
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from llmcore import Client, LLMRequest, RetryPolicy, request
from llmcore.client.middleware.rate_limiter import RateLimiter
from llmcore.generation.batch import finished, run_batch
from llmcore.generation.checkpoint import Checkpoint
from llmcore.schema.codec import to_json
from llmcore.schema.errors import ConfigurationError, InvalidRequestError
from llmcore.schema.model import Model
from llmcore.testing.fake_model import FakeModel
from tests.support.programs.batch_program import run_sixty
from tests.support.servers.loopback import Answer, Received, model_at, serve
from tests.support.servers.warm_process import warm_process

pytestmark = pytest.mark.anyio

NO_RETRIES = RetryPolicy(max_retries=0)


class Upstream:
    """Counts the requests for each question, and returns the question as the response."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, received: Received) -> Answer:
        body: Any = received.json
        words = body["messages"][-1]["content"]
        with self._lock:
            self.asked[words] += 1
        headers = {"content-type": "application/json"}
        if words == "refuse":
            return Answer([b'{"error": {"message": "no"}}'], status=400, headers=headers)
        message = {"role": "assistant", "content": words}
        whole = {"choices": [{"message": message, "finish_reason": "stop"}]}
        return Answer([0.02, json.dumps(whole).encode()], headers=headers)


def asked(model: Model, words: str) -> LLMRequest:
    return request(model=model, prompt=words)


async def test_finished_responses_are_not_sent_again_and_failures_are(tmp_path: Path) -> None:
    upstream, path = Upstream(), tmp_path / "answers.db"
    with serve(upstream) as server:
        requests = {word: asked(model_at(server.url), word) for word in ("a", "b", "refuse")}
        async with Client() as client:
            first = await run_batch(requests, checkpoint=path, client=client)
            requests["c"] = asked(model_at(server.url), "c")
            again = await run_batch(requests, checkpoint=path, client=client)

    assert (first.succeeded, first.resumed, first.failed) == (2, 0, 1)
    assert (again.succeeded, again.resumed, again.failed) == (1, 2, 1)
    assert upstream.asked == {"a": 1, "b": 1, "c": 1, "refuse": 2}
    assert {id_: response.text for id_, response in finished(path)} == {
        "a": "a",
        "b": "b",
        "c": "c",
    }


async def test_each_outcome_is_given_after_it_was_stored(tmp_path: Path) -> None:
    path, seen = tmp_path / "answers.db", []
    fake = FakeModel("one", "two")

    async def on_result(id_: str, outcome: Any) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append((id_, outcome.unwrap().text, id_ in dict(finished(path))))

    requests = [("x", asked(fake.model, "1")), ("y", asked(fake.model, "2"))]
    await run_batch(
        requests, checkpoint=path, on_result=on_result, client=fake.client, concurrency=1
    )

    assert seen == [("x", "one", True), ("y", "two", True)]


async def test_error_of_on_result_ends_the_run_and_is_raised_itself() -> None:
    fake = FakeModel("one", "two")

    def on_result(id_: str, _outcome: object) -> None:
        raise ValueError(id_)

    requests = {"x": asked(fake.model, "1"), "y": asked(fake.model, "2")}
    with pytest.raises(ValueError, match=r"^x$"):
        await run_batch(requests, on_result=on_result, client=fake.client, concurrency=1)

    assert len(fake.requests) == 1


@pytest.mark.parametrize("concurrency", [0, -1])
async def test_run_without_concurrency_is_refused(concurrency: int) -> None:
    with pytest.raises(InvalidRequestError, match="concurrency"):
        await run_batch({}, concurrency=concurrency, client=FakeModel().client)


async def test_file_of_requests_is_run_in_both_of_its_forms(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    fake = FakeModel("one", "two")
    whole = to_json(request(model="", prompt="Hi"))
    lines = [{"id": "a", "prompt": "Hi", "max_tokens": 9}, {"id": "b", "request": whole}]
    file.write_text("\n\n".join(map(json.dumps, lines)))

    run = await run_batch(file, model=fake.model, client=fake.client, concurrency=1)

    assert run.succeeded == 2
    assert fake.requests[0].generation.max_tokens == 9


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 1 of .* is not JSON"),
        ("[]", 'is not an object with an "id"'),
        (
            '{"id": "a", "prompt": "x", "temprature": 1}',
            "no field 'temprature': did you mean 'temperature'?",
        ),
        ('{"id": "a", "request": {"messages": 1}}', "line 1 of"),
        ('{"id": "a", "prompt": "x"}\n{"id": "a", "prompt": "y"}', "two requests have the id 'a'"),
    ],
)
async def test_line_that_is_no_request_is_an_error(tmp_path: Path, line: str, reason: str) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text(line)
    fake = FakeModel("one", "two")

    with pytest.raises(InvalidRequestError, match=reason):
        await run_batch(file, model=fake.model, client=fake.client)


async def test_line_in_another_encoding_is_an_error_that_states_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text('{"id": "a", "prompt": "café"}', encoding="latin-1")
    fake = FakeModel("one")

    with pytest.raises(InvalidRequestError, match=r"line 1 of .* is not UTF-8: save the"):
        await run_batch(file, model=fake.model, client=fake.client)


@pytest.mark.parametrize("requests", ["missing.jsonl", "broken.jsonl", 5])
async def test_requests_that_cannot_be_read_leave_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requests: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.jsonl").write_text("{")

    with pytest.raises((InvalidRequestError, TypeError)):
        await run_batch(requests, checkpoint="answers.db", client=FakeModel().client)

    assert not (tmp_path / "answers.db").exists()


async def test_changed_request_of_a_finished_id_is_an_error(tmp_path: Path) -> None:
    path, fake = tmp_path / "answers.db", FakeModel("one", "two")
    await run_batch({"a": asked(fake.model, "1")}, checkpoint=path, client=fake.client)

    with pytest.raises(InvalidRequestError, match="another request of the id 'a'"):
        await run_batch({"a": asked(fake.model, "2")}, checkpoint=path, client=fake.client)


async def test_requests_are_paced_by_what_the_server_states(tmp_path: Path) -> None:
    """A 429 with a time to wait holds all requests back, and none of them fails."""
    started: list[float] = []

    def limited(received: Received) -> Answer:
        started.append(time.monotonic())
        headers = {"content-type": "application/json"}
        if len(started) == 1:
            return Answer(
                [b'{"error": {"message": "slow down"}}'],
                status=429,
                headers={**headers, "retry-after": "1"},
            )
        message = {"role": "assistant", "content": "ok"}
        whole = {"choices": [{"message": message, "finish_reason": "stop"}]}
        return Answer([json.dumps(whole).encode()], headers=headers)

    with serve(limited) as server:
        requests = {str(n): asked(model_at(server.url), str(n)) for n in range(4)}
        async with Client() as client:
            run = await run_batch(requests, client=client, concurrency=1)

    assert (run.succeeded, run.failed) == (4, 0)
    assert started[1] - started[0] >= 0.9


async def test_limiter_of_the_client_is_the_only_one() -> None:
    fake = FakeModel("one")
    limiter = RateLimiter(requests_per_minute=1000)
    client = fake.client.with_middleware(limiter)

    run = await run_batch({"a": asked(fake.model, "1")}, client=client)

    assert run.succeeded == 1
    assert client.middleware.count(limiter) == 1


async def test_batch_runs_at_most_max_concurrency_calls() -> None:
    running, most = 0, 0

    async def count(given: LLMRequest, call_next: Any) -> Any:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await anyio.sleep(0.01)
        running -= 1
        return call_next(given)

    fake = FakeModel(*["x"] * 6)
    client = fake.client.with_middleware(count)
    requests = {str(n): asked(fake.model, "x") for n in range(6)}
    await run_batch(requests, client=client, concurrency=2)

    assert most == 2


async def test_file_of_something_else_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n" * 100)
    fake = FakeModel("one")

    with pytest.raises(ConfigurationError, match="cannot be used as a file of results"):
        await run_batch({"a": asked(fake.model, "1")}, checkpoint=path, client=fake.client)

    assert not fake.requests
    with pytest.raises(ConfigurationError, match="there is no file"):
        next(finished(tmp_path / "none.db"))


async def test_result_is_there_for_another_process_when_add_returns(tmp_path: Path) -> None:
    kept = Checkpoint(tmp_path / "a.db")
    await kept.add("a", "digest", {"n": 1})

    other = Checkpoint(tmp_path / "a.db")
    assert list(other.results()) == [("a", {"n": 1})]
    other.close()
    kept.close()


@pytest.mark.slow
def test_killed_process_loses_no_finished_response_and_repeats_none(tmp_path: Path) -> None:
    """`kill -9` at random points; only what had no response yet is sent again."""
    upstream, path, kills = Upstream(), tmp_path / "answers.db", 0
    points = random.Random(7)
    with serve(upstream) as server:
        while True:
            before = dict(upstream.asked)
            done = {id_ for id_, _ in finished(path)} if path.exists() else set()
            process = warm_process(run_sixty, f"{server.url}/v1", str(path))
            goal = sum(before.values()) + points.randint(1, 25)
            while process.is_alive() and sum(upstream.asked.values()) < goal:
                time.sleep(0.002)
            ended = not process.is_alive()
            if not ended:
                process.kill()
                kills += 1
            process.join()
            assert {id_: upstream.asked[id_] for id_ in done} == {id_: before[id_] for id_ in done}
            if ended:
                assert process.exitcode == 0
                break

    answers = {id_: response.text for id_, response in finished(path)}
    assert answers == {f"q{n}": f"q{n}" for n in range(60)}
    assert kills >= 3
    assert max(upstream.asked.values()) <= 1 + kills
    assert sum(upstream.asked.values()) <= 60 + 4 * kills  # what was under way at each kill
