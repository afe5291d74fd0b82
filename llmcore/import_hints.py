"""Errors of imports from modules that llmcore does not have, which state where the names are.

`from llmcore.errors import RateLimitError` is what people write who know other libraries. Python's
own error names the missing module alone. `MissingModules` is the last finder: where no other has
found the module, it raises the error that Python would raise, with a hint. Imports of other
packages, and look-ups by `importlib.util.find_spec`, are left alone.
"""

from collections.abc import Callable, Mapping

from llmcore.lazy_names import hint_of_name

_EXAMPLES = {
    **dict.fromkeys(("error", "errors", "exception", "exceptions"), "RateLimitError"),
    **dict.fromkeys(("message", "messages", "types", "chat_models"), "Message"),
    **dict.fromkeys(("provider", "providers", "openai", "llm", "llms", "models"), "OpenAI"),
    **dict.fromkeys(("tool", "tools", "functions"), "tool"),
    **dict.fromkeys(("stream", "streaming"), "stream"),
    **dict.fromkeys(("middleware", "middlewares", "fallback", "router"), "Fallback"),
    **dict.fromkeys(("cache", "caching", "caches"), "ResponseCache"),
    **dict.fromkeys(("retry", "retries"), "RetryPolicy"),
    **dict.fromkeys(("chat", "conversation", "memory", "session"), "Conversation"),
    **dict.fromkeys(("embedding", "embeddings"), "embed"),
    **dict.fromkeys(("structured", "objects", "output"), "generate_object"),
    **dict.fromkeys(("cost", "costs", "usage", "budget"), "CostBudget"),
}
"""A name at the front door, by the module in which people look for it and its like."""


class MissingModules:
    """A finder that raises an error with a hint for modules of *package* that do not exist."""

    def __init__(self, package: str, in_modules: Callable[[], Mapping[str, str]]) -> None:
        self._package = package
        self._in_modules = in_modules

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        """Return None, or raise ImportError if *fullname* is imported by a program."""
        parent, _, name = fullname.rpartition(".")
        if parent != self._package and not parent.startswith(f"{self._package}."):
            return
        if (is_from_import := _is_from_import()) is None:
            return
        hint = hint_of_name(parent, name, (), self._in_modules)
        if is_from_import:
            if hint:
                raise ImportError(f"cannot import name {name!r} from {parent!r}{hint}", name=parent)
        elif parent == self._package:
            if name in _EXAMPLES or not hint:
                example = f"from {parent} import {_EXAMPLES.get(name, 'generate')}"
                hint = f": import names from {parent} itself, such as `{example}`"
            raise ModuleNotFoundError(f"No module named {fullname!r}{hint}", name=fullname)


def _is_from_import() -> bool | None:
    """Return whether a name of a package is imported, or a module; None outside of an import."""
    from inspect import currentframe

    importing = None
    frame = currentframe()
    while frame is not None and frame.f_code.co_filename in _OF_IMPORTS:
        if frame.f_code.co_name == "_find_and_load_unlocked":
            importing = False
        elif frame.f_code.co_name == "_handle_fromlist":
            return True
        frame = frame.f_back
    return importing


_OF_IMPORTS = ("<frozen importlib._bootstrap>", __file__)
