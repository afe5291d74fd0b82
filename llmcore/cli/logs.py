"""`llmcore logs`: prints and searches stored conversations."""

import argparse
import os
from collections.abc import Iterator, Sequence

import anyio

from llmcore.cli.conversation import open_store
from llmcore.cli.failures import UsageError
from llmcore.cli.program import note, print_json, say
from llmcore.schema.frozen import frozen
from llmcore.sessions.contract.entries import MessageEntry, readable
from llmcore.sessions.store import SessionStore

_SHORT = 500
"""The characters of a message that are shown without `--full`."""
_NOTHING = "no conversation is stored yet: `llmcore ask` and `llmcore chat` store each one"


def run(args: argparse.Namespace) -> int:
    """Print the last matching exchanges, oldest first; the exit code is 1 without any."""
    if args.count < 0:
        raise UsageError("-n must be 0 or more")
    exchanges = anyio.run(_find, args)
    for exchange in exchanges:
        if args.json:
            print_json(exchange.as_json())
        else:
            _print(exchange, None if args.full else _SHORT)
    if not exchanges:
        is_filtered = args.words or args.model or args.session
        note("nothing that is stored matches" if is_filtered else _NOTHING)
    return 0 if exchanges else 1


@frozen(kw_only=True)
class _Exchange:
    """A question, and everything until the next."""

    session: str
    entries: tuple[MessageEntry, ...]

    @property
    def model(self) -> str:
        return next((str(e.meta["modelId"]) for e in self.entries if e.meta.get("modelId")), "")

    @property
    def time(self) -> str:
        return self.entries[-1].timestamp

    def messages(self) -> Iterator[tuple[str, str]]:
        """Yield the role and the text of each message."""
        for entry in self.entries:
            yield entry.role, " ".join(filter(None, map(readable, entry.parts)))

    def matches(self, words: Sequence[str], model: str | None) -> bool:
        """Return whether all of *words* are in it, upper and lower case alike."""
        if model is not None and model.casefold() not in self.model.casefold():
            return False
        text = "\n".join(text for _, text in self.messages()).casefold()
        return all(word.casefold() in text for word in words)

    def as_json(self) -> dict[str, object]:
        """Return the exchange as the JSON that is printed."""
        messages = [{"role": role, "text": text} for role, text in self.messages()]
        return {
            "session": self.session,
            "time": self.time,
            "model": self.model,
            "messages": messages,
        }


async def _find(args: argparse.Namespace) -> list[_Exchange]:
    async with open_store(os.environ) as store:
        runs = sorted(await store.runs(), key=lambda run: run.updated_at, reverse=True)
        matching: list[_Exchange] = []
        for run_ in runs:
            if args.session not in (None, run_.run_id):
                continue
            if args.count and len(matching) >= args.count and run_.updated_at < matching[-1].time:
                break  # the others are older than what is found
            exchanges = await _exchanges(store, run_.run_id)
            matching += [item for item in exchanges if item.matches(args.words, args.model)]
            matching.sort(key=lambda item: item.time, reverse=True)
            matching = matching[: args.count or None]
    return matching[::-1]


async def _exchanges(store: SessionStore, name: str) -> list[_Exchange]:
    groups: list[list[MessageEntry]] = []
    for item in await store.read(name):
        if not groups or (item.entry.role == "user" and groups[-1][-1].role == "assistant"):
            groups.append([])
        groups[-1].append(item.entry)
    return [_Exchange(session=name, entries=tuple(group)) for group in groups]


def _print(exchange: _Exchange, limit: int | None) -> None:
    say(f"--- {exchange.time}  {exchange.session}  {exchange.model}")
    for role, text in exchange.messages():
        short = limit is not None and len(text) > limit
        say(f"{role}: {text[:limit] + '...' if short else text}")
    say("")
