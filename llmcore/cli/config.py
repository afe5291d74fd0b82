"""`llmcore config`: shows and changes the user's configuration."""

import argparse
import os

from llmcore.cli.program import add_command, json_text, note, say
from llmcore.cli.user_config import KEYS, check, config_file, read_config, write_config


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions of the command."""
    parser.epilog = "keys:\n" + "\n".join(f"  {key:22} {about}" for key, about in KEYS.items())
    parser.set_defaults(run=_show)
    actions = parser.add_subparsers(metavar="ACTION")
    add_command(actions, "show", "print the configuration as JSON, as without an action")
    add_command(actions, "path", "print the path of the file").set_defaults(run=_path)
    setting = add_command(actions, "set", "set a key")
    setting.add_argument("key", metavar="KEY", help=f"one of {', '.join(KEYS)}")
    setting.add_argument("value", metavar="VALUE")
    setting.set_defaults(run=_set)
    removing = add_command(actions, "unset", "remove a key")
    removing.add_argument("key", metavar="KEY", help="as for `set`")
    removing.set_defaults(run=_unset)


def _show(_args: argparse.Namespace) -> int:
    values = dict(read_config(os.environ).values)
    say(json_text(values, indent=2))
    if not values:
        where = config_file(os.environ)
        note(f"nothing is set; `llmcore config set KEY VALUE` writes {where}")
    return 0


def _path(_args: argparse.Namespace) -> int:
    say(str(config_file(os.environ)))
    return 0


def _set(args: argparse.Namespace) -> int:
    check(args.key, args.value)
    write_config(os.environ, {**read_config(os.environ).values, args.key: args.value})
    return 0


def _unset(args: argparse.Namespace) -> int:
    values = dict(read_config(os.environ).values)
    if values.pop(args.key, None) is None:
        note(f"{args.key} is not set")
        return 1
    write_config(os.environ, values)
    return 0
