"""The ids under which providers, clouds and routers know the same model.

A model is looked for under its id as it is, and then without the parts that only state where it
runs or which snapshot it is:

- a path before it: `models/`, `publishers/google/models/`, `arn:aws:...:inference-profile/`, and
  the provider's own name, as in `openai/gpt-5.2`;
- a region of Amazon Bedrock: `us.`, `eu.`, ... but not `global.`, which has prices of its own;
- a version of Bedrock or Vertex: `-v1:0`, `@default`;
- a date: `-20250929`, `-2025-12-11`, `@20250929`.

Nothing else is taken off, and no id is matched by its beginning: `gpt-5.2-mini` is not `gpt-5.2`,
and `:free` is another price.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Final

PROVIDER_ALIASES: Final = {"gemini": "google"}
"""Other names of providers, with their ids."""

NAMES_ELSEWHERE: Final = {
    "amazon_bedrock": "bedrock",
    "anthropic_bedrock": "bedrock",
    "azure_ai": "azure",
    "azure_openai": "azure",
    "bedrock_converse": "bedrock",
    "fireworks_ai": "fireworks",
    "github_copilot": "github-copilot",
    "google-gla": "google",
    "google-vertex": "vertex",
    "google_genai": "google",
    "google_vertexai": "vertex",
    "grok": "xai",
    "hosted_vllm": "vllm",
    "lm_studio": "lmstudio",
    "mistralai": "mistral",
    "moonshotai": "moonshot",
    "ollama_chat": "ollama",
    "openai_like": "openai",
    "text-completion-openai": "openai",
    "together_ai": "together",
    "vertex_ai": "vertex",
}
"""Ids of providers in the prefixes of LiteLLM (`vertex_ai/`), LangChain (`google_genai:`) and
pydantic-ai (`google-gla:`), with those of this library. Errors name these."""

FAMILIES: Final = {
    **{
        name: ("anthropic", rf"claude-{family}-[\d-]+")
        for family in ("fable", "haiku", "opus", "sonnet")
        for name in (family, f"claude-{family}")
    },
    "gemini-flash": ("google", r"gemini-[\d.]+-flash"),
    "gemini-flash-lite": ("google", r"gemini-[\d.]+-flash-lite"),
    "gpt-mini": ("openai", r"gpt-[\d.]+-mini"),
    "gpt-nano": ("openai", r"gpt-[\d.]+-nano"),
}
"""Short names that no provider accepts, each with its provider and a pattern of its models' ids."""

_PATH = re.compile(r"^(?:.*/)?models/|^arn:[^/]*/")
_REGION = re.compile(r"^(?:us-gov|us|eu|apac|jp|au|ca|in|sa|mx)\.(?=[a-z])")
_VERSION = re.compile(r"(?:-v\d+(?::\d+(?::\w+)?)?|(?<=\d):\d|@(?:default|latest))$")
_DATE = re.compile(r"[-@](?:20\d{6}|20\d\d-\d\d-\d\d)$")


@lru_cache(maxsize=1024)
def names_of(model_id: str, provider: str) -> tuple[str, ...]:
    """Return the names to look for *model_id* of *provider* under, the most exact first."""
    names: dict[str, None] = {}
    for before, after in product(_starts(model_id.lower(), provider), _ENDS):
        name = before
        for pattern in after:
            name = pattern.sub("", name)
        if name:
            names[name] = None
    return tuple(names)


_ENDS = ((), (_VERSION,), (_DATE,), (_VERSION, _DATE))


def _starts(model_id: str, provider: str) -> Iterator[str]:
    yield model_id
    bare = _PATH.sub("", model_id).removeprefix(f"{provider}/")
    yield bare
    yield _REGION.sub("", bare)
