"""`generate_many`: one call for many prompts, a bounded number of them at a time."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, Union, Unpack

from attrs import evolve

from llmcore.client.call_hints import with_awaited_hints
from llmcore.generation.checkpoint import Checkpoint, opened_checkpoint
from llmcore.generation.concurrency import check_concurrency, for_each
from llmcore.generation.generate import completed
from llmcore.generation.progress import progress_bar
from llmcore.generation.results import GenerateResult
from llmcore.generation.settings import RunPlan, Settings, plan_of
from llmcore.generation.signatures import with_settings_listed
from llmcore.schema import json
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import InvalidRequestError, LLMError
from llmcore.schema.hints import shown_kind
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.result import Failure, Result, Success

Prompt: TypeAlias = Union[str, Sequence[Message]]
"""The text of a user's message, or a whole conversation."""

Outcome: TypeAlias = Result[GenerateResult[None], LLMError]


@with_awaited_hints(
    **dict.fromkeys(("prompt", "inputs", "messages_list", "questions"), "prompts"),
    **dict.fromkeys(("max_workers", "workers", "max_concurrency", "batch_size"), "concurrency"),
    **dict.fromkeys(("show_progress", "progress_bar", "tqdm"), "progress"),
    **dict.fromkeys(("resume", "checkpoint", "path", "file", "output_path"), "resume_from"),
)
@partial(with_settings_listed, without=frozenset({"messages", "request"}))
async def generate_many(
    model: Model | str | None,
    prompts: Iterable[Prompt],
    *,
    concurrency: int = 20,
    progress: bool = False,
    resume_from: str | Path | None = None,
    **settings: Unpack[Settings],
) -> list[Outcome]:
    """Return what `generate` returns for each of *prompts*, in their order.

    A prompt whose run fails is a Failure with its LLMError; the others continue. At most
    *concurrency* runs are under way at a time. *progress* shows a bar on stderr, where the package
    `rich` is installed, else a count. *resume_from* is a SQLite file of finished results: prompts
    that it has a response for are not sent again, and new responses are stored as they arrive, so
    that a program that was killed continues where it stopped. *settings* are those of `generate`,
    for every prompt.

    Raises InvalidRequestError for settings that contradict each other, ConfigurationError for a
    file that cannot be read or written, and the first error that is not an LLMError, which ends
    all runs.
    """
    check_concurrency(concurrency)
    if isinstance(prompts, str | Mapping):
        raise InvalidRequestError("prompts must be a list: `generate` takes a single one")
    plans = [_plan(model, n, prompt, settings) for n, prompt in enumerate(prompts)]
    with ExitStack() as stack:
        kept = None
        if resume_from is not None:
            kept = stack.enter_context(opened_checkpoint(resume_from))
        advance = stack.enter_context(progress_bar(len(plans), shown=progress))
        outcomes: list[Outcome | None] = [None] * len(plans)

        async def work(numbered: tuple[int, RunPlan, str]) -> None:
            number, plan, key = numbered
            outcomes[number] = await _kept_outcome(plan, key, kept)
            advance()

        await for_each(_numbered(plans, kept), work, concurrency)
    return [outcome for outcome in outcomes if outcome is not None]


def _plan(model: Model | str | None, number: int, prompt: Prompt, settings: Settings) -> RunPlan:
    if isinstance(prompt, Message | Mapping) or not isinstance(prompt, Sequence):
        raise InvalidRequestError(
            f"prompts[{number}] is {shown_kind(prompt)}; give a text or a list of messages"
        )
    if isinstance(prompt, str):
        return plan_of("generate_many", model, prompt, settings)
    return evolve(plan_of("generate_many", model, None, settings), messages=tuple(prompt))


async def _kept_outcome(plan: RunPlan, key: str, checkpoint: Checkpoint | None) -> Outcome:
    """Return the kept result of *plan*, or run it and keep the result, unless it failed."""
    stored = None if checkpoint is None else await checkpoint.get(key, "")
    if stored is not None:
        return Success(from_json(GenerateResult[Any], stored))
    try:
        result = await completed(plan)
    except LLMError as error:
        return Failure(error)
    if checkpoint is not None:
        await checkpoint.add(key, "", to_json(result))
    return Success(result)


def _numbered(
    plans: Sequence[RunPlan], kept: Checkpoint | None
) -> Iterator[tuple[int, RunPlan, str]]:
    """Yield each plan with its number and key; the same request twice has two keys."""
    times: dict[str, int] = {}
    for number, plan in enumerate(plans):
        key = ""
        if kept is not None:
            digest = hashlib.sha256(json.dumps(to_json(plan.first_request()))).hexdigest()
            times[digest] = times.get(digest, 0) + 1
            key = f"{digest}-{times[digest]}"
        yield number, plan, key
