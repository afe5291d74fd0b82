"""The programs of `examples/` run as they are, and are as short as the shortest peer's."""

import ast
import asyncio
import importlib.util
import inspect
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from llmcore import set_default_client
from llmcore.testing.fake_model import FakeModel, call
from scripts.examples_page import PAGE, TITLES, page
from tests.support.programs.fresh_interpreter import run_fresh

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PEERS = ROOT / "benchmarks" / "peer_programs"
PRINTED = {
    "batch_file": "italy Hello\nnorway Hello\n",
    "budget": "Hello 3.325e-05\n",
    "cache": "Hello\n" * 10,
    "chat_loop": "Hello",
    "coding_agent": "[read_file {'path': 'Hello'}]\nHello",
    "fallback": "Hello\n",
    "images": "image/png 3 tokens in\n",
    "many_calls": "200 answers, 0 failures\n",
    "mcp_servers": "Hello\n",
    "media": "openai:gpt-5.2\n  Hello\n",
    "new_provider": "Hello\n",
    "objects": "Person(name='Hello', age=3)\n[Person(name='Hello', age=3)]\n",
    "session": "Hello\n",
    "speech": "0.0 to 0.5 s: Hello\n",
    "stream": "Hello",
    "tools": "Hello\n",
}
"""The output of each script, or its beginning, with a provider that answers "Hello"."""

COMPARED = re.findall(
    r"^\| [^|]+ \| (\w+\.py) \| (\d+) \| (\d+) \|",
    (ROOT / "docs" / "comparison.md").read_text("utf-8"),
    re.MULTILINE,
)
"""The table of programs: file, lines, and lines with the shortest of the peers."""

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_network", "own_folder")]


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", PRINTED)
def test_script_prints_the_response(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = iter(["Why?", ""])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(questions))

    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")

    assert PRINTED[name] in capsys.readouterr().out


def test_coding_agent_writes_after_approval_and_remembers_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = {"path": "a.py", "content": "print(1)"}
    fake = FakeModel([call("write_file", written)], "Done.", "You asked for a.py.")
    set_default_client(fake.client)
    try:
        for lines in (["Write a.py.", "y", ""], ["What did I ask?", ""]):
            typed = iter(lines)
            monkeypatch.setattr("builtins.input", lambda _prompt, typed=typed: next(typed))
            runpy.run_path(str(EXAMPLES / "coding_agent.py"), run_name="__main__")
    finally:
        set_default_client(None)

    assert Path("a.py").read_text() == "print(1)"
    printed = capsys.readouterr().out
    assert printed.startswith("\n[write_file {'path': 'a.py'")
    assert printed.endswith("Done.You asked for a.py.")
    assert len(fake.requests[-1].messages) == 5


@pytest.mark.parametrize(("name", "ours", "theirs"), COMPARED)
def test_program_has_the_lines_of_the_table_and_no_more_than_with_a_peer(
    name: str, ours: str, theirs: str
) -> None:
    assert lines_of((EXAMPLES / name).read_text()) == int(ours) <= int(theirs)
    assert lines_of((PEERS / name).read_text()) == int(theirs)


def test_table_of_programs_has_the_twelve_and_one_more() -> None:
    assert len({name for name, _, _ in COMPARED}) == len(COMPARED) == 13


def lines_of(program: str) -> int:
    """Return its lines of code: no empty ones, no docstrings, no comments, however wrapped."""
    tree = ast.parse(program)
    for node in ast.walk(tree):
        kinds = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        if isinstance(node, kinds) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return len([line for line in ast.unparse(tree).splitlines() if line.strip()])


def test_every_example_is_run() -> None:
    """By one of the tests of this module."""
    source = Path(__file__).read_text()
    names = {path.name for path in EXAMPLES.iterdir() if path.suffix in {".py", ".ipynb"}}

    assert {
        name for name in names if name not in source and Path(name).stem not in PRINTED
    } == set()


