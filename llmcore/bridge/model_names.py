"""The names of models that clients may use: the target of each, and a list of them."""

import logging
from collections.abc import Sequence

import anyio
from attrs import frozen

from llmcore.bridge.http.logs import log
from llmcore.bridge.model_map import ModelMap, UpstreamModel
from llmcore.bridge.upstream import Upstreams
from llmcore.fronts.errors import FrontError
from llmcore.schema.errors import LLMError

_LIST_FOR_S = 60.0
"""How long the upstream's list of models is used again."""


@frozen
class _Listed:
    until: float
    ids: Sequence[str]


class ModelNames:
    """The map's names, and the upstream's own."""

    def __init__(self, model_map: ModelMap, upstreams: Upstreams) -> None:
        self._model_map = model_map
        self._upstreams = upstreams
        self._listed: dict[str, _Listed] = {}
        self._asking = anyio.Lock()

    @property
    def mapped(self) -> list[str]:
        """The names that the map has."""
        return sorted(self._model_map.models)

    def target(self, name: str) -> UpstreamModel:
        """Return the target of *name*; FrontError, 404, if it has none."""
        target = self._model_map.resolve(name)
        if target is None or not _is_safe(target.model):
            raise _no_model(name)
        return target

    async def all(self) -> Sequence[str]:
        """Return the names of models: the map's, and the upstream's own where they pass."""
        names = dict.fromkeys(self._model_map.models)
        if self._model_map.passes:
            names |= dict.fromkeys(await self._upstream_models(self._model_map.upstream))
        return list(names)

    def owner(self, name: str) -> str:
        """Return the provider of the model called *name*."""
        target = self._model_map.resolve(name)
        return "openbridge" if target is None else target.provider

    async def _upstream_models(self, provider: str) -> Sequence[str]:
        async with self._asking:  # many who ask at once cost the upstream one request
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


def _is_safe(model: str) -> bool:
    """Return whether a model's name, which some upstreams have in their paths, stays in place."""
    return model.isprintable() and not {".", ".."} & set(model.split("/"))


def _no_model(name: str) -> FrontError:
    return FrontError(
        status=404,
        message=f"The model '{name[:200]}' does not exist here: see GET /v1/models",
        code="model_not_found",
        param="model",
    )
