"""The settings of the commands of `openbridge`, and `openbridge config`.

That one checks the configuration, shows the effective settings, and writes an example.
"""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from llmcore.bridge.configuration.document import read_document
from llmcore.bridge.configuration.example import EXAMPLE
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


def _read(environ: Mapping[str, str]) -> tuple[GatewaySettings, Values]:
    path = find_config(environ, Path.cwd())
    return settings_and_values(environ, None if path is None else read_document(path))


def check(args: argparse.Namespace) -> int:
    """Check the settings, files of keys, and that each upstream can be made; nothing is sent."""
    from llmcore.bridge.accounts.prices import price_list
    from llmcore.bridge.model_map import model_map_of
    from llmcore.bridge.pools.keys import check_key_source
    from llmcore.bridge.pools.providers import upstreams_from
    from llmcore.bridge.state.stores import store_for
    from llmcore.bridge.tools_file import read_tools

    settings, _ = _read(environ_of(args))
    model_map = model_map_of(settings)
    store_for(settings)  # not opened
    for upstream in settings.tables.upstreams:
        check_key_source(upstream, owner=f"upstream {upstream.name!r}", folder=settings.folder)
    for client in settings.tables.clients:
        check_key_source(client, owner=f"client {client.name!r}", folder=settings.folder)
    upstreams_from(settings, model_map)
    read_tools(settings.tools_path)
    price_list(settings)
    where = settings.config_path or "variables only"
    names, models = ", ".join(sorted(model_map.providers)), len(model_map.names)
    say(f"{where}: valid; upstreams: {names}; models: {models}")
    return 0


def show(args: argparse.Namespace) -> int:
    """Print the effective settings without secrets, and return the exit code."""
    say(shown(*_read(environ_of(args))))
    return 0


def init(args: argparse.Namespace) -> int:
    """Write the example; only its owner can read it, since keys may come to stand in it."""
    path: Path = args.file
    how = os.O_TRUNC if args.force else os.O_EXCL
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    except FileExistsError as error:
        message = f"{path} exists already: --force replaces it"
        raise ConfigurationError(message, cause=error) from error
    with open(descriptor, "w", encoding="utf-8") as file:
        file.write(EXAMPLE)
    note(f"{path} is written: edit it, and check it with `openbridge config check`")
    return 0


# -- shared


def environ_of(args: argparse.Namespace, **more: str) -> Mapping[str, str]:
    """Return the variables of the environment and of `.env`, with the options over them."""
    given = {
        "OPENBRIDGE_ENV_FILE": args.env_file,
        "OPENBRIDGE_CONFIG": args.config,
        "OPENBRIDGE_UPSTREAM": args.upstream,
        "OPENBRIDGE_MODEL_MAP_PATH": args.model_map,
        "OPENBRIDGE_HOST": getattr(args, "host", None),
        "OPENBRIDGE_PORT": getattr(args, "port", None),
        "OPENBRIDGE_WORKERS": getattr(args, "workers", None),
        **more,
    }
    return read_environment({**os.environ, **present(given)}, Path.cwd())


def settings_of(args: argparse.Namespace, **more: str) -> GatewaySettings:
    """Return the settings that *args*, the environment and the configuration file give."""
    environ = environ_of(args, **more)
    return settings_from(environ, find_config(environ, Path.cwd()))


def settings_of_store(args: argparse.Namespace) -> GatewaySettings:
    """Return the settings of commands that ask no upstream, so that none need be configured."""
    return settings_of(args) if args.upstream else settings_of(args, OPENBRIDGE_UPSTREAM="local")
