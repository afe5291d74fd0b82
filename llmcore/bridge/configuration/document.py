"""The configuration file `openbridge.toml`: its tables, and the line of each key for errors.

    [server]
    port = 8787

    [[upstreams]]
    name = "anthropic-a"
    provider = "anthropic"
    key_file = "/run/secrets/anthropic-a"

The syntax is TOML 1.0 (https://toml.io/en/v1.0.0), read by `tomllib`, which reports lines of
syntax errors only. The lines of keys are found by reading the file once more, one statement at a
time: a header or a key with its value is a document of its own.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

from attrs import field

from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen

MAX_FILE_BYTES: Final = 4 * 1024 * 1024

Keys: TypeAlias = tuple[str | int, ...]
"""The place of a value: keys of tables, and positions in arrays of tables."""

_DEPTH_OF_DOTTED_NAME: Final = 3
"""The number of keys that a name with one dot, written without quotes, ends up with."""

_SYNTAX_ERROR: Final = re.compile(r"(?P<message>.*) \(at (?:line (?P<line>\d+), .*|end .*)\)")


@frozen
class ConfigDocument:
    """A configuration file that was read."""

    path: Path
    tables: Mapping[str, Any] = field(repr=False)
    """May hold secrets, as the text does."""
    text: str = field(repr=False)

    def line(self, keys: Keys) -> int:
        """Return the line of the value at *keys*, or of the nearest table around it."""
        while keys and keys not in self._lines:
            keys = keys[:-1]
        return self._lines.get(keys, 1)

    @cached_property
    def _lines(self) -> Mapping[Keys, int]:
        return dict(_statement_lines(self.text.replace("\r\n", "\n")))  # as `tomllib` reads them

    def error(self, keys: Keys, message: str) -> ConfigurationError:
        """Return the error of the value at *keys*."""
        return ConfigurationError(f"{self.label(keys)} {message}")

    def label(self, keys: Keys) -> str:
        """Return the file, the line and the name of the value at *keys*."""
        return f"{self.place(keys)}: {dotted(keys)}"

    def place(self, keys: Keys) -> str:
        """Return the file and the line of the value at *keys*."""
        return f"{self.path.name} line {self.line(keys)}"

    def refuse_unknown(self, keys: Keys, known: Sequence[str]) -> None:
        """Raise ConfigurationError if the table at *keys* has a key that is not in *known*."""
        table: Any = self.tables
        for key in keys:
            table = table[key]
        if not isinstance(table, dict):
            raise self.error(keys, "is not a table")
        for key in table:
            if key not in known:
                hint = _hint((*keys, key), table[key], known)
                raise self.error((*keys, key), f"is not a setting ({hint})")


def _hint(keys: Keys, value: object, known: Sequence[str]) -> str:
    """Return what the unknown key at *keys*, with *value*, was probably meant to be."""
    if near := get_close_matches(str(keys[-1]), known, 1):
        return f"did you mean {near[0]}?"
    if isinstance(value, dict) and len(keys) == _DEPTH_OF_DOTTED_NAME:
        table, *parts = keys  # [models.gpt-5.5] is the table `5` in the model `gpt-5`
        name = ".".join(map(str, parts))
        return f"a name with dots must be in quotes: {dotted((table, name))}"
    return f"known: {', '.join(known)}"


def dotted(keys: Keys) -> str:
    """Return *keys* as TOML writes them, such as `models."gpt-5.5".targets`."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key + 1}]"
        else:
            quoted = key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else f'"{key}"'
            text += f".{quoted}" if text else quoted
    return text


def data_of(path: Path, kind: str = "") -> bytes:
    """Return the content of a file of settings, which errors name with its *kind*.

    Raises ConfigurationError if it cannot be read or has more than 4 MiB.
    """
    name = f"{kind} {path}".lstrip()
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        message = f"{name} cannot be read: {error.strerror or error}"
        raise ConfigurationError(message, cause=error) from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigurationError(f"{name} is larger than {MAX_FILE_BYTES} bytes")
    return data


def read_document(path: Path) -> ConfigDocument:
    """Return the file at *path*.

    Raises ConfigurationError, with the line, if it cannot be read or is not TOML.
    """
    data = data_of(path)
    try:
        return parse_document(path, data.decode("utf-8-sig"))  # editors of Windows write a mark
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        message = f"{path.name} line {line}: is not UTF-8 text"
        raise ConfigurationError(message, cause=error) from error


def parse_document(path: Path, text: str) -> ConfigDocument:
    """Return the document that *text*, the content of *path*, holds."""
    try:
        return ConfigDocument(path, tomllib.loads(text), text)
    except tomllib.TOMLDecodeError as error:
        syntax_error = _SYNTAX_ERROR.fullmatch(str(error))
        message, line = str(error), str(text.count("\n") + 1)
        if syntax_error:
            message, line = syntax_error["message"], syntax_error["line"] or line
        raise ConfigurationError(f"{path.name} line {line}: {message}", cause=error) from error
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 1,000 lists in lists
        message = f"{path.name}: has a value that cannot be read ({error})"
        raise ConfigurationError(message, cause=error) from error


def _statement_lines(text: str) -> Iterator[tuple[Keys, int]]:
    """Yield the place of each header and key of a valid document, and its line."""
    table: Keys = ()
    counts: dict[Keys, int] = {}
    for line, statement, parsed in _statements(text):
        if statement.lstrip().startswith("["):
            table = _table(_header(parsed), counts, is_array=statement.lstrip().startswith("[["))
            yield table, line
        else:
            for keys in _paths(parsed):
                yield (*table, *keys), line


def _statements(text: str) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Yield the first line of each statement, its text, and what it is read as.

    A value can take several lines.
    """
    pending, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        if not pending and not line.strip():
            continue
        first = first if pending else number
        pending = f"{pending}\n{line}" if pending else line
        try:
            parsed = tomllib.loads(pending)
        except tomllib.TOMLDecodeError:  # the statement continues
            continue
        if parsed:
            yield first, pending, parsed
        pending = ""


def _header(parsed: Mapping[str, Any]) -> Sequence[str]:
    keys: list[str] = []
    inner: Any = parsed
    while inner and isinstance(inner, dict):
        key, inner = next(iter(inner.items()))
        keys.append(key)
    return keys


def _table(header: Sequence[str], counts: dict[Keys, int], *, is_array: bool) -> Keys:
    """Return the place of the table that *header* opens, counting entries of arrays in *counts*."""
    keys: Keys = ()
    for number, key in enumerate(header, 1):
        keys = (*keys, key)
        if is_array and number == len(header):
            counts[keys] = counts.get(keys, -1) + 1
        if keys in counts:
            keys = (*keys, counts[keys])
    return keys


def _paths(parsed: Mapping[str, Any]) -> Iterator[Keys]:
    """Yield the place of each key within one statement."""
    tables: list[tuple[Keys, Mapping[str, Any]]] = [((), parsed)]
    for keys, table in tables:  # those that are found are searched, too
        for key, value in table.items():
            yield (*keys, key)
            if isinstance(value, dict):
                tables.append(((*keys, key), value))
