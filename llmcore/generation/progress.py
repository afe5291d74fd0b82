"""The progress of many calls, on stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec


@contextmanager
def progress_bar(total: int | None, *, shown: bool) -> Iterator[Callable[[], None]]:
    """Return a function to call once for each call that is done; *total* is None if unknown.

    It shows a bar where the package `rich` is installed (and in a notebook `ipywidgets`, too), else
    a count. Where stderr is neither a terminal nor a notebook's, only the end is shown.
    """
    if not shown:
        yield lambda: None
        return
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        yield _count_on_stderr(total, live=sys.stderr.isatty())
        return
    console = Console(stderr=True)
    if console.is_jupyter and find_spec("ipywidgets") is None:
        yield _count_on_stderr(total, live=True)
        return
    with Progress(console=console) as bar:
        task = bar.add_task("generating", total=total)
        yield lambda: bar.advance(task)


def _count_on_stderr(total: int | None, *, live: bool) -> Callable[[], None]:
    """Return a function that counts; only the end is shown unless *live*."""
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        end = "\n" if done == total else ""
        if not end and not live:
            return
        shown = done if total is None else f"{done}/{total}"
        print(f"\r{shown}", end=end, file=sys.stderr, flush=True)  # noqa: T201

    return advance
