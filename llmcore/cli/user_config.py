"""The user's configuration file: default model, aliases, templates, whether to log."""

import json
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from llmcore.cli.failures import UsageError
from llmcore.cli.program import nearest_hint
from llmcore.client.user_folders import config_dir, write_for_owner
from llmcore.schema.errors import ConfigurationError, InvalidRequestError
from llmcore.schema.frozen import frozen

KEYS: Final = {
    "model": "the model of commands that name none, such as openai:gpt-5.2",
    "system": "the system prompt of commands that give none",
    "log": "on or off: whether `ask` and `chat` store conversations without a name",
    "alias.NAME": "a model that NAME stands for",
    "template.NAME.model": "the model of `ask -t NAME`",
    "template.NAME.system": "the system prompt of `ask -t NAME`",
    "template.NAME.prompt": "the prompt of `ask -t NAME`; $input is the prompt that is given",
}
"""The keys of `llmcore config set`, and what each holds."""


@frozen(kw_only=True)
class Template:
    """A stored prompt."""

    model: str | None = None
    system: str | None = None
    prompt: str | None = None

    def fill(self, text: str, values: Mapping[str, str]) -> str:
        """Return the prompt with `$input` and *values* in it; *text* follows one without `$input`.

        Raises InvalidRequestError for a placeholder without a value, and for a value without one.
        """
        if self.prompt is None:
            return text
        template = string.Template(self.prompt)
        known = [name for name in template.get_identifiers() if name != "input"]
        for name in values:
            if name not in known:
                hint = nearest_hint(name, known) if known else ""
                raise InvalidRequestError(f"the template has no parameter {name!r}{hint}")
        try:
            filled = template.substitute({"input": text, **values})
        except KeyError as error:
            message = f"the template has a parameter without a value: give -p {error.args[0]}=VALUE"
            raise InvalidRequestError(message, cause=error) from error
        except ValueError as error:
            raise InvalidRequestError(f"the template is invalid: {error}", cause=error) from error
        if "input" in template.get_identifiers() or not text:
            return filled
        return f"{filled}\n\n{text}"


@frozen
class UserConfig:
    """The values of the file, by their keys with dots, such as `alias.fast`."""

    values: Mapping[str, str]

    def get(self, key: str) -> str | None:
        """Return the value of *key*; None if it is not set."""
        return self.values.get(key)

    @property
    def log(self) -> bool:
        """Whether conversations without a name are stored."""
        return self.get("log") != "off"

    def model_named(self, name: str) -> str:
        """Return the model that the alias *name* represents; *name* if it is not an alias."""
        return self.values.get(f"alias.{name}", name)

    def template(self, name: str) -> Template:
        """Return the template *name*; raises InvalidRequestError for an unknown one."""
        start = f"template.{name}."
        fields = {k.removeprefix(start): v for k, v in self.values.items() if k.startswith(start)}
        if not fields:
            known = sorted({k.split(".")[1] for k in self.values if k.startswith("template.")})
            there = f"there are: {', '.join(known)}" if known else f"store one with {_STORE}"
            raise InvalidRequestError(f"there is no template {name!r} ({there})")
        return Template(**fields)


_STORE: Final = "`llmcore config set template.NAME.prompt TEXT`"


def config_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the configuration file, which may not exist."""
    return config_dir(environ) / "config.json"


def read_config(environ: Mapping[str, str]) -> UserConfig:
    """Read the configuration; empty without a file.

    Raises ConfigurationError, naming the file, for one that cannot be read or has unknown keys.
    """
    path = config_file(environ)
    try:
        values = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):  # such as below a home /dev/null
        return UserConfig({})
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}", cause=error) from error
    if not isinstance(values, dict) or not all(isinstance(v, str) for v in values.values()):
        raise ConfigurationError(f"{path} is not a JSON object of strings")
    for key, value in values.items():
        try:
            check(key, value)
        except UsageError as error:
            raise ConfigurationError(f"{path}: {error.message}", cause=error) from error
    return UserConfig(values)


def check(key: str, value: str) -> None:
    """Raise UsageError unless *key* can be set to *value*."""
    pattern = ".".join(
        "NAME" if index == 1 else word for index, word in enumerate(key.split(".")) if word
    )
    if pattern not in KEYS:
        raise UsageError(f"there is no key {key!r}{nearest_hint(key, KEYS)}")
    if key == "log" and value not in ("on", "off"):
        raise UsageError(f"log is on or off, not {value!r}")


def write_config(environ: Mapping[str, str], values: Mapping[str, str]) -> Path:
    """Replace the configuration by *values*. Raises ConfigurationError if it cannot be written."""
    path = config_file(environ)
    write_private(path, dict(sorted(values.items())))
    return path


def write_private(path: Path, document: Mapping[str, Any]) -> None:
    """Write *document* as JSON, atomically, to a file that only its owner can read.

    Raises ConfigurationError, naming the file.
    """
    try:
        text = json.dumps(document, indent=2, ensure_ascii=False)
        write_for_owner(path, f"{text}\n".encode())
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(f"cannot write {path}: {error}", cause=error) from error
