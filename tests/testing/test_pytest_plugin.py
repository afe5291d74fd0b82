"""The pytest plugin, in pytest runs of its own."""

import json
import os
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest

from llmcore.client.client import Client
from llmcore.client.http.http_transport import HttpTransport
from llmcore.client.user_folders import cache_dir
from llmcore.routes.openai_compatible import OpenAICompatible
from llmcore.schema.request import request
from llmcore.testing import pytest_plugin
from llmcore.testing.cassette import Authored, Cassette, Metadata, Recorded
from llmcore.testing.cassette_file import load, save
from llmcore.testing.player import Player
from llmcore.testing.recorder import Recorder
from llmcore.testing.selection import MARKER, RecordedTest, Selection, describe
from tests.support.servers.loopback import Loopback, chat_handler, serve

pytest_plugins = ["pytester"]

pytestmark = pytest.mark.slow

_INSTALLED = any(entry.name == "llmcore" for entry in entry_points(group="pytest11"))
_LOADED = (
    *(() if _INSTALLED else ("-p", "llmcore.testing.pytest_plugin")),
    *(f"-pno:{name}" for name in ("syrupy", "hypothesispytest", "returns", "cacheprovider")),
)

CACHE = cache_dir(os.environ)
"""Where the local model is: each run has a home folder of its own."""

IMPORTS = """
    import os
    import pytest
    from llmcore.routes.openai_compatible import OpenAICompatible
    from llmcore.schema.request import request

    def ask(prompt="Hi", key="loop-key-0123456789"):
        url = os.environ.get("LOOP_URL", "http://127.0.0.1:9/v1")
        provider = OpenAICompatible.configure(name="loop", base_url=url, api_key=key)
        return request(model=provider.model("m-1"), prompt=prompt)
"""

STREAMS = """
    @pytest.mark.anyio
    @pytest.mark.cassette(provider="loop", protocol="openai-chat", tags=["text"])
    async def test_streams_text(cassette):
        async with cassette.client() as client:
            result = await client.stream(ask()).result()
        assert result.unwrap().text == "Hello"
        assert cassette.path.name == "streams-text.json"
"""

Run = Callable[..., pytest.RunResult]


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """Import all that a test may use, before the runs below do.

    Each of them forgets what it was the first to import, and the second copy of a library
    does not know the exceptions of the first.
    """
    import_module("llmcore.testing.fixture")

    async def exchange(url: str) -> None:
        provider = OpenAICompatible.configure(name="loop", base_url=url, api_key="k")
        recorder = Recorder(HttpTransport(), Metadata(name="x"))
        async with Client(transport=recorder) as client:
            await client.stream(request(model=provider.model("m-1"), prompt="Hi")).result()
        await recorder.aclose()
        Player(recorder.cassette)

    with serve(chat_handler) as server:
        for backend in ("asyncio", "trio"):
            anyio.run(exchange, server.url, backend=backend)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run pytest in a folder of its own, with warnings as errors."""
    for name in ("CI", "RECORD", "LOOP_URL", *(f"RECORDED_{one}" for one in FILTERS)):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess(*_LOADED, "-W", "error", "-rs", *arguments)

    return run


FILTERS = ("PROVIDER", "PREFIX", "TAGS", "TEST")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    with serve(chat_handler) as running:
        monkeypatch.setenv("LOOP_URL", f"{running.url}/v1")
        yield running


def module(pytester: pytest.Pytester, body: str, name: str = "test_chat") -> Path:
    return pytester.makepyfile(**{name: IMPORTS + body})


# -- Recording and replaying ----------------------------------------------------------------


def test_what_is_recorded_replays_without_a_server(
    pytester: pytest.Pytester, run: Run, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One recording serves both event loops, in the same run and in later ones."""
    module(pytester, STREAMS)
    path = pytester.path / "cassettes" / "chat" / "streams-text.json"

    recording = run("--record")
    recording.assert_outcomes(passed=2)
    recording.stdout.fnmatch_lines([f"recording cassettes: to {pytester.path}/cassettes"])
    assert len(server.received) == 1
    assert load(path).metadata == Metadata(
        name="chat/streams-text",
        provider="loop",
        protocol="openai-chat",
        tags=("text",),
        origin=Recorded(server="localhost", model="m-1"),
    )

    before = path.read_bytes()
    monkeypatch.delenv("LOOP_URL")
    server.close()
    run().assert_outcomes(passed=2)
    assert path.read_bytes() == before


