"""Work on many items, a bounded number of them at a time."""

from collections.abc import Awaitable, Callable, Iterator
from itertools import islice
from typing import TypeVar

import anyio

from llmcore.schema.errors import InvalidRequestError

_Item = TypeVar("_Item")


def check_concurrency(concurrency: int) -> None:
    """Raise InvalidRequestError for a number below 1."""
    if concurrency < 1:
        raise InvalidRequestError(f"concurrency must be at least 1, not {concurrency}")


async def for_each(
    items: Iterator[_Item], work: Callable[[_Item], Awaitable[None]], concurrency: int
) -> None:
    """Await *work* for each of *items*, which are taken as needed, *concurrency* at a time.

    The first error of any of them cancels the others and is raised.
    """

    async def worker(first: _Item) -> None:
        await work(first)
        for item in items:
            await work(item)

    try:
        async with anyio.create_task_group() as tasks:
            for first in islice(items, concurrency):
                tasks.start_soon(worker, first)
    except BaseExceptionGroup as errors:
        raise _first_error(errors) from None


def _first_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    first = errors.exceptions[0]
    return _first_error(first) if isinstance(first, BaseExceptionGroup) else first
