"""The settings that the commands of `openbridge` share."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from llmcore.bridge.configuration.reading import find_config, read_environment, settings_from
from llmcore.bridge.configuration.settings import GatewaySettings
from llmcore.schema.json import present


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