def test_record_true_in_the_environment_records(
    pytester: pytest.Pytester, run: Run, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RECORD=true is `--record`."""
    module(pytester, STREAMS)
    monkeypatch.setenv("RECORD", "true")

    run().assert_outcomes(passed=2)

    assert len(server.received) == 1


@pytest.mark.parametrize("record", ["option", "variable"])
def test_ci_true_never_records(
    pytester: pytest.Pytester,
    run: Run,
    server: Loopback,
    monkeypatch: pytest.MonkeyPatch,
    record: str,
) -> None:
    """A missing cassette fails, and says how to make it."""
    module(pytester, STREAMS)
    monkeypatch.setenv("CI", "true")
    if record == "variable":
        monkeypatch.setenv("RECORD", "1")

    result = run(*(["--record"] if record == "option" else []))

    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        [
            "recording cassettes: nothing is recorded: CI=true",
            "*there is no cassette *streams-text.json (with CI=true nothing is recorded)*",
        ]
    )
    assert server.received == []
    assert not (pytester.path / "cassettes").exists()


def test_missing_cassette_error_has_the_command_that_records_it(
    pytester: pytest.Pytester, run: Run
) -> None:
    """In one line, ready to be copied."""
    module(pytester, STREAMS)

    result = run()

    path = pytester.path / "cassettes" / "chat" / "streams-text.json"
    command = "pytest --record 'test_chat.py::test_streams_text[[]asyncio[]]'"
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines([f"there is no cassette {path}. Record it: {command}"])


def test_a_changed_request_fails_with_a_diff(
    pytester: pytest.Pytester, run: Run, server: Loopback
) -> None:
    """The test fails, although its client raises no errors."""
    module(pytester, STREAMS)
    run("--record").assert_outcomes(passed=2)
    module(pytester, STREAMS.replace("ask()", "ask('Bye')"))

    result = run()

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "E*CassetteMismatchError: cassette 'chat/streams-text': Request 1 differs*",
            'E*-*"content": "Hi",',
            'E*+*"content": "Bye",',
            "E*record it again: pytest --record 'test_chat.py::test_streams_text[[]asyncio[]]'",
        ]
    )


def test_a_mismatch_that_the_test_swallows_fails_it(
    pytester: pytest.Pytester, run: Run, server: Loopback
) -> None:
    """A test that catches everything does not pass."""
    module(pytester, STREAMS)
    run("--record").assert_outcomes(passed=2)
    module(
        pytester,
        """
    @pytest.mark.anyio
    @pytest.mark.cassette("chat/streams-text")
    async def test_careless(cassette):
        with pytest.raises(Exception):
            await cassette.client().stream(ask("Bye")).result()
""",
    )

    result = run()

    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(["*Request 1 differs*"])


TWICE = """
    @pytest.mark.anyio
    @pytest.mark.cassette("two")
    async def test_two(cassette):
        for _ in range({count}):
            await cassette.client().generate(ask())
        assert {holds}
"""


def test_requests_that_are_no_longer_sent_are_reported(
    pytester: pytest.Pytester, run: Run, server: Loopback
) -> None:
    """At the end of a test that passed; one that failed has its own story to tell."""
    module(pytester, TWICE.format(count=2, holds="True"))
    run("--record").assert_outcomes(passed=2)

    module(pytester, TWICE.format(count=1, holds="True"))
    result = run()
    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(["*1 recorded request was not sent:*"])

    module(pytester, TWICE.format(count=1, holds="False"))
    run().assert_outcomes(failed=2)


def test_a_failing_test_records_nothing(
    pytester: pytest.Pytester, run: Run, server: Loopback
) -> None:
    """The cassette that was there stays."""
    module(pytester, TWICE.format(count=1, holds="True"))
    run("--record").assert_outcomes(passed=2)
    before = (pytester.path / "cassettes" / "two.json").read_bytes()

    module(pytester, TWICE.format(count=2, holds="False"))
    run("--record").assert_outcomes(failed=2)

    assert (pytester.path / "cassettes" / "two.json").read_bytes() == before


BROKEN_LATER = """
    @pytest.fixture
    def broken(cassette):
        raise RuntimeError("after the cassette was begun")

    @pytest.mark.cassette("two")
    def test_two(broken):
        pass
"""


def test_test_whose_other_fixture_fails_records_nothing_and_replays_without_a_second_error(
    pytester: pytest.Pytester, run: Run, server: Loopback
) -> None:
    module(pytester, TWICE.format(count=1, holds="True"))
    run("--record").assert_outcomes(passed=2)
    before = (pytester.path / "cassettes" / "two.json").read_bytes()

    module(pytester, BROKEN_LATER)
    run("--record").assert_outcomes(errors=1)
    run().assert_outcomes(errors=1)

    assert (pytester.path / "cassettes" / "two.json").read_bytes() == before


def test_a_secret_fails_the_test_and_writes_nothing(
    pytester: pytest.Pytester, run: Run, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the configuration allows the value."""
    monkeypatch.setenv("LOOP_API_KEY", "prompt-with-4-digits-1234")
    module(pytester, STREAMS.replace("ask()", "ask('prompt-with-4-digits-1234')"))

    result = run("--record")

    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(
        ["*request.body.messages*content holds the value of the environment variable LOOP_API_KEY"]
    )
    assert not (pytester.path / "cassettes").exists()
    pytester.makeini("[pytest]\nllmcore_not_secret =\n    prompt-with-4-digits-1234\n")
    run("--record").assert_outcomes(passed=2)


def test_an_authored_cassette_is_never_recorded_over(
    pytester: pytest.Pytester, run: Run, server: Loopback
) -> None:
    """It is replayed while the others are recorded."""
    path = pytester.path / "cassettes" / "chat" / "streams-text.json"
    metadata = Metadata(name="chat/streams-text", origin=Authored(source="the manual"))
    save(Cassette(metadata=metadata), path, environ={})
    module(pytester, STREAMS)

    result = run("--record")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*Request 1 is one too many: 0 requests were recorded*",
            f"*The cassette is {path}, written by hand after the manual*",
        ]
    )
    assert server.received == []
    assert load(path).metadata == metadata


