"""Reads one setting after another, from its variable or else from the configuration file.

Each setting has one name: that of its variable without `OPENBRIDGE_`. In the file it is a key of a
section, such as `first_event_seconds` of `[limits]`. A variable wins over the file, so that one
deployment of a shared file can differ.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, tzinfo
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast, get_args

from llmcore.bridge.configuration.document import ConfigDocument, dotted
from llmcore.bridge.configuration.tables import TABLES
from llmcore.client.user_folders import named_path
from llmcore.schema.errors import ConfigurationError
from llmcore.schema.frozen import frozen

_T = TypeVar("_T")

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_PREFIX: Final = "OPENBRIDGE_"
MOST: Final = 1e12
"""The bound of numbers without one: times and sizes above it overflow in some store or timer."""
_WRITTEN_OUT: Final = 1e6
"""Smaller bounds are written in digits without separators."""

SECTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "server": (
        "HOST", "PORT", "WORKERS", "LOG_LEVEL", "CLIENT_API_KEY", "ALLOWED_HOSTS",
        "ALLOWED_ORIGINS", "SEAL_KEY",
        "KEEP_ALIVE_SECONDS", "KEEP_ALIVE_BY_FRONT", "SHUTDOWN_SECONDS", "TELEMETRY", "UI",
        "UI_RECORD",
    ),
    "routing": (
        "UPSTREAM", "UPSTREAM_BASE_URL", "UPSTREAM_API_KEY", "MODEL_MAP_PATH", "MODEL_PREFIX",
        "OTHERWISE", "RETRIES", "RETRY_TIMEOUTS", "COOL_DOWN_SECONDS", "KEY_COOL_DOWN_SECONDS",
        "BREAKER_FAILURES", "BREAKER_SECONDS",
    ),
    "limits": (
        "MAX_BODY_BYTES", "MAX_HEADER_BYTES", "BODY_SECONDS", "SEND_SECONDS", "FIRST_EVENT_SECONDS",
        "IDLE_SECONDS", "TOTAL_SECONDS", "MAX_RUNNING", "MAX_BACKGROUND", "RATE_LIMIT_PER_MINUTE",
        "MAX_CHOICES",
    ),
    "state": (
        "STATE_BACKEND", "STATE_PATH", "REDIS_URL", "POSTGRES_URL", "STATE_TTL_SECONDS",
        "STATE_MAX_ENTRIES", "STATE_MAX_BYTES",
    ),
    "policies": (
        "HOSTED_TOOLS", "STRUCTURED_OUTPUT", "STRUCTURED_OUTPUT_BY_FRONT", "PREFILL",
        "CUSTOM_TOOLS", "REASONING_TEXT", "CHAT_REASONING", "TOOLS_PATH", "RETRY_WITHOUT", "RELAY",
        "CHECK_STREAM",
    ),
    "keys": ("KEYS_ISSUED", "ADMIN_KEY"),
    "budgets": (
        "BUDGETS_USD",
        "BUDGETS_TOKENS",
        "BUDGETS_PERIOD",
        "BUDGETS_TIME_ZONE",
        "BUDGETS_OUTPUT_TOKENS",
        "PRICES_PATH",
    ),
    "spend": ("SPEND_RECORD", "SPEND_KEEP_DAYS", "SPEND_QUEUE_ROWS"),
    "cache": ("CACHE_RESPONSES", "CACHE_SECONDS", "CACHE_PROMPT_MARKS"),
}  # fmt: skip
"""The settings of each section of the file, by the names of their variables."""


def file_keys(name: str) -> tuple[str, str]:
    """Return the section and the key of the setting *name* in the file.

    A key does not repeat its section: `STATE_BACKEND` is `backend` of `[state]`.
    """
    section = next(section for section, names in SECTIONS.items() if name in names)
    return section, name.removeprefix(f"{section.upper()}_").lower()


def place_of(name: str, environ: Mapping[str, str], file: Path | None) -> str:
    """Return where the setting *name* is, or is to be set, such as `state.path in openbridge.toml`.

    It is its variable where *environ* has one, or where there is no *file*.
    """
    variable = f"{_PREFIX}{name}"
    if file is None or environ.get(variable, "").strip():
        return variable
    return f"{dotted(file_keys(name))} in {file.name}"


@frozen
class _Given:
    """A setting that was given."""

    value: Any
    label: str
    """Its variable, or the line of the file and the key there."""
    is_typed: bool
    """Whether the value has a type of its own, as values of the file have."""

    def fault(self, message: str) -> ConfigurationError:
        return ConfigurationError(f"{self.label} {message}")

    def fault_of_value(self, message: str) -> ConfigurationError:
        return ConfigurationError(f"{self.label}={self.value!r} {message}")


_P = ParamSpec("_P")


def _recorded(
    read: "Callable[Concatenate[Values, str, _P], _T]",
) -> "Callable[Concatenate[Values, str, _P], _T]":
    """Return *read*, which also records its result under the setting's name."""

    def reading(self: "Values", name: str, /, *args: _P.args, **named: _P.kwargs) -> _T:
        value = self.results[name] = read(self, name, *args, **named)
        return value

    return reading


