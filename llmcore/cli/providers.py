"""`llmcore providers`: lists all providers, and whether each is configured."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path

from llmcore.cli.program import print_json, say, shown_as
from llmcore.cli.stored_keys import with_stored_keys
from llmcore.client.environment import provider_entries
from llmcore.client.github.login import login_file
from llmcore.routes.github_credentials import PROVIDER
from llmcore.routes.providers import ProviderEntry
from llmcore.schema.json import JsonObject


def run(args: argparse.Namespace) -> int:
    """Print a line for each provider."""
    entries = provider_entries().values()
    width = max(len(entry.id) for entry in entries)
    environ = with_stored_keys(os.environ)
    if args.json:
        for entry in entries:
            print_json(_facts(entry, environ))
        return 0
    for entry in entries:
        mark = shown_as("✓", "+") if _is_ready(entry, environ) else " "
        say(f"{mark} {entry.id:{width}}  {describe(entry, environ)}")
    return 0


def _is_ready(entry: ProviderEntry, environ: Mapping[str, str]) -> bool:
    return entry.is_configured(environ) or login_of(entry, environ) is not None


def _facts(entry: ProviderEntry, environ: Mapping[str, str]) -> JsonObject:
    """Return what `--json` prints of *entry*."""
    return {
        "id": entry.id,
        "configured": _is_ready(entry, environ),
        "variables": list(entry.switches),
        "protocols": list(entry.protocols),
        "docs": entry.docs,
    }


def login_of(entry: ProviderEntry, environ: Mapping[str, str]) -> Path | None:
    """Return the file of the stored login for *entry*; None without a login."""
    if entry.id != PROVIDER:
        return None
    path = login_file(environ)
    return path if path.is_file() else None


def describe(entry: ProviderEntry, environ: Mapping[str, str]) -> str:
    """Return a text about how *entry* is configured, or how to configure it."""
    variables_set = [name for name in entry.switches if environ.get(name, "").strip()]
    if variables_set:
        return f"configured by {variables_set[0]}"
    login = login_of(entry, environ)
    if login is not None:
        return f"configured by the login in {login}"
    if not entry.switches:
        return "needs nothing: --local" if entry.id == "local" else "needs no key"
    if not entry.needs_key:
        return f"at its usual address, or set {' or '.join(entry.switches)}"
    advice = f"set {' or '.join(entry.switches)}"
    return advice if entry.login is None else f"{advice}, or run `{entry.login}`"
