"""`run_batch`: many requests, run here, with a file of finished responses.

    summary = await run_batch("requests.jsonl", checkpoint="answers.db", concurrency=50)
    for id_, response in finished("answers.db"):
        print(id_, response.text)

Where one machine is not enough, `ray` runs the rows of a Ray dataset on a cluster. The provider's
own batches, at a lower price and within a day, are in `llmcore.client.batches`.
"""

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, Union, cast

from attrs import define, evolve

from llmcore.client.call_hints import with_awaited_hints
from llmcore.client.client import Client
from llmcore.client.middleware.rate_limiter import RateLimiter
from llmcore.generation.checkpoint import Checkpoint, opened_checkpoint
from llmcore.generation.concurrency import check_concurrency, for_each
from llmcore.generation.default_client import default_client
from llmcore.generation.progress import progress_bar
from llmcore.generation.retry import RetryPolicy, retry
from llmcore.generation.setting_checks import check_timeout
from llmcore.routes.transport_spec import Timeouts
from llmcore.schema import json
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError, unreadable_file
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import nearest, shown_kind
from llmcore.schema.json import JsonValue
from llmcore.schema.request import LLMRequest, request
from llmcore.schema.response import LLMResponse
from llmcore.schema.result import Failure, Result, Success
from llmcore.schema.usage import Usage

if TYPE_CHECKING:
    from llmcore.schema.model import Model

BatchRequests: TypeAlias = Union[
    str, Path, Mapping[str, LLMRequest], Iterable[tuple[str, LLMRequest]]
]
"""Requests by ids: a mapping, pairs, or the path of a file with one line of JSON each."""

OnResult: TypeAlias = Callable[[str, Result[LLMResponse, LLMError]], Union[Awaitable[None], None]]
"""Called with the id and the outcome of a request."""

_LONGEST_WAIT_S: Final = 3600.0

_FIELDS: Final = {"model", "provider", "prompt", "messages", "system", "max_tokens", "temperature"}


@frozen(kw_only=True)
class BatchRun:
    """The outcome of one call of `run_batch`."""

    succeeded: int = 0
    """Requests that were answered in this run."""
    resumed: int = 0
    """Requests whose responses were in the file already; nothing was sent for them."""
    failed: int = 0
    """Requests that failed after all retries; they are sent again by the next run."""
    usage: Usage = Usage()
    """The tokens of the responses of this run."""
    cost: float | None = None
    """Their cost in US dollars, where the prices are known."""


@with_awaited_hints(resume_from="checkpoint", max_concurrency="concurrency")
async def run_batch(
    requests: BatchRequests,
    *,
    checkpoint: str | Path | None = None,
    on_result: OnResult | None = None,
    model: "Model | str | None" = None,
    concurrency: int = 20,
    progress: bool = False,
    retry_policy: RetryPolicy | None = None,
    timeout: float | Timeouts | None = None,  # noqa: ASYNC109  (of each request)
    client: Client | None = None,
) -> BatchRun:
    """Run *requests*, at most *concurrency* at a time, and return how many succeeded.

    *checkpoint* is a SQLite file of finished responses: each is in it before *on_result* is called,
    and a request whose response is stored is not sent again, so a program that was killed continues
    where it stopped. Requests are read as they are needed, and one that fails does not stop the
    others. They are paced by what the provider's headers state as left, and by its times to
    wait; a `RateLimiter` of the client does that if it has one. *timeout* is the seconds of each
    request, or all limits. Requests that name no model are for *model*. Lines of a file are `{"id":
    ..., "request": {...}}`, the request as `to_json` writes it, or have `model`, `provider`,
    `prompt`, `messages`, `system`, `max_tokens` and `temperature` beside the id.

    Raises InvalidRequestError for an id that occurs twice, or whose response in the file is to
    another request, ConfigurationError for a file that cannot be used, and what *on_result* raises,
    which ends all requests.
    """
    check_concurrency(concurrency)
    check_timeout(timeout)
    client = client or default_client()
    if not any(isinstance(item, RateLimiter) for item in client.middleware):
        client = client.with_middleware(RateLimiter(max_wait_s=_LONGEST_WAIT_S))
    total = len(requests) if isinstance(requests, Mapping) else None
    with ExitStack() as stack:
        waiting = stack.enter_context(closing(each_once(requests, model)))
        read = tuple(islice(waiting, 1))  # before a file is made: they may not be readable
        kept = None
        if checkpoint is not None:
            kept = stack.enter_context(opened_checkpoint(checkpoint))
        run = _Run(
            client=client,
            kept=kept,
            on_result=on_result,
            policy=retry_policy or RetryPolicy(max_retries=5),
            timeout=timeout,
            advance=stack.enter_context(progress_bar(total, shown=progress)),
        )
        await for_each(chain(read, waiting), run.work, concurrency)
    return run.summary


