"""Export and import: one entry a line, as JSON.

Lines of several runs may follow one another in a file; each run's are in order.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from attrs import evolve

from llmcore.sessions.contract.codec import entry_from_text, entry_to_text
from llmcore.sessions.contract.entries import MessageEntry
from llmcore.sessions.contract.errors import ContractError
from llmcore.sessions.contract.run_rules import check_run
from llmcore.sessions.store import SeqConflictError, SessionStore, texts_of

_PAGE = 500
"""The number of entries that are read at once."""


def to_lines(entries: Iterable[MessageEntry]) -> Iterator[str]:
    """Yield each of *entries* as a line of JSON, without its end."""
    return map(entry_to_text, entries)


def from_lines(lines: Iterable[str]) -> Iterator[MessageEntry]:
    """Yield the entry of each line; blank lines are skipped.

    Raises a ContractError that names the line.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield entry_from_text(line)
        except ContractError as error:
            error.message = f"line {number}: {error.message}"
            raise


async def export_lines(store: SessionStore, run_id: str) -> list[str]:
    """Return run *run_id* of *store* as lines of JSON; none if there is no such run."""
    lines: list[str] = []
    while True:
        page = await store.read(run_id, after=len(lines), limit=_PAGE)
        lines.extend(to_lines(stored.entry for stored in page))
        if len(page) < _PAGE:
            return lines


async def import_entries(
    store: SessionStore, entries: Iterable[MessageEntry], *, run_id: str | None = None
) -> dict[str, int]:
    """Append *entries* to new runs of *store*; return how many entries each has.

    With *run_id* all go into one run of that id. Raises SeqConflictError for a run that the
    store has already, and a ContractError for entries that break a rule: then nothing has been
    appended. If the store fails, each run is stored completely or not at all.
    """
    if run_id is not None:
        entries = [evolve(entry, run_id=run_id) for entry in entries]
    runs: dict[str, list[MessageEntry]] = {}
    for name, group in groupby(entries, key=lambda entry: entry.run_id):
        runs.setdefault(name, []).extend(group)
    for name, run in runs.items():
        await _check_new(store, name, run)
    return {name: await store.append(name, run, expected_seq=0) for name, run in runs.items()}


async def _check_new(store: SessionStore, run_id: str, entries: Sequence[MessageEntry]) -> None:
    """Raise the error that prevents appending *entries* as run *run_id*, if there is one."""
    texts_of(run_id, entries)
    check_run(entries).unwrap()
    if await store.read(run_id, limit=1):
        message = f"there is a session {run_id!r} already: take another id, or delete it first"
        raise SeqConflictError(message, expected_seq=0)