def load(name: str) -> ModuleType:
    path = EXAMPLES / name
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_fastapi_app_sends_events_and_a_page() -> None:
    from fastapi.testclient import TestClient

    with TestClient(load("fastapi_app.py").app) as browser:
        answer = browser.get("/ask", params={"question": "Why?"})
        page = browser.get("/")

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.text == 'data: {"text": "Hello"}\n\nevent: end\ndata: {}\n\n'
    assert "EventSource" in page.text


def test_smallest_fastapi_app_streams_the_text() -> None:
    from fastapi.testclient import TestClient

    answer = TestClient(load("fastapi_stream.py").app).get("/ask", params={"question": "Why?"})

    assert answer.text == "Hello"


def test_django_app_answers_whole_and_streamed() -> None:
    from django.conf import settings
    from django.core.handlers.wsgi import WSGIRequest
    from django.test import RequestFactory

    app = load("django_app.py")
    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["testserver"])
    request: WSGIRequest = RequestFactory().get("/ask", {"question": "Why?"})

    assert json.loads(app.ask(request).content) == {"answer": "Hello"}
    assert b"".join(app.ask_streaming(request)) == b"Hello"
    assert [str(one.pattern) for one in app.urlpatterns] == ["ask", "ask-streaming"]


@pytest.mark.slow
def test_django_app_shows_the_error_of_a_request_without_a_question() -> None:
    """The page with the error needs settings that the app makes itself."""
    program = (
        "import sys; sys.argv[1:] = ['check']",
        f"exec(open({str(EXAMPLES / 'django_app.py')!r}).read())",
        "from django.test import Client",
        "client = Client(raise_request_exception=False, headers={'host': 'localhost'})",
        "print(client.get('/ask').content.decode())",
    )

    assert "MultiValueDictKeyError" in run_fresh("\n".join(program)).stdout


def test_celery_task_returns_the_text_and_retries_errors_that_may_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exceptions = pytest.importorskip("celery.exceptions", reason="celery is not installed")
    from llmcore import AuthenticationError, RateLimitError, sync

    tasks = load("celery_tasks.py")

    def failing(error: Exception) -> Any:
        def generate(*_: object, **__: object) -> None:
            raise error

        return generate

    assert tasks.summarize("A long text.") == "Hello"
    monkeypatch.setattr(sync, "generate", failing(RateLimitError("slow down", retry_after=7.0)))
    monkeypatch.setattr(
        tasks.summarize, "retry", lambda **how: exceptions.Retry(when=how["countdown"])
    )
    with pytest.raises(exceptions.Retry) as raised:
        tasks.summarize.run("A long text.")
    assert raised.value.when == 7.0
    monkeypatch.setattr(sync, "generate", failing(AuthenticationError("no")))
    with pytest.raises(AuthenticationError):
        tasks.summarize.run("A long text.")


def test_streamlit_app_shows_question_and_answer() -> None:
    testing = pytest.importorskip("streamlit.testing.v1", reason="streamlit is not installed")
    app = testing.AppTest.from_file(str(EXAMPLES / "streamlit_app.py"), default_timeout=20).run()
    app.chat_input[0].set_value("Why?").run()

    assert not app.exception
    assert [message.name for message in app.chat_message] == ["user", "assistant"]
    assert app.chat_message[1].markdown[0].value == "Hello"
    app.chat_input[0].set_value("And now?").run()
    assert len(app.chat_message) == 4


def test_pytest_example_passes() -> None:
    load("test_headline.py").test_quotes_around_a_headline_are_removed()


def test_notebook_runs_from_top_to_bottom(capsys: pytest.CaptureFixture[str]) -> None:
    async def run() -> None:
        namespace: dict[str, object] = {}
        for code in cells(EXAMPLES / "notebook.ipynb"):
            compiled = compile(code, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            result = eval(compiled, namespace)
            if inspect.isawaitable(result):
                await result

    asyncio.run(run())

    assert capsys.readouterr().out == "Hello 5\nHelloHello"


def cells(notebook: Path) -> Iterator[str]:
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] == "code":
            yield "".join(cell["source"])


def test_page_of_examples_is_current_and_has_every_file() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `make docs-table`"
    names = {name for titles in TITLES.values() for name in titles}
    assert names == {path.name for path in EXAMPLES.iterdir() if path.suffix in {".py", ".ipynb"}}
