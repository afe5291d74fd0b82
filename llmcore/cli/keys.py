"""`llmcore keys`: stores the API keys of providers."""

import argparse
import getpass
import os
import sys

from llmcore.cli.program import note, print_json, say
from llmcore.cli.stored_keys import remove_key, store_key, stored_names
from llmcore.client.environment import provider_entries, unknown_provider
from llmcore.schema.errors import InvalidRequestError


def set_key(args: argparse.Namespace) -> int:
    """Store a key, and return the exit code."""
    name = variable_of(args.provider)
    key = getpass.getpass(f"{name}: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not key.strip():
        raise InvalidRequestError("the key is empty")
    say(f"{name} is stored in {store_key(os.environ, name, key.strip())}")
    note(f"The commands of llmcore use it; programs and the gateway read the variable {name}.")
    if os.environ.get(name, "").strip():
        note(f"note: the variable {name} is set, and wins over the stored key")
    return 0


def list_keys(args: argparse.Namespace) -> int:
    """Print the names of stored keys, and return the exit code."""
    stored = stored_names(os.environ)
    if args.json:
        for name, in_keyring in stored.items():
            print_json({"variable": name, "place": "keyring" if in_keyring else "file"})
        return 0
    if not stored:
        note("no keys are stored: store one with `llmcore keys set PROVIDER`")
    for name, in_keyring in stored.items():
        say(f"{name}  in {'the keyring' if in_keyring else 'the file'}")
    return 0


def remove(args: argparse.Namespace) -> int:
    """Remove a stored key, and return the exit code."""
    name = variable_of(args.provider)
    if remove_key(os.environ, name):
        return 0
    note(f"no key is stored for {name}")
    return 1


def variable_of(named: str) -> str:
    """Return the variable that holds the key of the provider *named*, or that is *named* itself.

    Raises ConfigurationError for an unknown provider, InvalidRequestError for one without a key.
    """
    entries = provider_entries()
    variables = {name for entry in entries.values() for name in entry.key_variables}
    if named in variables:
        return named
    if named not in entries:
        raise unknown_provider(named)
    if not entries[named].key_variables:
        raise InvalidRequestError(f"the provider {named!r} has no key")
    return entries[named].key_variables[0]
