"""`llmcore local`: installs, checks and removes the embedded model's file."""

import argparse
import os

from llmcore.cli.program import note, say
from llmcore.client.local import model_files
from llmcore.schema.errors import install_extra


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("action", choices=("install", "status", "remove"))
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the action; the exit code of `status` is 1 without an intact model."""
    actions = {"install": _install, "status": _status, "remove": _remove}
    return actions[args.action]()


def _install() -> int:
    model = model_files.install(os.environ, note)
    say(f"{model.name}: {model.path} ({model.size_bytes / 1e6:.0f} MB)")
    if not model_files.can_run():
        note(f"running it requires: {install_extra('local')}")
    return 0


def _status() -> int:
    model = model_files.status(os.environ)
    if model is None:
        say("no model installed: run `llmcore local install`")
        return 1
    say(f"{model.name}: {model.path} ({model.size_bytes / 1e6:.0f} MB)")
    if not model.verified:
        say("the file is damaged: run `llmcore local remove` and `llmcore local install`")
    return 0 if model.verified else 1


def _remove() -> int:
    removed = model_files.remove(os.environ)
    say("removed" if removed else "no model was installed")
    return 0
