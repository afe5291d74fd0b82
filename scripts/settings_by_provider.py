"""The table of `docs/settings.md`: which provider takes which setting, found by preparing requests.

    python scripts/settings_by_provider.py

writes it into the page; a test reports when that is due. Each setting is prepared alone, for an
example model of each provider; the diagnostics list what is left out or changed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from llmcore import Client, LLMError, ToolDefinition, request
from llmcore.routes.providers import PROVIDERS, ProviderEntry
from llmcore.routes.route import Route
from llmcore.schema.json import JsonObject
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy, GenerationOptions, ReasoningOptions, ResponseFormat
from scripts.made_sections import with_section
from scripts.provider_table import ARGUMENTS, EXAMPLE

PAGE: Final = Path(__file__).parents[1] / "docs" / "settings.md"

SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
}
TOOL: Final = ToolDefinition("look_up", "Looks up a word.", SCHEMA)
SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "temperature": {"generation": GenerationOptions(temperature=0.5)},
    "top_p": {"generation": GenerationOptions(top_p=0.9)},
    "top_k": {"generation": GenerationOptions(top_k=40)},
    "stop": {"generation": GenerationOptions(stop=("END",))},
    "seed": {"generation": GenerationOptions(seed=1)},
    "service_tier": {"generation": GenerationOptions(service_tier="flex")},
    "presence_penalty": {"generation": GenerationOptions(presence_penalty=0.5)},
    "frequency_penalty": {"generation": GenerationOptions(frequency_penalty=0.5)},
    "logprobs": {"generation": GenerationOptions(logprobs=True)},
    "tools": {"tools": [TOOL]},
    "tool_choice": {"tools": [TOOL], "tool_choice": "required"},
    "parallel_tool_calls": {"tools": [TOOL], "parallel_tool_calls": False},
    "response_format": {"response_format": ResponseFormat.json_schema(SCHEMA)},
    "reasoning effort": {"reasoning": ReasoningOptions(effort="high")},
    "reasoning budget": {"reasoning": ReasoningOptions(budget_tokens=2048), "max_tokens": 8192},
    "cache key": {"cache": CachePolicy(key="k")},
    "metadata": {"metadata": {"user": "u1"}},
}
"""The settings, each with an example of its use."""

MODELS: Final[dict[str, tuple[str, ...]]] = {
    "openai": ("gpt-5.2", "gpt-4.1"),
    "anthropic": ("claude-opus-4-6",),
    "google": ("gemini-3-flash-preview",),
    "mistral": ("mistral-large-latest",),
    "deepseek": ("deepseek-chat",),
    "xai": ("grok-4",),
    "moonshot": ("kimi-k2",),
    "zai": ("glm-4.6",),
    "perplexity": ("sonar-pro",),
    "azure": ("gpt-4.1",),
    "openrouter": ("openai/gpt-4.1",),
    "bedrock": ("anthropic.claude-sonnet-4-6", "amazon.nova-pro-v1:0"),
    "vertex": ("gemini-2.5-pro", "claude-sonnet-4-6", "mistral-medium-3", "openai/gpt-6-luna"),
}
"""Example models, where the settings depend on the model; the others take any id."""

KEYS: Final = {
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "GOOGLE_CLOUD_LOCATION": "europe-west4",
}
"""What a request is prepared with: the signature of Bedrock, a region of Mistral on Vertex AI."""


@frozen
class Row:
    """A model of a provider, and what its requests lose."""

    provider: str
    protocol: str
    model: str
    taken: frozenset[str]
    changed: frozenset[str]
    left_out: tuple[str, ...]
    refused: frozenset[str]
    """Those of `left_out` that are an error."""


def rows() -> Iterator[Row]:
    """Yield a row for each example model and API of each provider."""
    client = Client(environ={**EXAMPLE, **KEYS})
    for entry in PROVIDERS:
        for model in _models(entry):
            client.prepare(request(model=model, prompt="Hi")).unwrap()  # the settings are at fault
            found = {name: _outcome(client, model, given) for name, given in SETTINGS.items()}
            yield Row(
                entry.id,
                str(model.route.protocol.id) if isinstance(model.route, Route) else "",
                model.id,
                frozenset(name for name, outcome in found.items() if outcome == "taken"),
                frozenset(name for name, outcome in found.items() if outcome == "changed"),
                tuple(name for name, outcome in found.items() if outcome in ("dropped", "refused")),
                frozenset(name for name, outcome in found.items() if outcome == "refused"),
            )


def _models(entry: ProviderEntry) -> Iterator[Model]:
    facade: Any = entry.load()(**ARGUMENTS.get(entry.id, {}))
    for model_id in MODELS.get(entry.id, ("any",)):
        if entry.id == "openai":
            yield facade.responses(model_id)
            yield facade.chat(model_id)
        else:
            yield facade.model(model_id)


def _outcome(client: Client, model: Model, given: dict[str, Any]) -> str:
    """Return whether the setting is taken, changed, dropped or refused."""
    try:
        prepared = client.prepare(request(model=model, prompt="Hi", **given)).unwrap()
    except LLMError:
        return "refused"  # an error that names it, before anything is sent
    notes = [note for note in prepared.diagnostics if note.code != "missing-api-key"]
    if any(note.action == "dropped" for note in notes):
        return "dropped"
    return "changed" if any(note.action == "changed" for note in notes) else "taken"


def table() -> str:
    """Return a line for each example model: what it takes no part of, and what is adapted."""
    lines = ["| Provider | API | Model | Left out | Adapted |", "| --- | --- | --- | --- | --- |"]
    for row in rows():
        left_out = ", ".join(_named(name, row) for name in row.left_out) or "nothing"
        adapted = ", ".join(f"`{name}`" for name in SETTINGS if name in row.changed) or "nothing"
        cells = (f"`{row.provider}`", row.protocol, row.model, left_out, adapted)
        lines.append(f"| {' | '.join(cells)} |")
    return "".join(f"{line}\n" for line in lines)


def _named(setting: str, row: Row) -> str:
    return f"`{setting}`" + " (an error)" * (setting in row.refused)


def page(text: str) -> str:
    """Return *text* with the current table in its place."""
    return with_section(text, table(), "settings_by_provider")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
