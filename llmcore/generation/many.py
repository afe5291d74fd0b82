"""`generate_many`: one call for many prompts, a bounded number of them at a time."""

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeAlias, Union, Unpack

import anyio
from attrs import evolve, frozen

from llmcore.generation.generate import completed
from llmcore.generation.results import GenerateResult
from llmcore.generation.settings import RunPlan, Settings, plan_of
from llmcore.schema import json
from llmcore.schema.codec import from_json, to_json
from llmcore.schema.errors import ConfigurationError, InvalidRequestError, LLMError
from llmcore.schema.messages import Message
from llmcore.schema.model import Model
from llmcore.schema.result import Failure, Result, Success

Prompt: TypeAlias = Union[str, Sequence[Message]]
"""The text of a user's message, or a whole conversation."""

Outcome: TypeAlias = Result[GenerateResult[None], LLMError]


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

    A prompt whose run fails is a Failure with its LLMError; the others go on. At most
    *concurrency* runs are under way at a time. *progress* shows a bar on stderr, where the package
    `rich` is installed, else a count. *resume_from* is a file of finished results, one line of
    JSON each: prompts that it has an answer for are not sent again, and new answers are appended
    as they arrive, so that a program that was killed goes on where it was. *settings* are those
    of `generate`, for every prompt.

    Raises InvalidRequestError for settings that contradict each other, and ConfigurationError for
    a file that cannot be read or written.
    """
    if concurrency < 1:
        raise InvalidRequestError(f"concurrency is {concurrency}; it counts runs, from 1")
    plans = [_plan(model, prompt, settings) for prompt in prompts]
    with ExitStack() as stack:
        kept = None if resume_from is None else stack.enter_context(_results_in(Path(resume_from)))
        advance = stack.enter_context(_progress_bar(len(plans), shown=progress))
        outcomes: list[Outcome | None] = [None] * len(plans)
        waiting = iter(_numbered(plans, kept))

        async def work() -> None:
            for number, plan, key in waiting:
                found = None if kept is None else kept.get(key)
                outcomes[number] = found or await _outcome(plan)
                if kept is not None and found is None:
                    kept.add(key, outcomes[number])
                advance()

        async with anyio.create_task_group() as tasks:
            for _ in range(min(concurrency, len(plans))):
                tasks.start_soon(work)
    return [outcome for outcome in outcomes if outcome is not None]


def _plan(model: Model | str | None, prompt: Prompt, settings: Settings) -> RunPlan:
    if isinstance(prompt, str):
        return plan_of("generate_many", model, prompt, settings)
    return evolve(plan_of("generate_many", model, None, settings), messages=tuple(prompt))


async def _outcome(plan: RunPlan) -> Outcome:
    try:
        return Success(await completed(plan))
    except LLMError as error:
        return Failure(error)


# -- results that outlive the program


@frozen
class _KeptResults:
    """Results by the digests of their requests, in a file that grows."""

    found: dict[str, GenerateResult[None]]
    file: TextIO

    def get(self, key: str) -> Outcome | None:
        """Return the result of an earlier run of the program."""
        found = self.found.get(key)
        return None if found is None else Success(found)

    def add(self, key: str, outcome: Outcome | None) -> None:
        """Append a result; a failure is left out, so that it is tried again."""
        if isinstance(outcome, Success):
            line = json.dumps({"request": key, "result": to_json(outcome.unwrap())})
            self.file.write(line.decode() + "\n")
            self.file.flush()


def _numbered(
    plans: Sequence[RunPlan], kept: _KeptResults | None
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


@contextmanager
def _results_in(path: Path) -> Iterator[_KeptResults]:
    """Open the file of results; a last line that was cut is overwritten by the next."""
    try:
        *whole, _cut = path.read_bytes().split(b"\n") if path.exists() else [b""]
        found = dict(map(_read_line, whole))
        path.write_bytes(b"".join(line + b"\n" for line in whole))
        file = path.open("a", encoding="utf-8")
    except (OSError, ValueError, KeyError, TypeError, InvalidRequestError) as error:
        message = f"{path} cannot be used as a file of results: {error}"
        raise ConfigurationError(message, cause=error) from error
    with file:
        yield _KeptResults(found, file)


def _read_line(line: bytes) -> tuple[str, GenerateResult[None]]:
    data = json.loads(line)
    if not isinstance(data, dict):
        raise InvalidRequestError("a line is not a JSON object")
    return str(data["request"]), from_json(GenerateResult[Any], data["result"])


# -- progress


@contextmanager
def _progress_bar(total: int, *, shown: bool) -> Iterator[Callable[[], None]]:
    """Return a function to call once for each prompt that is done."""
    if not shown:
        yield lambda: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _count_on_stderr(total)
        return
    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("generating", total=total)
        yield lambda: bar.advance(task)


def _count_on_stderr(total: int) -> Callable[[], None]:
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        end = "\n" if done == total else ""
        print(f"\r{done}/{total}", end=end, file=sys.stderr, flush=True)  # noqa: T201

    return advance
