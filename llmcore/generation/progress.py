"""The progress of many calls, on stderr."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(total: int | None, *, shown: bool) -> Iterator[Callable[[], None]]:
    """Return a function to call once for each call that is done; *total* is None if unknown.

    It shows a bar where the package `rich` is installed, else a count. Where stderr is not a
    terminal, only the end is shown.
    """
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


def _count_on_stderr(total: int | None) -> Callable[[], None]:
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        end = "\n" if done == total else ""
        if not end and not sys.stderr.isatty():
            return
        shown = done if total is None else f"{done}/{total}"
        print(f"\r{shown}", end=end, file=sys.stderr, flush=True)  # noqa: T201

    return advance
