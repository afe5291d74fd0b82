"""For tests: recorded exchanges, scripted transports, assertions.

In reading order:

- `script`: a transport that answers from a script, without a file
- `fake_model`: a model that gives the responses of a test; `network`: a guard against real ones
- `cassette`: recorded exchanges as values; `cassette_file` is their JSON, `bodies` how it
  writes a body, `recorded_headers` the headers and URLs that it may contain
- `recorder` makes cassettes, `secret_scan` keeps credentials
  out of them
- `player` serves them, `request_diff` shows how a request differs
  from the recorded one
- `httpx_transport`: all three as transports of httpx and httpx2, for other SDKs
- `recorded`: from the bytes of a response to its events or an LLMResponse, without a client
- `fronts`: native requests read, and responses written, in the form of an API that clients speak
- `prefix`: the proof that each turn's request begins with the one before it
- `pytest_plugin`: the fixture `cassette` (its value is in `fixture`), `--record` and the
  filters (in `selection`)

Each name is imported from its module on first use, so that the plugin can load this package
without loading a client.
"""

from llmcore.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "llmcore.testing.cassette": (
            "Authored Cassette CassetteError Chunk Interaction Metadata NoResponse Recorded "
            "RecordedRequest RecordedResponse SocketMessage WebSocketInteraction"
        ),
        "llmcore.testing.cassette_file": "load save",
        "llmcore.testing.fake_model": "Delay FakeModel call",
        "llmcore.testing.fixture": "CassetteFixture",
        "llmcore.testing.fronts": "read_as_front write_as_front",
        "llmcore.testing.network": "NetworkForbiddenError forbid_network",
        "llmcore.testing.player": "CassetteMismatchError Player",
        "llmcore.testing.prefix": "PrefixChangedError assert_prefix_stable",
        "llmcore.testing.recorded": "decode_recorded recorded_events",
        "llmcore.testing.recorder": "Recorder",
        "llmcore.testing.script": "ScriptEndedError ScriptedTransport scripted",
        "llmcore.testing.secret_scan": "SecretFoundError",
    },
)
