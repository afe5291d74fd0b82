# Made by scripts/write_stubs.py from the table in __init__.py: run `make stubs`.

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
from llmcore.testing.fake_model import Delay as Delay
from llmcore.testing.fake_model import FakeModel as FakeModel
from llmcore.testing.fake_model import call as call
from llmcore.testing.fixture import CassetteFixture as CassetteFixture
from llmcore.testing.fronts import read_as_front as read_as_front
from llmcore.testing.fronts import write_as_front as write_as_front
from llmcore.testing.network import NetworkForbiddenError as NetworkForbiddenError
from llmcore.testing.network import forbid_network as forbid_network
from llmcore.testing.player import CassetteMismatchError as CassetteMismatchError
from llmcore.testing.player import Player as Player
from llmcore.testing.prefix import PrefixChangedError as PrefixChangedError
from llmcore.testing.prefix import assert_prefix_stable as assert_prefix_stable
from llmcore.testing.recorded import decode_recorded as decode_recorded
from llmcore.testing.recorded import recorded_events as recorded_events
from llmcore.testing.recorder import Recorder as Recorder
from llmcore.testing.script import ScriptEndedError as ScriptEndedError
from llmcore.testing.script import ScriptedTransport as ScriptedTransport
from llmcore.testing.script import scripted as scripted
from llmcore.testing.secret_scan import SecretFoundError as SecretFoundError

__all__ = [
    "Authored",
    "Cassette",
    "CassetteError",
    "CassetteFixture",
    "CassetteMismatchError",
    "Chunk",
    "Delay",
    "FakeModel",
    "Interaction",
    "Metadata",
    "NetworkForbiddenError",
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
    "call",
    "decode_recorded",
    "forbid_network",
    "load",
    "read_as_front",
    "recorded_events",
    "save",
    "scripted",
    "write_as_front",
]