def _bounds(least: float, most: float) -> str:
    highest = f"{most:g}" if most < _WRITTEN_OUT else f"{most:,.0f}"
    return f"at least {least:g} and at most {highest}"


class Values:
    """The values of settings, and which of them were read."""

    def __init__(self, environ: Mapping[str, str], document: ConfigDocument | None = None) -> None:
        self.environ = environ
        self.document = document
        self.results: dict[str, object] = {}
        """The value of each setting that was read, defaults included."""
        self._known = {"OPENBRIDGE_ENV_FILE", "OPENBRIDGE_CONFIG"}

    def given(self, name: str) -> bool:
        """Return whether the setting exists and is not blank."""
        return self._find(name) is not None

    def label(self, name: str, *, blank: bool = False) -> str:
        """Return where the setting is, blank or not: its variable, or its line in the file."""
        setting = self._find(name, blank=blank)
        return f"{_PREFIX}{name}" if setting is None else setting.label

    def place_for(self, name: str) -> str:
        """Return where to set the setting, as `place_of` does."""
        file = None if self.document is None else self.document.path
        return place_of(name, self.environ, file)

    @_recorded
    def text(self, name: str) -> str | None:
        """Return the setting's text; None if it is absent or blank."""
        setting = self._find(name)
        if setting is None:
            return None
        if not isinstance(setting.value, str):
            raise setting.fault("must be a text in quotes")
        return setting.value.strip()

    def keys(self, name: str) -> tuple[str, ...] | None:
        """Return the keys in the setting, separated by commas or as a list; None if it is absent.

        The result can be empty, and so can its keys.
        """
        setting = self._find(name, blank=True)
        if setting is None:
            return None
        listed = setting.value.split(",") if isinstance(setting.value, str) else setting.value
        if not isinstance(listed, list) or not all(isinstance(key, str) for key in listed):
            raise setting.fault("must be a text in quotes, or a list of texts")
        return tuple(key.strip() for key in listed)

    @_recorded
    def words(self, name: str, default: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return a list of words: of the file, or separated by commas; `none` is the empty list."""
        setting = self._find(name)
        if setting is None:
            return default
        if setting.is_typed:
            if not isinstance(setting.value, list) or not all(
                isinstance(word, str) for word in setting.value
            ):
                raise setting.fault("must be a list of texts")
            return tuple(setting.value)
        if setting.value.lower() == "none":
            return ()
        return tuple(word for word in (part.strip() for part in setting.value.split(",")) if word)

    @_recorded
    def path(self, name: str) -> Path | None:
        """Return the setting as a path; one of the file is relative to the file's folder."""
        text = self.text(name)
        if text is None:
            return None
        path = named_path(text, self.label(name))
        setting = self._find(name)
        if setting is not None and setting.is_typed and self.document is not None:
            return self.document.path.parent / path
        return path

    @_recorded
    def number(
        self, name: str, default: _T, kind: Callable[[str], _T], *, least: float, most: float = MOST
    ) -> _T:
        """Return the setting as a number from *least* to *most*."""
        setting = self._find(name)
        if setting is None:
            return default
        expected = "is not a whole number" if kind is int else "is not a number"
        if setting.is_typed and isinstance(setting.value, str):
            raise setting.fault_of_value(f"{expected}: write it without quotes")
        if setting.is_typed and type(setting.value) not in (int, float):
            raise setting.fault_of_value(expected)
        try:
            value = kind(str(setting.value))
        except ValueError as error:
            raise setting.fault_of_value(expected) from error
        if not least <= cast("float", value) <= most:
            raise ConfigurationError(
                f"{setting.label}={setting.value} must be {_bounds(least, most)}"
            )
        return value

    @_recorded
    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return the setting as a boolean; *default* if it is absent."""
        setting = self._find(name)
        if setting is None:
            return default
        if isinstance(setting.value, bool):
            return setting.value
        text = str(setting.value).lower()
        if setting.is_typed or text not in _TRUE | _FALSE:
            raise setting.fault_of_value("is neither true nor false")
        return text in _TRUE

    @_recorded
    def one_of(self, name: str, default: _T, words: object) -> _T:
        """Return the setting, which must be one of the literal *words*."""
        text = (self.text(name) or str(default)).lower()
        if text not in get_args(words):
            choices = ", ".join(get_args(words))
            raise ConfigurationError(f"{self.label(name)}={text!r} is not one of {choices}")
        return cast("_T", text)

    @_recorded
    def time_zone(self, name: str) -> tzinfo:
        """Return the setting as a time zone of the IANA database; UTC if it is absent."""
        text = self.text(name)
        if text is None or text.upper() == "UTC":  # which needs no database
            return UTC
        from zoneinfo import ZoneInfo

        try:
            return ZoneInfo(text)
        except (ValueError, LookupError, OSError) as error:
            raise ConfigurationError(
                f"{self.label(name)}={text!r} is not a time zone known here, such as Europe/Berlin "
                "(on a system without zones: pip install tzdata)"
            ) from error

    def by_front(
        self, name: str, front_ids: Sequence[str], words: Callable[[str], Sequence[str]]
    ) -> dict[str, Any]:
        """Return the value of each front, as in `gemini=degrade, openai-chat=error`.

        In the file it is a list of such texts. *words* returns the values that a front can have.
        """
        word_of_front = {}
        for pair in self.words(name):
            front, _, word = (part.strip() for part in pair.lower().partition("="))
            if front not in front_ids or word not in words(front):
                known = "; ".join(f"{front}={'|'.join(words(front))}" for front in front_ids)
                raise ConfigurationError(f"{self.label(name)}: {pair!r} is none of {known}")
            word_of_front[front] = word
        return word_of_front

    def refuse_unknown(self) -> None:
        """Raise ConfigurationError for a setting that was not read, such as a misspelt one."""
        ours = {name for name in self.environ if name.startswith(_PREFIX)}
        if unknown := sorted(ours - self._known):
            near = dict.fromkeys(meant for name in unknown for meant in self._nearest(name))
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            hint += "`openbridge config init` writes a file that lists all settings"
            raise ConfigurationError(f"unknown: {', '.join(unknown)} ({hint})")
        if self.document is None:
            return
        self.document.refuse_unknown((), (*SECTIONS, *TABLES))
        for section, names in SECTIONS.items():
            if section in self.document.tables:
                keys = [file_keys(name)[1] for name in names]
                self.document.refuse_unknown((section,), keys)

    def _nearest(self, variable: str) -> list[str]:
        """Return the variables that are spelt like *variable*, else those that share a word."""
        typed = variable.removeprefix(_PREFIX)
        keys = [name.removeprefix(_PREFIX) for name in sorted(self._known)]
        words = set(typed.split("_"))
        near = get_close_matches(typed, keys) or [k for k in keys if words & set(k.split("_"))]
        return [_PREFIX + key for key in near[:3]]

    def _find(self, name: str, *, blank: bool = False) -> _Given | None:
        """Return the setting; None if it is absent, or *blank* is false and it is blank."""
        variable = f"{_PREFIX}{name}"
        self._known.add(variable)
        text = self.environ.get(variable)
        if text is not None and (blank or text.strip()):
            return _Given(text.strip(), variable, is_typed=False)
        if self.document is None:
            return None
        keys = file_keys(name)
        table = self.document.tables.get(keys[0])
        value = table.get(keys[1]) if isinstance(table, dict) else None
        if value is None or (value == "" and not blank):
            return None
        return _Given(value, self.document.label(keys), is_typed=True)
