"""`llmcore local`: installs, checks and removes the embedded model's file."""

import argparse
import os

from llmcore.cli.program import add_command, note, print_json, say
from llmcore.client.local import model_files
from llmcore.schema.errors import install_extra


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    install = add_command(actions, "install", "download the model's file and check it")
    install.set_defaults(run=_install)
    status = add_command(actions, "status", "print where the file is, and check it")
    status.add_argument("--json", action="store_true", help="print a JSON object")
    status.set_defaults(run=_status)
    add_command(actions, "remove", "remove the file").set_defaults(run=_remove)


def _install(_args: argparse.Namespace) -> int:
    model = model_files.install(os.environ, note)
    say(f"{model.name}: {model.path} ({model.size_bytes / 1e6:.0f} MB)")
    if not model_files.can_run():
        note(f"running it requires: {install_extra('local')}")
    return 0


def _status(args: argparse.Namespace) -> int:
    """Print where the model is; the exit code is 1 without an intact one."""
    model = model_files.status(os.environ)
    if args.json:
        if model is None:
            print_json({"installed": False})
            return 1
        file = {"name": model.name, "path": str(model.path), "size_bytes": model.size_bytes}
        print_json({"installed": True, **file, "verified": model.verified})
        return 0 if model.verified else 1
    if model is None:
        say("no model installed: run `llmcore local install`")
        return 1
    say(f"{model.name}: {model.path} ({model.size_bytes / 1e6:.0f} MB)")
    if not model.verified:
        say("the file is damaged: run `llmcore local remove` and `llmcore local install`")
    return 0 if model.verified else 1


def _remove(_args: argparse.Namespace) -> int:
    removed = model_files.remove(os.environ)
    say("removed" if removed else "no model was installed")
    return 0
