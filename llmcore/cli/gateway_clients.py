"""How programs are pointed at the gateway: their variables and arguments, and the text about it.

Sources, read November 2026: https://code.claude.com/docs/en/llm-gateway,
https://developers.openai.com/codex/config-reference, https://geminicli.com/docs/reference/configuration,
https://opencode.ai/docs/providers, https://aider.chat/docs/llms/openai-compat.html, the output of
`copilot help providers`, https://qwenlm.github.io/qwen-code-docs/en/users/configuration/auth, and
the documents of the official SDKs.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from llmcore.schema.frozen import frozen
from llmcore.schema.json import JsonObject

ANY_KEY: Final = "any"
"""In place of a key, for a gateway that takes requests without one: programs insist on some."""

_CODEX_PROVIDER: Final = "openbridge"


@frozen(kw_only=True)
class Address:
    """Where a gateway is, and what programs show and ask it for."""

    root: str
    """The URL without a path, such as `http://127.0.0.1:8787`."""
    key: str = ANY_KEY
    model: str | None = None
    """The model that programs ask for; None leaves it to them."""


@frozen
class _Program:
    """A program, by the name that people know it by."""

    title: str
    lines: tuple[str, ...]
    """The command to type, with {root}, {key} and {model} as placeholders."""


_PROGRAMS: Final = (
    _Program(
        "Claude Code",
        ("export ANTHROPIC_BASE_URL={root} ANTHROPIC_AUTH_TOKEN={key}", "claude --model {model}"),
    ),
    _Program(
        "Codex",
        (
            "export OPENAI_API_KEY={key}",
            "codex -c openai_base_url={root}/v1 --model {model}",
        ),
    ),
    _Program(
        "Gemini CLI",
        ("export GOOGLE_GEMINI_BASE_URL={root} GEMINI_API_KEY={key}", "gemini --model {model}"),
    ),
    _Program(
        "opencode",
        (
            "export OPENCODE_CONFIG_CONTENT='{{\"provider\": {opencode}}}'",
            "opencode --model openbridge/{model}",
        ),
    ),
    _Program(
        "aider",
        ("export OPENAI_API_BASE={root}/v1 OPENAI_API_KEY={key}", "aider --model openai/{model}"),
    ),
    _Program(
        "Copilot CLI",
        (
            "export COPILOT_PROVIDER_BASE_URL={root}/v1 COPILOT_PROVIDER_API_KEY={key}",
            "copilot --model {model}",
        ),
    ),
    _Program(
        "Qwen Code",
        ("export OPENAI_BASE_URL={root}/v1 OPENAI_API_KEY={key}", "qwen --model {model}"),
    ),
    _Program(
        "SDKs",
        (
            "export OPENAI_BASE_URL={root}/v1 OPENAI_API_KEY={key} ANTHROPIC_BASE_URL={root}",
            "export ANTHROPIC_API_KEY={key} GOOGLE_GEMINI_BASE_URL={root} GEMINI_API_KEY={key}",
        ),
    ),
)


def instructions(address: Address) -> str:
    """Return, for each program, the two lines that point it at the gateway."""
    model = address.model or "MODEL"
    fields = {
        "root": address.root,
        "key": address.key,
        "model": model,
        "opencode": json.dumps(_opencode(address, model)),
    }
    blocks = [
        "\n".join([f"{program.title}:", *(f"  {line.format(**fields)}" for line in program.lines)])
        for program in _PROGRAMS
    ]
    return "\n".join(blocks)


# -- a program that the gateway starts


def variables(address: Address) -> Mapping[str, str]:
    """Return the variables that point any of the programs and SDKs at the gateway."""
    api = f"{address.root}/v1"
    named = {
        "OPENAI_BASE_URL": api,
        "OPENAI_API_BASE": api,
        "AIDER_OPENAI_API_BASE": api,
        "OPENAI_API_KEY": address.key,
        "ANTHROPIC_BASE_URL": address.root,
        "ANTHROPIC_AUTH_TOKEN": address.key,
        "GOOGLE_GEMINI_BASE_URL": address.root,
        "GEMINI_API_KEY": address.key,
        "CODEX_API_KEY": address.key,
        "COPILOT_PROVIDER_BASE_URL": api,
        "COPILOT_PROVIDER_API_KEY": address.key,
    }
    if address.model is None:
        return named
    config = {
        "provider": _opencode(address, address.model),
        "model": f"openbridge/{address.model}",
    }
    return {
        **named,
        "ANTHROPIC_MODEL": address.model,
        **{f"ANTHROPIC_DEFAULT_{size}_MODEL": address.model for size in _CLAUDE_SIZES},
        "GEMINI_MODEL": address.model,
        "OPENAI_MODEL": address.model,
        "COPILOT_MODEL": address.model,
        "AIDER_MODEL": f"openai/{address.model}",
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
    }


def _opencode(address: Address, model: str) -> JsonObject:
    """Return the `provider` table of opencode's configuration."""
    provider: JsonObject = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "OpenBridge",
        "options": {"baseURL": f"{address.root}/v1", "apiKey": address.key},
        "models": {model: {}},
    }
    return {"openbridge": provider}


_CLAUDE_SIZES: Final = ("OPUS", "SONNET", "HAIKU")
"""Claude Code asks for a model of each size; all of them are the one that was named."""

OTHERS_KEYS: Final = ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY")
"""Variables that would win over ours, and send a key of the user's to the gateway."""


def command(words: Sequence[str], address: Address) -> list[str]:
    """Return *words*, with the arguments that a program needs where variables do not suffice."""
    program, *arguments = words
    if Path(program).stem != "codex":
        return [program, *arguments]
    provider = f'{{name="OpenBridge",base_url="{address.root}/v1",env_key="CODEX_API_KEY"}}'
    given = [
        "-c",
        f"model_providers.{_CODEX_PROVIDER}={provider}",
        "-c",
        f"model_provider={_CODEX_PROVIDER}",
    ]
    if address.model is not None:
        given += ["-c", f"model={json.dumps(address.model)}"]
    return [program, *given, *arguments]
