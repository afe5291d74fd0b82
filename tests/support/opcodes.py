"""Counts the Python instructions that a call runs, which no other work on the machine changes."""

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect no garbage in the block.

    What other tests left has finalisers, and collections have callbacks: both run in the middle of
    what is counted.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def opcodes(run: Callable[[], object]) -> int:
    """Return how many instructions of Python *run* runs in this thread, in all that it calls.

    Those of C are not counted, such as the parsing of JSON and the joining of texts.
    """
    total = 0

    def count(frame: FrameType, event: str, _arg: object) -> Any:
        nonlocal total
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        total += event == "opcode"
        return count

    before = sys.gettrace()
    with uncollected():
        sys.settrace(count)
        try:
            run()
        finally:
            sys.settrace(before)
    return total
