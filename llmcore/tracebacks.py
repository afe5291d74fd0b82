"""Tracebacks of errors that users see, without the frames that lead to them in this package.

The message of such an error states what is wrong and what to do; a reader of its traceback looks
for the call that failed. In Python's development mode (`python -X dev`) all frames are kept.
"""

import sys
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Final

_PACKAGE: Final = __name__.partition(".")[0]
_BETWEEN: Final = frozenset({_PACKAGE, "anyio", "asyncio", "contextlib", "importlib"})
"""The packages by which this one calls its own code, in threads, loops and blocks, and by late
imports."""
_WRONG_CALL: Final = "_llmcore_wrong_call"


def remove_own_frames(error: BaseException) -> None:
    """Remove the frames of this package from the beginning of the traceback of *error*.

    Frames of other code, such as a tool or a middleware, are kept with all below them. The same is
    done for the causes of *error*.
    """
    if sys.flags.dev_mode:
        return
    for one in _with_causes(error):
        one.__traceback__ = _from_other_code(one.__traceback__)


def wrong_call(message: str) -> TypeError:
    """Return the error of a call with wrong arguments, which `is_wrong_call` tells from others."""
    error = TypeError(message)
    setattr(error, _WRONG_CALL, True)
    return error


def is_wrong_call(error: BaseException) -> bool:
    """Return whether *error* was made by `wrong_call`, so that its frames here explain nothing."""
    return getattr(error, _WRONG_CALL, False)


def remove_frames(errors: Iterable[BaseException]) -> None:
    """Remove all frames of *errors*, which another library has raised."""
    if sys.flags.dev_mode:
        return
    for one in errors:
        one.__traceback__ = None


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield *error* and what Python prints above it, each once."""
    done: set[int] = set()
    one: BaseException | None = error
    while one is not None and id(one) not in done:
        done.add(id(one))
        yield one
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)


def _from_other_code(traceback: TracebackType | None) -> TracebackType | None:
    """Return *traceback* from its first frame on that is neither of this package nor between."""
    while traceback is not None:
        frame = traceback.tb_frame
        module = str(frame.f_globals.get("__name__"))
        generated = frame.f_code.co_filename.startswith("<attrs generated")
        if module.partition(".")[0] not in _BETWEEN and not generated:
            break
        traceback = traceback.tb_next
    return traceback
