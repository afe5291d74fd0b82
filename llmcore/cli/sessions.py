"""`llmcore sessions`: lists, shows, exports, imports and deletes stored conversations."""

import argparse
import json
import os
import stat
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Final, TypeAlias

from llmcore.cli.conversation import open_store
from llmcore.cli.program import escaped, json_input, json_output, note, print_json, say
from llmcore.schema.codec import to_json
from llmcore.schema.errors import InvalidRequestError
from llmcore.sessions.contract.entries import readable
from llmcore.sessions.contract.json_schema import contract_schema
from llmcore.sessions.jsonl import export_lines, from_lines, import_entries
from llmcore.sessions.store import SessionStore

_Action: TypeAlias = Callable[[SessionStore, argparse.Namespace], Awaitable[int]]


async def run(args: argparse.Namespace) -> int:
    """Run the action; the exit code is 1 for an unknown session."""
    async with open_store(os.environ) as store:
        return await _ACTIONS[args.action](store, args)


async def _list(store: SessionStore, args: argparse.Namespace) -> int:
    runs = sorted(await store.runs(), key=lambda run: run.updated_at, reverse=True)
    if args.json:
        for run_ in runs:
            print_json(to_json(run_))
        return 0
    width = max([len(run.run_id) for run in runs], default=0)
    for run_ in runs:
        say(f"{run_.run_id:{width}}  {run_.last_seq:5} entries  {run_.updated_at}")
    return 0


async def _show(store: SessionStore, args: argparse.Namespace) -> int:
    stored = await store.read(args.name)
    for item in stored:
        parts = " ".join(filter(None, map(readable, item.entry.parts)))
        say(f"{item.entry.role}: {parts}")
    return 0 if stored else _unknown(args.name)


async def _export(store: SessionStore, args: argparse.Namespace) -> int:
    names = args.names or [run.run_id for run in await store.runs()]
    exported = {name: await export_lines(store, name) for name in names}
    missing = [name for name, lines in exported.items() if not lines]
    if missing:  # checked before an older export is overwritten
        return _unknown(*missing)
    _write([line for lines in exported.values() for line in lines], args.output)
    return 0


async def _import(store: SessionStore, args: argparse.Namespace) -> int:
    entries = list(from_lines(_lines(args.file)))
    for name, count in (await import_entries(store, entries, run_id=args.name)).items():
        say(f"{name}: {count} entries")
    return 0


async def _delete(store: SessionStore, args: argparse.Namespace) -> int:
    return 0 if await store.delete(args.name) else _unknown(args.name)


def schema(_args: argparse.Namespace) -> int:
    """Print the JSON Schema of exported lines, and return the exit code."""
    say(json.dumps(contract_schema(), indent=2))
    return 0


def _unknown(*names: str) -> int:
    note(f"there is no session {', '.join(names)} (`llmcore sessions list` lists them)")
    return 1


def _write(lines: Iterable[str], path: str | None) -> None:
    text = escaped("".join(f"{line}\n" for line in lines))
    if path is None:
        json_output().write(text)
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.chmod(path, 0o600)  # an existing file may be readable by others
            file.write(text)
    except OSError as error:
        raise InvalidRequestError(f"cannot write {path}: {error.strerror}", cause=error) from error


def _lines(path: str) -> list[str]:
    try:
        if path == "-":
            return list(json_input())
        with open(path, encoding="utf-8") as file:
            return list(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InvalidRequestError(f"cannot read {path}: {reason}", cause=error) from error


_ACTIONS: Final[Mapping[str, _Action]] = {
    "list": _list,
    "show": _show,
    "export": _export,
    "import": _import,
    "delete": _delete,
}
