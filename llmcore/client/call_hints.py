"""Errors of wrong calls of coroutine functions, as `llmcore.schema.hints` has them for others."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from llmcore.schema.hints import EXPLAINED, CallHints, explained_error, with_call_hints

_Function = TypeVar("_Function", bound=Callable[..., Any])


def with_awaited_hints(positional: str = "", **instead: str) -> Callable[[_Function], _Function]:
    """Do what `with_call_hints` does, also for coroutine functions, which stay such.

    Frameworks look whether a function is one, to decide whether to await it or to call it in a
    thread. Its wrong calls raise when they are awaited:

        >>> await embed("openai:text-embedding-3-small", input="Hello")
        Traceback (most recent call last):
        TypeError: embed() got an unexpected keyword argument 'input': did you mean 'text'?
    """
    hints = CallHints(positional, instead)

    def decorate(function: _Function) -> _Function:
        if not inspect.iscoroutinefunction(function):
            return with_call_hints(positional, **instead)(function)

        @wraps(function)
        async def awaited(*args: Any, **settings: Any) -> Any:
            try:
                return await function(*args, **settings)
            except EXPLAINED as error:
                explained = explained_error(error, function, args, settings, hints)
                if explained is None:
                    raise
                raise explained from None

        return cast("_Function", awaited)

    return decorate
