"""Other people's clients as programs: scenes in JavaScript, and Codex."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

JS = Path(__file__).parents[2] / "clients" / "js"
CLIENT_KEY = "sk-client-of-the-tests"

_SCENE_S = 120
_TURN_S = 300


def require_clients() -> None:
    """Fail unless Node and the packages are there."""
    if shutil.which("node") is None:
        pytest.fail("node is missing: install Node.js 20 or newer, then run `make test-clients`")
    for name, version in pinned().items():
        if installed(name) != version:
            pytest.fail(f"{name} {version} is not installed: run `make test-clients`")


def pinned() -> dict[str, str]:
    """Return the packages and the versions that the tests are for."""
    versions: dict[str, str] = json.loads((JS / "package.json").read_text())["dependencies"]
    return versions


def installed(name: str) -> str | None:
    """Return the version of a package in `node_modules`, None if it is not there."""
    path = JS / "node_modules" / name / "package.json"
    version: str | None = json.loads(path.read_text())["version"] if path.exists() else None
    return version


def environ(**variables: str) -> dict[str, str]:
    """Return an environment in which a client knows of nothing but the gateway."""
    return {"PATH": os.environ["PATH"], "NO_PROXY": "127.0.0.1", **variables}


def scene(program: str, name: str, url: str, *, model: str = "m-1", **variables: str) -> Any:
    """Run a scene of a JavaScript program and return what it printed."""
    return run_node(f"{program}.mjs", name, BASE_URL=url, MODEL=model, **variables)


def run_node(*command: str, **variables: str) -> Any:
    """Run a JavaScript program and return the JSON that it printed."""
    done = subprocess.run(
        ["node", *command],
        cwd=JS,
        env=environ(API_KEY=CLIENT_KEY, **variables),
        capture_output=True,
        check=False,
        text=True,
        timeout=_SCENE_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# -- Codex

_CONFIG = """
model = "{model}"
check_for_update_on_startup = false
sandbox_mode = "danger-full-access"
approval_policy = "never"
{root}

[analytics]
enabled = false

[features]
plugins = false
apps = false
remote_plugin = false
{features}

{tables}
"""

_PROVIDER = """
[model_providers.gateway]
name = "The gateway"
base_url = "{url}"
wire_api = "responses"
env_key = "GATEWAY_KEY"
request_max_retries = 0
stream_max_retries = 0
"""

_SMALL_ROOT = """
web_search = "disabled"
include_permissions_instructions = false
include_apps_instructions = false
include_collaboration_mode_instructions = false
include_environment_context = false
model_instructions_file = "{instructions}"
"""


@frozen
class CodexTurn:
    """The output of `codex exec`, and the folder that it worked in."""

    code: int
    events: Sequence[dict[str, Any]]
    errors: str
    folder: Path

    @property
    def items(self) -> list[dict[str, Any]]:
        """The finished items: messages, commands, changes of files."""
        return [event["item"] for event in self.events if event["type"] == "item.completed"]

    @property
    def has_message(self) -> bool:
        """Whether the model wrote anything."""
        return any(item["type"] == "agent_message" and item["text"] for item in self.items)

    @property
    def text(self) -> str:
        """The last message."""
        return str([item["text"] for item in self.items if item["type"] == "agent_message"][-1])


@frozen
class Codex:
    """The Codex CLI with a home and a project of its own below *folder*."""

    folder: Path
    url: str
    model: str = "m-1"
    small: bool = False
    """Whether its prompt is cut down to what a small model has room for."""
    builtin: bool = False
    """Whether the gateway stands in for OpenAI itself, not for a provider of its own."""
    compact_at: int | None = None
    """The number of tokens from which on a conversation is summarised."""

    def run(self, prompt: str, *options: str) -> CodexTurn:
        """Run one turn; it may use tools without being asked."""
        return self._exec(*options, "--", prompt)

    def resume(self, prompt: str) -> CodexTurn:
        """Run one more turn of the last session."""
        return self._exec("resume", "--last", "--", prompt)

    def _exec(self, *arguments: str) -> CodexTurn:
        home, project = self.folder / "codex", self.folder / "project"
        home.mkdir(exist_ok=True)
        project.mkdir(exist_ok=True)
        (home / "config.toml").write_text(self._config(home))
        program = str(JS / "node_modules/.bin/codex")
        done = subprocess.run(
            [program, "exec", "--skip-git-repo-check", "--json", *arguments],
            cwd=project,
            env=environ(
                HOME=str(self.folder),
                CODEX_HOME=str(home),
                GATEWAY_KEY=CLIENT_KEY,
                CODEX_API_KEY=CLIENT_KEY,
            ),
            capture_output=True,
            check=False,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_TURN_S,
        )
        return CodexTurn(done.returncode, list(_events(done.stdout)), done.stderr, project)

    def _config(self, home: Path) -> str:
        where = f'openai_base_url = "{self.url}"' if self.builtin else 'model_provider = "gateway"'
        root, features = where, ""
        if self.compact_at is not None:
            root += f"\nmodel_auto_compact_token_limit = {self.compact_at}"
        tables = "" if self.builtin else _PROVIDER.format(url=self.url)
        if self.small:
            instructions = home / "instructions.md"
            instructions.write_text("You are a helpful assistant. Answer in one short sentence.")
            root += _SMALL_ROOT.format(instructions=instructions)
            features = "goals = false\n"
            tables += "\n[agents]\nenabled = false\n\n[skills.bundled]\nenabled = false\n"
        return _CONFIG.format(model=self.model, root=root, features=features, tables=tables)


def _events(printed: str) -> Iterator[dict[str, Any]]:
    for line in printed.splitlines():
        if line.strip():
            yield json.loads(line)
