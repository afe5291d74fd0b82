"""Coding agents as programs, each with a home, a project and the gateway and nothing else."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from tests.support.programs.client_programs import CLIENT_KEY, JS, environ

_RUN_S = 240


@frozen
class AgentRun:
    """A run of an agent that has ended."""

    code: int
    output: str
    errors: str
    project: Path
    """The folder that it worked in."""


def claude_code(folder: Path, url: str, prompt: str) -> AgentRun:
    """Run Claude Code, which speaks Messages. *url* is the gateway's, with `/v1`."""
    tools = "Read,Write,Bash"
    command = [_program("claude"), "-p", prompt, "--model", "m-1", "--allowedTools", tools]
    variables = {
        "ANTHROPIC_BASE_URL": _root(url),
        "ANTHROPIC_AUTH_TOKEN": CLIENT_KEY,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": "m-1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_AUTOUPDATER": "1",
    }
    return _run(folder, [*command, "--permission-mode", "acceptEdits"], variables)


def gemini_cli(folder: Path, url: str, prompt: str) -> AgentRun:
    """Run Gemini CLI, which speaks generateContent. *url* is the gateway's, with `/v1`."""
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _write(folder / ".gemini/settings.json", json.dumps(settings))
    command = [_program("gemini"), "-p", prompt, "--yolo", "--skip-trust", "-m", "gemini-2.5-pro"]
    variables = {"GEMINI_API_KEY": CLIENT_KEY, "GOOGLE_GEMINI_BASE_URL": _root(url)}
    return _run(folder, command, variables)


def opencode(folder: Path, url: str, prompt: str, package: str) -> AgentRun:
    """Run opencode with a provider of the AI SDK's, such as `@ai-sdk/openai-compatible`.

    *url* is the gateway's, with `/v1`.
    """
    base = f"{_root(url)}/v1beta" if package == "@ai-sdk/google" else url
    provider = {
        "npm": package,
        "name": "gateway",
        "options": {"baseURL": base, "apiKey": CLIENT_KEY},
        "models": {"m-1": {"name": "m-1", "tool_call": True}},
    }
    config = {"provider": {"gw": provider}, "permission": "allow", "autoupdate": False}
    _write(folder / "project/opencode.json", json.dumps(config))
    variables = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
    return _run(folder, [_program("opencode"), "run", "-m", "gw/m-1", prompt], variables)


def copilot(folder: Path, url: str, prompt: str, **variables: str) -> AgentRun:
    """Run GitHub's Copilot CLI with a provider of its user. *url* is the gateway's, with `/v1`.

    Its *variables* are without the prefix `COPILOT_`.
    """
    base = _root(url) if variables.get("PROVIDER_TYPE") == "anthropic" else url
    given = {"PROVIDER_BASE_URL": base, "PROVIDER_API_KEY": CLIENT_KEY, "MODEL": "m-1", **variables}
    command = [_program("copilot"), "-p", prompt, "--allow-all-tools", "--disable-client-telemetry"]
    return _run(folder, command, {f"COPILOT_{name}": value for name, value in given.items()})


def qwen(folder: Path, url: str, prompt: str, api: str) -> AgentRun:
    """Run Qwen Code, which speaks the API `openai`, `anthropic` or `gemini`."""
    variables = {
        "OPENAI_API_KEY": CLIENT_KEY,
        "OPENAI_BASE_URL": url,
        "OPENAI_MODEL": "m-1",
        "ANTHROPIC_API_KEY": CLIENT_KEY,
        "ANTHROPIC_BASE_URL": _root(url),
        "ANTHROPIC_MODEL": "m-1",
        "GEMINI_API_KEY": CLIENT_KEY,
        "GOOGLE_GEMINI_BASE_URL": _root(url),
        "GEMINI_MODEL": "m-1",
    }
    return _run(folder, [_program("qwen"), "-p", prompt, "--yolo", "--auth-type", api], variables)


def aider(folder: Path, url: str, prompt: str) -> AgentRun:
    """Run aider, which speaks Chat through LiteLLM and edits files by text alone."""
    program = shutil.which("aider", path=os.environ.get("AIDER_BIN") or os.environ["PATH"])
    assert program is not None, "aider is missing: run `make test-clients`"
    options = (
        "--yes-always --no-check-update --no-show-release-notes --analytics-disable --no-git "
        "--edit-format whole --no-show-model-warnings"
    )
    command = [program, "--model", "openai/m-1", "--message", prompt, *options.split()]
    variables = {
        "OPENAI_API_BASE": url,
        "OPENAI_API_KEY": CLIENT_KEY,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    return _run(folder, command, variables)


def _run(folder: Path, command: Sequence[str], variables: Mapping[str, str]) -> AgentRun:
    project = folder / "project"
    project.mkdir(exist_ok=True)
    done = subprocess.run(
        command,
        cwd=project,
        env=environ(HOME=str(folder), **variables),
        capture_output=True,
        check=False,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=_RUN_S,
    )
    return AgentRun(done.returncode, done.stdout, done.stderr, project)


def _program(name: str) -> str:
    return str(JS / "node_modules/.bin" / name)


def _root(url: str) -> str:
    return url.removesuffix("/v1")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