@define(kw_only=True)
class _Run:
    """Runs requests, and adds up their outcomes in `summary`."""

    client: Client
    kept: Checkpoint | None
    on_result: OnResult | None
    policy: RetryPolicy
    timeout: float | Timeouts | None
    advance: Callable[[], None]
    """Called after each request."""
    summary: BatchRun = BatchRun()

    async def work(self, identified: tuple[str, LLMRequest]) -> None:
        """Run one request, and report its outcome."""
        id_, llm_request = identified
        outcome = await self._outcome(id_, llm_request)
        if self.on_result is not None:
            returned = self.on_result(id_, outcome)
            if inspect.isawaitable(returned):
                await returned
        self.advance()

    async def _outcome(self, id_: str, llm_request: LLMRequest) -> Result[LLMResponse, LLMError]:
        digest = hashlib.sha256(json.dumps(to_json(llm_request))).hexdigest()
        stored = None if self.kept is None else await self.kept.get(id_, digest)
        if stored is not None:
            self.summary = evolve(self.summary, resumed=self.summary.resumed + 1)
            return Success(from_json(LLMResponse, stored))
        call = partial(self.client.generate, llm_request, timeouts=self._limits(llm_request))
        outcome = await retry(call, self.policy)
        if isinstance(outcome, Failure):
            self.summary = evolve(self.summary, failed=self.summary.failed + 1)
            return outcome
        response = outcome.value
        if self.kept is not None:
            await self.kept.add(id_, digest, to_json(response))
        so_far = self.summary
        costs = [cost for cost in (so_far.cost, response.cost) if cost is not None]
        self.summary = evolve(
            so_far,
            succeeded=so_far.succeeded + 1,
            usage=so_far.usage + response.usage,
            cost=sum(costs) if costs else None,
        )
        return outcome

    def _limits(self, llm_request: LLMRequest) -> Timeouts | None:
        """Return the limits of a request; None leaves them to the model that answers it."""
        given = self.timeout
        return None if given is None else self.client.timeouts_for(llm_request, given)


def ray(
    dataset: Any,
    *,
    model: str | None = None,
    make_request: Callable[[Mapping[str, Any]], LLMRequest] | None = None,
    make_client: Callable[[], Client] = Client.from_env,
    workers: int = 1,
    concurrency: int = 20,
    batch_size: int = 64,
    checkpoint: str | None = None,
) -> Any:
    """Return *dataset*, a `ray.data.Dataset`, with the columns `text`, `response` and `error`.

    It is evaluated lazily, as Ray's own methods are. The column `id` has a different text in each
    row; *make_request* makes the request of a row, and without it a row is read like a line of a
    file of `run_batch`, for *model* if it names none. *workers* processes on the nodes of the
    cluster run *concurrency* requests each, and each makes its client by *make_client*. `response`
    is the JSON of an LLMResponse, `error` the message of a request that failed in the end.

    A worker that dies is started again with the block of *batch_size* rows that it had not
    finished. With *checkpoint*, a path on each node, the responses that the block already had are
    not asked for again, if the worker is started on the same node.

    Raises ConfigurationError without Ray, and InvalidRequestError for a dataset without ids.
    """
    from llmcore.generation.ray_batch import RaySettings, mapped

    settings = RaySettings(
        make_request=make_request or partial(_request_of_row, model=model),
        make_client=make_client,
        concurrency=concurrency,
        checkpoint=checkpoint,
    )
    return mapped(dataset, settings, workers=workers, batch_size=batch_size)


