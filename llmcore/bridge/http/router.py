"""Finds the operation of a request by its method and path."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Generic, TypeVar

from llmcore.fronts.errors import FrontError, method_not_allowed
from llmcore.schema.frozen import frozen

T = TypeVar("T")

_PARAMETER: Final = re.compile(r"\\\{(\w+)(:path)?\\\}")
_TWO_VERSIONS: Final = re.compile(r"^/(v1(?:beta1?|alpha)?)/+(v1(?:beta1?|alpha)?)/")


@frozen
class Found(Generic[T]):
    """The target of a request, and the parameters that its path holds."""

    target: T
    parameters: Mapping[str, str]


class Router(Generic[T]):
    """Finds the target of a path, such as `/responses/{response_id}` or `/models/{rest:path}`.

    A parameter is one segment of the path, and with `:path` any number of them. Where several
    patterns match, the first one that was given and takes the method answers.
    """

    def __init__(self, routes: Iterable[tuple[str, str, T]]) -> None:
        """Match the method and path of *routes*, and return their targets."""
        self._fixed: dict[tuple[str, str], Found[T]] = {}
        self._patterns: list[tuple[str, Callable[[str], re.Match[str] | None], T]] = []
        for method, path, target in routes:
            self._patterns.append((method, re.compile(_pattern(path)).fullmatch, target))
            first = self._match(method, path) if "{" not in path else None
            if first is not None:
                self._fixed[method, path] = first

    def find(self, method: str, path: str) -> Found[T]:
        """Return the target of a path, of HEAD that of GET; FrontError, 404 or 405, without one."""
        method = "GET" if method == "HEAD" else method
        match = self._fixed.get((method, path)) or self._match(method, path)
        if match is None:
            raise self._nothing(method, path)
        return match

    def _match(self, method: str, path: str) -> Found[T] | None:
        for taken, match, target in self._patterns:
            if taken == method and (parameters := match(path)):
                return Found(target, parameters.groupdict())
        return None

    def _nothing(self, method: str, path: str) -> FrontError:
        if methods := sorted({taken for taken, match, _ in self._patterns if match(path)}):
            return method_not_allowed(path, method, *methods)
        message = f"there is no {method} {path[:200]} here{_hint(path)}"
        return FrontError(status=404, message=message, code="unknown_url")


def _pattern(path: str) -> str:
    return _PARAMETER.sub(lambda name: f"(?P<{name[1]}>{_value(name[2])})", re.escape(path))


def _value(kind: str | None) -> str:
    return "(?s:.*)" if kind else "[^/]+"


def _hint(path: str) -> str:
    """Return what is wrong with a path that names the version twice."""
    twice = _TWO_VERSIONS.match(path)
    if twice is None:
        return ""
    return (
        f": the path has a version twice; the client adds /{twice[2]} itself, so leave "
        f"/{twice[1]} out of its base URL"
    )
