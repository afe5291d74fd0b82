"""The names of models that clients may use: the target of each, and a list of them."""

import logging
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

import anyio

from llmcore.bridge.api import Caller
from llmcore.bridge.http.logs import log
from llmcore.bridge.model_map import ModelMap, ModelPool
from llmcore.bridge.upstream import Upstreams
from llmcore.fronts.errors import FrontError
from llmcore.schema.errors import LLMError
from llmcore.schema.frozen import frozen
from llmcore.schema.hints import nearest
from llmcore.schema.json import JsonObject, JsonValue

_LIST_FOR_S = 60.0
"""Seconds for which the upstream's list of models is reused."""

_OF_CLAUDE: Final = ("claude", "anthropic")
"""The beginnings of ids that Claude Code shows of a list of models; it leaves out all others
(https://code.claude.com/docs/en/llm-gateway, read November 2026)."""

_POOLS_KEPT: Final = 1000
"""The most names whose targets are cached, since clients can send any name."""
_LONG_NAME: Final = 200
"""The targets of names of this length or more are not cached."""
_COMPARED: Final = 50
_LONGEST_COMPARED: Final = 80
"""How many names are compared with one that is not known, and how many characters of it: this is
done while other requests wait."""


@frozen
class _Listed:
    until: float
    ids: Sequence[str]


class ModelNames:
    """The map's names, and the upstream's own."""

    def __init__(self, model_map: ModelMap, upstreams: Upstreams, *, prefix: str = "") -> None:
        """Resolve names by *model_map*, also those that begin with *prefix*."""
        self._model_map = model_map
        self._upstreams = upstreams
        self._prefix = prefix
        self._listed: dict[str, _Listed] = {}
        self._asking = anyio.Lock()
        self._pools: dict[str, ModelPool] = {}
        """The targets of names that were asked for."""

    @property
    def mapped(self) -> list[str]:
        """The names that the map has."""
        return sorted(self._model_map.names)

    def pool(self, name: str) -> ModelPool:
        """Return the targets of *name*; FrontError, 404, if it has none."""
        known = self._pools.get(name)
        if known is not None:
            return known
        pool = self.find(name)
        if pool is None or not all(_is_safe(target.model) for target in pool.targets):
            raise no_model(name)
        if len(self._pools) < _POOLS_KEPT and len(name) < _LONG_NAME:
            self._pools[name] = pool
        return pool

    def pool_for(self, caller: Caller, name: str) -> ModelPool:
        """Return the targets of *name* for *caller*.

        Raises FrontError, 404, if there are none. It has the nearest name that *caller* may use.
        """
        try:
            pool = self.pool(name)
        except FrontError as error:
            raise no_model(name, self._names_for(caller)) from error
        if not caller.allows(self.plain(name)):
            raise no_model(name, self._names_for(caller))
        return pool

    def _names_for(self, caller: Caller) -> list[str]:
        """Return names of the map that *caller* may use, as many as are compared with another."""
        allowed = (name for name in self._model_map.names if caller.allows(name))
        return list(islice(allowed, _COMPARED))

    def find(self, name: str) -> ModelPool | None:
        """Return the targets of *name*; None if it has none."""
        return self._model_map.pool(self.plain(name))

    async def all(self) -> Sequence[str]:
        """Return the names of models: the map's, and the upstream's own where they pass.

        Where all other names have one model, its own name is listed too: clients show their users
        what the list has, and nothing else.
        """
        names = dict.fromkeys(self._model_map.names)
        if self._model_map.otherwise is not None:
            names |= {self._model_map.otherwise.model: None}
        if self._model_map.passes:
            names |= dict.fromkeys(await self._upstream_models(self._model_map.first_upstream))
        return list(names)

    def prefixed(self, name: str) -> str:
        """Return *name* with the prefix for clients that show only models of Claude."""
        return name if name.startswith((*_OF_CLAUDE, self._prefix)) else self._prefix + name

    def plain(self, name: str) -> str:
        """Return *name* without the prefix for clients that show only models of Claude."""
        if self._prefix and name not in self._model_map.names:
            return name.removeprefix(self._prefix)
        return name

    def owner(self, name: str) -> str:
        """Return the provider of the model called *name*."""
        pool = self.find(name)
        return "openbridge" if pool is None else pool.first.provider

    async def _upstream_models(self, provider: str) -> Sequence[str]:
        async with self._asking:  # concurrent callers share one request
            listed = self._listed.get(provider)
            if listed is None or listed.until < anyio.current_time():
                try:
                    ids = await self._upstreams.models(provider)
                except LLMError as error:
                    log(logging.WARNING, "models_not_listed", provider=provider, error=str(error))
                    ids = ()
                listed = _Listed(anyio.current_time() + _LIST_FOR_S, ids)
                self._listed[provider] = listed
        return listed.ids


_MODELS_INSTEAD: Final = (
    "models", "fallbacks", "context_window_fallbacks", "content_policy_fallbacks"
)  # fmt: skip
"""Fields with the models that may respond instead: OpenRouter's, LiteLLM's and Anthropic's."""
_USING_MODELS: Final = ("plugins", "tools")
"""Fields whose items may use a model, such as OpenAI's images and Anthropic's advisor."""
_NAMES_OF_USED: Final = ("model", "models", "allowed_models", "analysis_models")


def models_instead(body: JsonObject) -> tuple[str, ...]:
    """Return the names of the models that may respond in place of the one that *body* asks for.

    Sources, read November 2026: https://openrouter.ai/docs/guides/routing/model-fallbacks,
    https://platform.claude.com/docs/en/build-with-claude/server-side-fallback.
    """
    return tuple(dict.fromkeys(n for key in _MODELS_INSTEAD for n in _names(body.get(key))))


def further_models(body: JsonObject) -> tuple[str, ...]:
    """Return the names of all models that *body* lets its upstream use besides its own.

    They include those of plugins, of tools that the upstream runs, and OpenRouter's presets.
    """
    found = [*models_instead(body)]
    for key in _USING_MODELS:
        items = body.get(key)
        for item in items if isinstance(items, list) else ():
            given = item.get("parameters") if isinstance(item, dict) else None
            for fields in (item, given):
                if isinstance(fields, dict):
                    found += (name for key in _NAMES_OF_USED for name in _names(fields.get(key)))
    if isinstance(preset := body.get("preset"), str):
        found.append(f"@preset/{preset}")
    return tuple(dict.fromkeys(found))


def _names(value: JsonValue) -> Iterator[str]:
    """Yield the names in `"m"`, `["m"]`, `[{"model": "m"}]` and LiteLLM's `[{"m": ["n"]}]`."""
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            pending += reversed(value)
        elif isinstance(value, dict):
            pending += [value["model"]] if "model" in value else value.values()


def _is_safe(model: str) -> bool:
    """Return whether *model* can be an id, also in a URL's path, where some upstreams have it."""
    return (
        model.isprintable() and model == model.strip() and not {".", ".."} & set(model.split("/"))
    )


def no_model(name: str, names: Sequence[str] = ()) -> FrontError:
    """Return the error of a request for a model that its client cannot use, 404.

    It has the nearest of *names*, if one is near.
    """
    hint = nearest(name[:_LONGEST_COMPARED], names)
    return FrontError(
        status=404,
        message=f"The model '{name[:200]}' does not exist here: see GET /v1/models"
        + (f"; {hint}" if hint else ""),
        code="model_not_found",
        param="model",
    )