def _request_of_row(row: Mapping[str, Any], *, model: str | None) -> LLMRequest:
    fields = {key: value for key, value in row.items() if key != "id" and value is not None}
    return _request_of({"model": model or "", **fields})


# -- requests


def each_once(
    given: BatchRequests, model: "Model | str | None"
) -> Generator[tuple[str, LLMRequest], None, None]:
    """Yield the requests with their ids, those that name no model for *model*.

    Raises InvalidRequestError for an id that occurs twice.
    """
    if isinstance(given, str | Path):
        pairs: Iterable[tuple[str, LLMRequest]] = requests_in(given)
    else:
        named = given.items() if isinstance(given, Mapping) else given
        pairs = cast("Iterable[tuple[str, LLMRequest]]", named)
    seen: set[str] = set()
    for id_, llm_request in map(_checked_pair, pairs):
        if id_ in seen:
            raise InvalidRequestError(f"two requests have the id {id_!r}")
        seen.add(id_)
        if llm_request.model or model is None:
            yield id_, llm_request
        else:
            yield id_, evolve(llm_request, model=model)


def _checked_pair(given: object) -> tuple[str, LLMRequest]:
    match given:
        case (str(id_), LLMRequest() as llm_request):
            return id_, llm_request
    raise InvalidRequestError(
        "requests are pairs of an id and a request(model=..., prompt=...), a dict of requests by "
        f"id, or a file; got {shown_kind(given)} (generate_many takes prompts alone)"
    )


def requests_in(file: str | Path) -> Iterator[tuple[str, LLMRequest]]:
    """Yield the id and the request of each line of *file*; raises InvalidRequestError."""
    path = Path(file)
    try:
        with path.open("rb") as opened:
            for number, line in enumerate(opened, 1):
                if line.strip():
                    yield _request_in(line, f"line {number} of {path}")
    except (OSError, ValueError) as error:  # a zero byte in the path
        raise unreadable_file(path, error) from error


def _request_in(line: bytes, where: str) -> tuple[str, LLMRequest]:
    try:
        data = json.loads(line)
    except UnicodeDecodeError as error:
        message = f"{where} is not UTF-8: save the file in that encoding"
        raise InvalidRequestError(message, cause=error) from error
    except ValueError as error:
        raise InvalidRequestError(f"{where} is not JSON: {error}", cause=error) from error
    if not isinstance(data, dict) or not isinstance(data.get("id"), str):
        raise InvalidRequestError(f'{where} is not an object with an "id"')
    id_ = str(data["id"])
    try:
        return id_, _request_of({key: value for key, value in data.items() if key != "id"})
    except InvalidRequestError as error:
        raise InvalidRequestError(f"{where}: {error.message}", cause=error) from error


def _request_of(data: dict[str, JsonValue]) -> LLMRequest:
    if data.keys() == {"request"}:
        return from_json(LLMRequest, data["request"])
    unknown = data.keys() - _FIELDS
    if unknown:
        first = min(unknown)
        known = sorted(_FIELDS)
        hint = nearest(first, known) or f"the fields are {', '.join(known)}."
        message = f"there is no field {first!r}: {hint} Put other options in `request`"
        raise InvalidRequestError(message)
    fields: dict[str, Any] = {"model": "", **data}
    return request(**fields)


def finished(checkpoint: str | Path) -> Iterator[tuple[str, LLMResponse]]:
    """Yield each response in the file with its id, in the order of the ids.

    Raises ConfigurationError if there is no such file.
    """
    if not Path(checkpoint).exists():
        raise ConfigurationError(f"there is no file {checkpoint}")
    with opened_checkpoint(checkpoint) as kept:
        for id_, result in kept.results():
            yield id_, from_json(LLMResponse, result)
