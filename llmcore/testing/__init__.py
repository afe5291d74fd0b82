"""For tests: recorded exchanges, scripted transports, assertions.

In reading order:

- `script`: a transport that answers from a script, without a file
- `cassette`: recorded exchanges as values; `cassette_file` is their JSON, `bodies` how a body
  stands in it, `recorded_headers` what of a request may
- `recorder` makes cassettes (of WebSockets by `socket_recorder`), `secret_scan` keeps credentials
  out of them
- `player` serves them (WebSockets by `socket_player`), `request_diff` says how a request differs
  from the recorded one
- `recorded`: from the bytes of a response to an LLMResponse, without a client
- `prefix`: the proof that each turn's request begins with the one before it
- `pytest_plugin`: the fixture `cassette` (its value is in `fixture`), `--record` and the
  filters (in `selection`)

Each name is imported from its module on first use, so that the plugin can load this package
without loading a client.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from llmcore.testing.cassette import Authored as Authored
    from llmcore.testing.cassette import Cassette as Cassette
    from llmcore.testing.cassette import CassetteError as CassetteError
    from llmcore.testing.cassette import Chunk as Chunk
    from llmcore.testing.cassette import Interaction as Interaction
    from llmcore.testing.cassette import Metadata as Metadata
    from llmcore.testing.cassette import NoResponse as NoResponse
    from llmcore.testing.cassette import Recorded as Recorded
    from llmcore.testing.cassette import RecordedRequest as RecordedRequest
    from llmcore.testing.cassette import RecordedResponse as RecordedResponse
    from llmcore.testing.cassette import SocketMessage as SocketMessage
    from llmcore.testing.cassette import WebSocketInteraction as WebSocketInteraction
    from llmcore.testing.cassette_file import load as load
    from llmcore.testing.cassette_file import save as save
    from llmcore.testing.fixture import CassetteFixture as CassetteFixture
    from llmcore.testing.player import CassetteMismatchError as CassetteMismatchError
    from llmcore.testing.player import Player as Player
    from llmcore.testing.prefix import PrefixChangedError as PrefixChangedError
    from llmcore.testing.prefix import assert_prefix_stable as assert_prefix_stable
    from llmcore.testing.recorded import decode_recorded as decode_recorded
    from llmcore.testing.recorder import Recorder as Recorder
    from llmcore.testing.script import ScriptedTransport as ScriptedTransport
    from llmcore.testing.script import ScriptEndedError as ScriptEndedError
    from llmcore.testing.script import scripted as scripted
    from llmcore.testing.secret_scan import SecretFoundError as SecretFoundError

_HOMES: dict[str, tuple[str, ...]] = {
    "llmcore.testing.cassette": (
        "Authored",
        "Cassette",
        "CassetteError",
        "Chunk",
        "Interaction",
        "Metadata",
        "NoResponse",
        "Recorded",
        "RecordedRequest",
        "RecordedResponse",
        "SocketMessage",
        "WebSocketInteraction",
    ),
    "llmcore.testing.cassette_file": ("load", "save"),
    "llmcore.testing.fixture": ("CassetteFixture",),
    "llmcore.testing.player": ("CassetteMismatchError", "Player"),
    "llmcore.testing.prefix": ("PrefixChangedError", "assert_prefix_stable"),
    "llmcore.testing.recorded": ("decode_recorded",),
    "llmcore.testing.recorder": ("Recorder",),
    "llmcore.testing.script": ("ScriptEndedError", "ScriptedTransport", "scripted"),
    "llmcore.testing.secret_scan": ("SecretFoundError",),
}

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Authored",
    "Cassette",
    "CassetteError",
    "CassetteFixture",
    "CassetteMismatchError",
    "Chunk",
    "Interaction",
    "Metadata",
    "NoResponse",
    "Player",
    "PrefixChangedError",
    "Recorded",
    "RecordedRequest",
    "RecordedResponse",
    "Recorder",
    "ScriptEndedError",
    "ScriptedTransport",
    "SecretFoundError",
    "SocketMessage",
    "WebSocketInteraction",
    "assert_prefix_stable",
    "decode_recorded",
    "load",
    "save",
    "scripted",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'llmcore.testing' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