def test_a_malformed_cassette_is_reported_with_its_path(
    pytester: pytest.Pytester, run: Run
) -> None:
    """The error has the command that records it, and no frames of this library."""
    path = pytester.path / "cassettes" / "chat" / "streams-text.json"
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    module(pytester, STREAMS)

    result = run()

    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(
        ["*streams-text.json holds no cassette*", "Restore the file, or record it again: pytest*"]
    )
    result.stdout.no_fnmatch_line("*codec.py*")


# -- What the fixture gives -------------------------------------------------------------------


def test_replaying_needs_no_key(
    pytester: pytest.Pytester, run: Run, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recording takes the real key from the environment, replaying a placeholder."""
    module(
        pytester,
        """
    from llmcore.routes.auth import Auth

    @pytest.mark.anyio
    @pytest.mark.cassette(requires=["LOOP_API_KEY"])
    async def test_keyless(cassette):
        asked = ask()
        route = asked.model.route.with_(auth=Auth.env("LOOP_API_KEY"))
        result = await cassette.client().generate(request(model=route.model("m-1"), prompt="Hi"))
        assert result.unwrap().text == "Hello"
""",
    )

    skipped = run("--record")
    skipped.assert_outcomes(skipped=2)
    skipped.stdout.fnmatch_lines(["*recording chat/keyless needs LOOP_API_KEY"])
    monkeypatch.setenv("LOOP_API_KEY", "real-key-0123456789")
    run("--record").assert_outcomes(passed=2)
    assert server.received[0].headers["authorization"] == "Bearer real-key-0123456789"
    monkeypatch.delenv("LOOP_API_KEY")
    run().assert_outcomes(passed=2)


def test_the_fixture_is_a_transport_for_any_client(
    pytester: pytest.Pytester, run: Run, server: Loopback
) -> None:
    """And it says in which mode it is; a test without requests has an empty cassette."""
    module(
        pytester,
        """
    from llmcore.client.client import Client
    from llmcore.testing import CassetteFixture, Player, Recorder

    @pytest.mark.anyio
    async def test_by_hand(cassette: CassetteFixture):
        kinds = {"record": Recorder, "replay": Player}
        assert isinstance(cassette.transport, kinds[cassette.record_mode])
        result = await Client(transport=cassette.transport).generate(ask())
        assert result.unwrap().text == "Hello"

    def test_without_requests(cassette):
        assert cassette.client(default_provider=None).prepare(ask()).unwrap()
        assert cassette.name in repr(cassette)
""",
    )

    recorded = run("--record")
    recorded.assert_outcomes(passed=3)
    recorded.stdout.fnmatch_lines(
        ["*::test_without_requests sent nothing *client=cassette.client()*"]
    )
    run().assert_outcomes(passed=3)
    assert load(pytester.path / "cassettes/chat/without-requests.json").interactions == ()


@pytest.mark.local_model
def test_local_model_is_recorded_and_replayed(
    pytester: pytest.Pytester, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It needs no server and no transport of the project."""
    monkeypatch.setenv("LLMCORE_CACHE_DIR", str(CACHE))
    module(
        pytester,
        """
    @pytest.mark.anyio
    async def test_local(cassette):
        answered = request(model="local:smollm2", prompt="Hi", max_tokens=3)
        assert (await cassette.client().complete(answered)).text
""",
    )

    run("--record").assert_outcomes(passed=2)
    run().assert_outcomes(passed=2)
    stored = load(pytester.path / "cassettes/chat/local.json")
    assert [item.request.url for item in stored.interactions] == [
        "http://local/v1/chat/completions"
    ]


def test_a_project_can_override_transport_origin_and_directory(
    pytester: pytest.Pytester, run: Run, server: Loopback
) -> None:
    """Transport, origin and directory are the project's to choose."""
    pytester.makeini("[pytest]\nllmcore_cassettes = tapes/here\n")
    pytester.makeconftest(
        """
        import pytest
        from llmcore.client.http.http_transport import HttpTransport
        from llmcore.testing import Recorded, scripted

        @pytest.fixture
        def cassette_transport():
            choice = {"message": {"content": "Hello"}, "finish_reason": "stop"}
            return scripted({"choices": [choice]})

        @pytest.fixture
        def cassette_origin():
            return Recorded(server="llama.cpp", version="b1234", model="small")
        """
    )
    module(pytester, STREAMS.replace("stream(ask()).result()", "generate(ask())"))

    run("--record").assert_outcomes(passed=2)

    stored = load(pytester.path / "tapes/here/chat/streams-text.json")
    assert stored.metadata.origin == Recorded(server="llama.cpp", version="b1234", model="small")
    assert server.received == []
    run().assert_outcomes(passed=2)


def test_headers_order_and_realtime_of_the_mark_reach_the_player(
    pytester: pytest.Pytester, run: Run, server: Loopback
) -> None:
    """Any order, real time, more headers."""
    source = """
    @pytest.mark.cassette(headers=["user-agent"])
    @pytest.mark.cassette("many", order="any", realtime=True)
    @pytest.mark.anyio
    async def test_many(cassette):
        for prompt in {prompts}:
            await cassette.client().generate(ask(prompt))
"""
    module(pytester, source.format(prompts=["a", "b"]))
    run("--record").assert_outcomes(passed=2)
    path = pytester.path / "cassettes" / "many.json"
    data = json.loads(path.read_text())
    for one in data["interactions"]:
        one["response"]["delay_ms"] = 60.0
    path.write_text(json.dumps(data))
    assert "user-agent" in data["interactions"][0]["request"]["headers"]
    module(pytester, source.format(prompts=["b", "a"]))

    result = run("--durations=0", "-vv")

    result.assert_outcomes(passed=2)
    assert result.duration > 0.24


# -- Names and filters -------------------------------------------------------------------------


def described(pytester: pytest.Pytester, source: str, **modules: str) -> list[RecordedTest]:
    """Return the tests of *source* as the plugin sees them."""
    path = pytester.makepyfile(**(modules or {"test_chat": source}))
    items = pytester.inline_genitems(*_LOADED, path)[0]
    return [describe(item) for item in items]


def test_cassette_names_consist_of_module_class_and_parameters(pytester: pytest.Pytester) -> None:
    """The event loop does not belong to them."""
    tests = described(
        pytester,
        """
        import pytest

        def test_plain(): ...

        class TestTools:
            def test_round_trip(self): ...

        @pytest.mark.anyio
        @pytest.mark.parametrize("model", ["gpt-5.2", "a/b", "a_b"])
        async def test_model(model): ...

        @pytest.mark.cassette("shared/one")
        @pytest.mark.parametrize("n", [1, 2])
        def test_shared(n): ...
        """,
    )

    names = [test.name for test in tests]
    assert names[:2] == ["chat/plain", "chat/Tools-round-trip"]
    on_asyncio, on_trio = names[2:5], names[5:8]
    assert on_asyncio == on_trio
    assert on_asyncio[0] == "chat/model-gpt-5.2"
    assert on_asyncio[1].startswith("chat/model-a-b-")
    assert on_asyncio[2] == "chat/model-a-b"
    assert names[8:] == ["shared/one", "shared/one"]


def test_cassette_names_contain_the_folders_of_tests(pytester: pytest.Pytester) -> None:
    """Below `tests`, as the package under test."""
    folder = pytester.mkdir("tests")
    (folder / "routes").mkdir()
    (folder / "routes" / "test_openai_chat.py").write_text("def test_it(): ...\n")
    items = pytester.inline_genitems(*_LOADED, folder)[0]

    assert [describe(item).name for item in items] == ["routes/openai-chat/it"]


def test_marks_of_module_class_and_function_are_merged(pytester: pytest.Pytester) -> None:
    """Tags of all of them, the rest from the closest."""
    (test,) = described(
        pytester,
        """
        import pytest

        pytestmark = pytest.mark.cassette(
            provider="a", protocol="p", tags=["slow"], prefix="deep/a"
        )

        @pytest.mark.cassette(provider="b", tags=["text"])
        def test_it(): ...
        """,
    )

    assert (test.provider, test.protocol, test.name) == ("b", "p", "deep/a/it")
    assert test.searchable_tags == {"text", "slow", "provider:b", "protocol:p"}


@pytest.mark.parametrize(
    ("mark", "complaint"),
    [
        ("provder='x'", "takes no provder"),
        ("'a', 'b'", "takes one name"),
        ("'../a'", "'../a' is not a path below"),
        ("'/a'", "'/a' is not a path below"),
        ("''", "'' is not a path below"),
        ("5", "5 is not a path below"),
        ("order='random'", "order is one of recorded, any"),
        ("tags='text'", "tags is a list of texts"),
    ],
)
def test_a_mark_with_wrong_options_is_refused(
    pytester: pytest.Pytester, run: Run, mark: str, complaint: str
) -> None:
    """With the test's name and what is wrong."""
    module(pytester, f"\n    @pytest.mark.cassette({mark})\n    def test_it(cassette): ...\n")

    result = run()

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*test_chat.py::test_it*{complaint}*"])


FILTERED = """
    @pytest.mark.cassette("openai-chat/streams-text", provider="openai", tags=["text"])
    def test_streams_text(cassette): ...

    @pytest.mark.cassette("openai-chat/calls-tools", provider="openai", tags=["tool", "slow"])
    def test_calls_tools(cassette): ...

    @pytest.fixture
    def deep(cassette): ...

    @pytest.mark.cassette("gemini/calls-tools", provider="google", protocol="gemini", tags=["tool"])
    def test_gemini(deep): ...

    def test_unrecorded(): ...
"""
NAMES = ("openai-chat/streams-text", "openai-chat/calls-tools", "gemini/calls-tools")


@pytest.mark.parametrize(
    "choice",
    [
        ("provider", "openai", {"test_streams_text", "test_calls_tools"}),
        ("provider", "google, anthropic", {"test_gemini"}),
        ("prefix", "openai-chat", {"test_streams_text", "test_calls_tools"}),
        ("prefix", "openai", set()),
        ("prefix", "gemini/,openai-chat/streams-text", {"test_gemini", "test_streams_text"}),
        ("tags", "tool", {"test_calls_tools", "test_gemini"}),
        ("tags", "tool,slow", {"test_calls_tools"}),
        ("tags", "provider:google,tool", {"test_gemini"}),
        ("tags", "protocol:gemini", {"test_gemini"}),
        ("test", "streams text", {"test_streams_text"}),
        ("test", "calls-tools", {"test_calls_tools", "test_gemini"}),
        ("test", "gemini/calls-tools.json,streams_text", {"test_gemini", "test_streams_text"}),
        ("test", "nothing", set()),
    ],
)
@pytest.mark.parametrize("by", ["option", "variable"])
def test_filters_deselect_other_recorded_tests(
    pytester: pytest.Pytester,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    choice: tuple[str, str, set[str]],
    by: str,
) -> None:
    """Visibly; tests without cassettes stay."""
    name, value, wanted = choice
    module(pytester, FILTERED)
    for one in NAMES:
        save(Cassette(metadata=Metadata(name=one)), f"{pytester.path}/cassettes/{one}.json")
    if by == "variable":
        monkeypatch.setenv(f"RECORDED_{name.upper()}", value)

    result = run("-v", *([f"--recorded-{name}={value}"] if by == "option" else []))

    result.assert_outcomes(passed=len(wanted) + 1, deselected=3 - len(wanted))
    for test in (*wanted, "test_unrecorded"):
        result.stdout.fnmatch_lines([f"*::{test} PASSED*"])
    result.stdout.fnmatch_lines(["recorded tests: *"])


def test_filters_narrow_a_recording(pytester: pytest.Pytester, run: Run, server: Loopback) -> None:
    """The other cassettes stay as they are."""
    module(pytester, STREAMS + STREAMS.replace("streams_text", "other"))

    run("--record", "--recorded-test", "streams-text").assert_outcomes(passed=2, deselected=2)

    assert [path.name for path in pytester.path.glob("cassettes/*/*")] == ["streams-text.json"]


def test_page_of_cassettes_names_every_option_setting_and_fixture_of_the_plugin() -> None:
    page = Path("docs/cassettes.md").read_text("utf-8")
    source = Path(pytest_plugin.__file__).read_text("utf-8")
    settings = re.findall(r'addini\(\s*"(\w+)"', source)
    fixtures = re.findall(r"@pytest.fixture\ndef (\w+)", source)
    options = re.findall(r"(\w+)=", MARKER)

    assert (len(settings), len(fixtures), len(options)) == (2, 3, 9)
    assert [one for one in (*settings, *fixtures) if f"`{one}`" not in page] == []
    assert [one for one in options if not re.search(rf"`{one}(=|`)", page)] == []


def test_an_option_goes_before_its_variable() -> None:
    """The command line takes precedence over the environment."""
    environ = {"RECORDED_TAGS": "a,b", "RECORDED_PROVIDER": "x"}

    assert Selection.of({"tags": "c"}, environ) == Selection(providers=("x",), tags=("c",))
    assert str(Selection.of({"tags": "c"}, environ)) == "providers x, tags c"
    assert not any(Selection.of({}, {}))


# -- Beside other plugins -----------------------------------------------------------------------


@pytest.mark.skipif(find_spec("xdist") is None, reason="pytest-xdist is not installed")
def test_recording_and_replaying_work_under_xdist(
    pytester: pytest.Pytester,
    run: Run,
    server: Loopback,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One process records a cassette of several tests; the others wait for it, and replay it."""
    module(pytester, STREAMS)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each process would load them all
    plugins = (f"-p{name}" for name in ("xdist.plugin", "anyio", "llmcore.testing.pytest_plugin"))
    parallel = (*plugins, "-n", "2")

    run(*parallel, "--record").assert_outcomes(passed=2)
    assert len(server.received) == 1
    run(*parallel, "--recorded-provider", "loop").assert_outcomes(passed=2)

    assert len(list(pytester.path.glob("cassettes/**/*.*"))) == 1


def test_a_run_without_cassettes_does_not_import_the_fixture(
    pytester: pytest.Pytester, run: Run
) -> None:
    """No header, no deselection, no import."""
    module_path = pytester.makepyfile(
        """
        import sys

        def test_it():
            assert "llmcore.testing.fixture" not in sys.modules
        """
    )
    result = pytester.runpytest_subprocess(*_LOADED, "-W", "error", module_path)

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("recording*")
    result.stdout.no_fnmatch_line("recorded tests*")
