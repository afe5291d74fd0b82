"""The settings of the commands of `openbridge`, and `openbridge config`.

That one checks the configuration, shows the effective settings, and writes an example.
"""

import argparse
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Final

import anyio

from llmcore.bridge.configuration.document import read_document
from llmcore.bridge.configuration.reading import (
    find_config,
    read_environment,
    settings_and_values,
    settings_from,
)
from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.bridge.configuration.show import shown
from llmcore.bridge.configuration.values import Values
from llmcore.cli.program import note, say
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.json import present


def _read(args: argparse.Namespace) -> tuple[GatewaySettings, Values]:
    with naming_options(args):
        environ = environ_of(args)
        path = find_config(environ, Path.cwd())
        return settings_and_values(environ, None if path is None else read_document(path))


def check(args: argparse.Namespace) -> int:
    """Check the settings, the sources of keys, and that each upstream can be made.

    Programs of `key_command` are run; nothing is sent.
    """
    from llmcore.bridge.accounts.prices import price_list
    from llmcore.bridge.model_map import model_map_of
    from llmcore.bridge.pools.keys import check_key_source
    from llmcore.bridge.pools.providers import upstreams_from
    from llmcore.bridge.state.stores import store_for
    from llmcore.bridge.tools_file import read_tools

    settings, _ = _read(args)
    model_map = model_map_of(settings)
    store_for(settings)  # not opened
    sources = [
        *((f"upstream {upstream.name!r}", upstream) for upstream in settings.tables.upstreams),
        *((f"client {client.name!r}", client) for client in settings.tables.clients),
    ]
    for owner, source in sources:
        anyio.run(partial(check_key_source, source, owner=owner, folder=settings.folder))
    upstreams_from(settings, model_map)
    read_tools(settings.tools_path)
    price_list(settings)
    where = settings.config_path or "variables only"
    names, models = ", ".join(sorted(model_map.providers)), len(model_map.names)
    say(f"{where}: valid; upstreams: {names}; models: {models}")
    return 0


def show(args: argparse.Namespace) -> int:
    """Print the effective settings without secrets, and return the exit code."""
    say(shown(*_read(args)))
    return 0


def init(args: argparse.Namespace) -> int:
    """Write the example; only its owner can read it, since keys may be put into it."""
    path: Path = args.file
    how = os.O_TRUNC if args.force else os.O_EXCL
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    except FileExistsError as error:
        message = f"{path} exists already: --force replaces it"
        raise ConfigurationError(message, cause=error) from error
    with open(descriptor, "wb") as file:
        file.write(files("llmcore.bridge.configuration").joinpath("example.toml").read_bytes())
    note(f"{path} is written: edit it, and check it with `openbridge config check`")
    return 0


# -- shared

_OPTIONS: Final = {
    "OPENBRIDGE_ENV_FILE": "env_file",
    "OPENBRIDGE_CONFIG": "config",
    "OPENBRIDGE_UPSTREAM": "upstream",
    "OPENBRIDGE_MODEL_MAP_PATH": "model_map",
    "OPENBRIDGE_HOST": "host",
    "OPENBRIDGE_PORT": "port",
    "OPENBRIDGE_WORKERS": "workers",
}
"""Variables that options set, and the names of their values in the parsed arguments."""
_VARIABLE: Final = re.compile(r"OPENBRIDGE_\w+")


def _given(args: argparse.Namespace) -> dict[str, str]:
    """Return the variables that the options of a command line set."""
    return present({name: getattr(args, value, None) for name, value in _OPTIONS.items()})


@contextmanager
def naming_options(args: argparse.Namespace) -> Iterator[None]:
    """Let errors about the value of an option name the option, and not its variable."""
    try:
        yield
    except ConfigurationError as error:
        variable = _VARIABLE.match(error.message)
        if variable is None or variable[0] not in _given(args):
            raise
        option = f"--{_OPTIONS[variable[0]].replace('_', '-')}"
        message = f"{option}{error.message[variable.end() :]}"
        raise ConfigurationError(message, hint=error.hint, cause=error.cause) from error


def environ_of(args: argparse.Namespace, **more: str) -> Mapping[str, str]:
    """Return the variables of the environment and of `.env`, with the options over them."""
    return read_environment({**os.environ, **_given(args), **more}, Path.cwd())


def settings_of(args: argparse.Namespace, **more: str) -> GatewaySettings:
    """Return the settings that *args*, the environment and the configuration file give."""
    with naming_options(args):
        environ = environ_of(args, **more)
        return settings_from(environ, find_config(environ, Path.cwd()))


def settings_of_store(args: argparse.Namespace) -> GatewaySettings:
    """Return the settings of commands that ask no upstream, so that none need be configured."""
    return settings_of(args) if args.upstream else settings_of(args, OPENBRIDGE_UPSTREAM="local")
