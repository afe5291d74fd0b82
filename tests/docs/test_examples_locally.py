"""Programs of `examples/` with a real model: the embedded one answers in place of every provider.

Without it: `fastapi_app.py`, which differs from `fastapi_stream.py` by its page, and
`test_headline.py`, a test with a fake model. Celery's task runs in the process, without a broker.
"""

import asyncio
import inspect
import json
import runpy
from ast import PyCF_ALLOW_TOP_LEVEL_AWAIT
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llmcore import (
    Anthropic,
    Client,
    Google,
    Local,
    Model,
    OpenAI,
    OpenAICompatible,
    set_default_client,
)
from llmcore.routes.defaults import RouteDefaults
from llmcore.routes.mistral import Mistral
from llmcore.routes.provider import Provider
from llmcore.schema.options import GenerationOptions
from llmcore.testing import scripted

EXAMPLES = Path(__file__).parents[2] / "examples"
MOST_TOKENS = {"objects": 120, "many_calls": 1}
"""Of one response; 8 for all other programs."""
SCRIPTS = (
    "budget",
    "cache",
    "chat_loop",
    "coding_agent",
    "fallback",
    "media",
    "new_provider",
    "objects",
    "session",
    "stream",
    "tools",
)

pytestmark = [pytest.mark.local_model, pytest.mark.slow]


@pytest.fixture(autouse=True)
def local_model_for_all(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    """Have every model of the programs be the embedded one, with short responses."""
    name = request.node.callspec.params.get("name") if hasattr(request.node, "callspec") else None
    short = GenerationOptions(temperature=0.0, max_tokens=MOST_TOKENS.get(name or "", 8))
    route = Local().chat_route.with_(defaults=RouteDefaults(generation=short))
    local = Provider.make(id="local", routes=[route])

    def embedded(_self: object, _model_id: str) -> Model:
        return local.model("smollm2-135m-instruct")

    monkeypatch.setattr(OpenAI, "responses", embedded)
    for kind in (OpenAI, Anthropic, Google, Mistral, OpenAICompatible):
        monkeypatch.setattr(kind, "model", embedded)
    for provider in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-example")
    monkeypatch.chdir(tmp_path)
    set_default_client(
        Client(
            providers={
                "openai": OpenAI(),
                "anthropic": Anthropic(),
                "google": Google(),
                "mistral": Mistral(),
            }
        )
    )
    yield
    set_default_client(None)


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_runs_with_the_responses_of_a_real_model(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = iter(["What is the capital of France?", "And of Norway?", ""])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(questions))

    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")

    printed = capsys.readouterr().out
    assert len(printed.strip()) > 3
    assert "Hello\n" * 2 not in printed
    if name == "media":
        assert printed.count("unsupported-content") == 4 * 3  # providers, parts
    if name == "objects":
        assert printed.startswith("Person(name=")
        assert "\n[Person(name=" in printed


@pytest.mark.parametrize("name", ["many_calls"])
def test_many_calls_are_answered_and_not_asked_again(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a few of its 200 prompts, which are the same program."""
    source = (EXAMPLES / f"{name}.py").read_text().replace("range(200)", "range(10)")
    program = compile(source, name, "exec")

    exec(program, {"__name__": "__main__"})
    set_default_client(Client(transport=scripted(), environ={}))
    exec(program, {"__name__": "__main__"})

    assert capsys.readouterr().out == "10 answers, 0 failures\n" * 2


def test_fastapi_app_streams_the_response_of_a_real_model() -> None:
    from fastapi.testclient import TestClient

    app = runpy.run_path(str(EXAMPLES / "fastapi_stream.py"))["app"]
    with TestClient(app) as browser:
        answer = browser.get("/ask", params={"question": "What is the capital of France?"})

    assert answer.status_code == 200
    assert answer.text.strip() not in ("", "Hello")  # the stand-in says Hello


def test_django_views_answer_with_a_real_model() -> None:
    from django.conf import settings
    from django.core.handlers.wsgi import WSGIRequest
    from django.test import RequestFactory

    app = runpy.run_path(str(EXAMPLES / "django_app.py"))
    if not settings.configured:
        settings.configure(ALLOWED_HOSTS=["testserver"])
    question: WSGIRequest = RequestFactory().get("/ask", {"question": "Where is Paris?"})

    whole = json.loads(app["ask"](question).content)["answer"]
    streamed = b"".join(app["ask_streaming"](question)).decode()

    assert len(whole) > 3
    assert streamed == whole


def test_celery_task_returns_the_summary_of_a_real_model() -> None:
    pytest.importorskip("celery", reason="celery is not installed")
    tasks = runpy.run_path(str(EXAMPLES / "celery_tasks.py"))

    assert len(tasks["summarize"]("Oslo is the capital of Norway, and its largest city.")) > 3


def test_streamlit_page_shows_the_response_of_a_real_model() -> None:
    testing = pytest.importorskip("streamlit.testing.v1", reason="streamlit is not installed")
    page = testing.AppTest.from_file(str(EXAMPLES / "streamlit_app.py"), default_timeout=30).run()

    page.chat_input[0].set_value("What is the capital of France?").run()

    assert not page.exception
    assert len(page.chat_message[1].markdown[0].value) > 3


def test_notebook_runs_with_the_responses_of_a_real_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cells = json.loads((EXAMPLES / "notebook.ipynb").read_text())["cells"]
    shown: list[Any] = []

    async def run() -> None:
        namespace: dict[str, object] = {}
        for source in ("".join(one["source"]) for one in cells if one["cell_type"] == "code"):
            *lines, last = source.splitlines()
            shows = not last.startswith((" ", "print", "model"))
            code = "\n".join([*lines, f"_ = {last}" if shows else last])
            result = eval(
                compile(code, "cell", "exec", flags=PyCF_ALLOW_TOP_LEVEL_AWAIT), namespace
            )
            if inspect.isawaitable(result):
                await result
            shown.append(namespace.pop("_", None))

    asyncio.run(run())

    assert len(capsys.readouterr().out) > 20
    assert [len(one) for one in shown if one is not None] == [2]  # the texts of many calls
