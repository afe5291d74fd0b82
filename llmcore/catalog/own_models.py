"""Models of the user's own, from a document in the form of the catalog's file.

    {"models": [{"id": "house-1", "provider": "house", "display_name": "The house model",
                 "context_window": 32000, "prices": {"input": 0.2, "output": 0.8}}]}

`models.schema.json` describes it; other fields beside `models` are ignored.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from llmcore.catalog.model_info import ModelInfo
from llmcore.catalog.records import model_from
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.json import JsonValue

_TEXTS: Final = ("id", "provider", "display_name", "release_date")
_COUNTS: Final = ("context_window", "max_output")
_FLAGS: Final = (
    *("supports_tools", "supports_vision", "supports_reasoning", "supports_structured_output"),
    "deprecated",
)
_LISTS: Final = ("aliases", "endpoints", "tool_choice_modes")
_FIELDS: Final = frozenset({*_TEXTS, *_COUNTS, *_FLAGS, *_LISTS, "prices"})
_RATES: Final = ("input", "output", "cache_read", "cache_write", "cache_write_1h", "input_audio")


def models_from(document: JsonValue, source: str) -> tuple[ModelInfo, ...]:
    """Return the models of *document*; ConfigurationError, naming *source* and entry, if invalid.

    A model without a `display_name` is called by its id.
    """
    listed = document.get("models") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ConfigurationError(f'{source}: expected an object with a list "models"')
    return tuple(_model(entry, f"{source}: models[{n}]") for n, entry in enumerate(listed))


def merged(new: Sequence[ModelInfo], old: Sequence[ModelInfo]) -> tuple[ModelInfo, ...]:
    """Return *new*, and those of *old* that have other ids or providers."""
    replaced = {(model.provider, model.id) for model in new}
    return (*new, *(model for model in old if (model.provider, model.id) not in replaced))


def _model(entry: JsonValue, where: str) -> ModelInfo:
    if not isinstance(entry, dict):
        raise ConfigurationError(f"{where} is not an object")
    unknown = entry.keys() - _FIELDS
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ConfigurationError(f"{where} has fields that a model does not have: {names}")
    for name in ("id", "provider"):
        if not entry.get(name):
            raise ConfigurationError(f"{where} has no {name}")
    wrong = next((name for name, value in entry.items() if not _is_valid(name, value)), None)
    if wrong is not None:
        raise ConfigurationError(f"{where}.{wrong} is not valid: {entry[wrong]!r:.80}")
    try:
        return model_from(entry)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{where} is not valid: {error}", cause=error) from error


def _is_valid(name: str, value: Any) -> bool:
    if name in _TEXTS:
        return isinstance(value, str)
    if name in _COUNTS:
        return isinstance(value, int) and not isinstance(value, bool) and value > 0
    if name in _FLAGS:
        return isinstance(value, bool)
    if name in _LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, Mapping) and all(
        isinstance(rate, int | float) and not isinstance(rate, bool) and rate >= 0
        for rate in (value.get(rate) for rate in _RATES if rate in value)
    )
