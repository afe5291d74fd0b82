"""Programs of `examples/` with a real model: the embedded one answers in place of OpenAI's."""

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from llmcore import Client, Local, Model, OpenAI, OpenAICompatible, set_default_client
from llmcore.routes.provider import Provider
from llmcore.routes.route import RouteDefaults
from llmcore.schema.options import GenerationOptions

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = (
    "budget",
    "cache",
    "chat_loop",
    "fallback",
    "new_provider",
    "session",
    "stream",
    "tools",
)
"""Not `objects`, whose list a model of this size does not always end; not 200 calls, not files."""
SHORT = RouteDefaults(generation=GenerationOptions(temperature=0.0, max_tokens=24))

pytestmark = [pytest.mark.local_model, pytest.mark.slow]


@pytest.fixture(autouse=True)
def local_model_for_openai(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Have every model of the programs be the embedded one, with short answers."""
    local = Provider.make(id="local", routes=[Local().chat_route.with_(defaults=SHORT)])

    def embedded(_self: object, _model_id: str) -> Model:
        return local.model("smollm2-135m-instruct")

    for kind, name in ((OpenAI, "responses"), (OpenAI, "model"), (OpenAICompatible, "model")):
        monkeypatch.setattr(kind, name, embedded)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-example")
    monkeypatch.chdir(tmp_path)
    set_default_client(Client(providers={"openai": OpenAI()}))
    yield
    set_default_client(None)


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_runs_with_the_answers_of_a_real_model(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = iter(["What is the capital of France?", "And of Norway?", ""])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(questions))

    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")

    printed = capsys.readouterr().out
    assert len(printed.strip()) > 3
    assert "Hello\n" * 2 not in printed


def test_fastapi_app_streams_the_answer_of_a_real_model() -> None:
    from fastapi.testclient import TestClient

    app = runpy.run_path(str(EXAMPLES / "fastapi_stream.py"))["app"]
    with TestClient(app) as browser:
        answer = browser.get("/ask", params={"question": "What is the capital of France?"})

    assert answer.status_code == 200
    assert answer.text.strip() not in ("", "Hello")  # the stand-in says Hello
