"""LangChain's chat models in scenes, each of which prints what came of it as JSON.

Run by a Python that has the packages of `langchain.txt`, with BASE_URL, API_KEY and MODEL.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

URL, KEY, MODEL = os.environ["BASE_URL"], os.environ["API_KEY"], os.environ["MODEL"]
ROOT = URL.removesuffix("/v1")
QUESTION = "What is the weather in Oslo and in Rome?"


def model() -> Any:
    """Return the chat model of the package that PROVIDER names."""
    match os.environ["PROVIDER"]:
        case "anthropic":
            from langchain_anthropic import ChatAnthropic

            return ChatAnthropic(model=MODEL, base_url=ROOT, api_key=KEY, max_retries=0)
        case "google":
            from langchain_google_genai import ChatGoogleGenerativeAI

            return ChatGoogleGenerativeAI(
                model=MODEL, base_url=ROOT, google_api_key=KEY, max_retries=0
            )
        case _:
            from langchain_openai import ChatOpenAI

            return ChatOpenAI(model=MODEL, base_url=URL, api_key=KEY, max_retries=0)


@tool
def get_weather(city: str) -> str:
    """Get the weather in a city."""
    return json.dumps({"weather": f"{city}: sunny"}, separators=(",", ":"))


def create() -> Any:
    """Return one whole response."""
    made = model().invoke([SystemMessage("Be brief."), HumanMessage("Say hello.")])
    return {"text": made.text, "usage": made.usage_metadata}


def stream() -> Any:
    """Return the pieces of a streamed response, added up."""
    pieces = list(model().stream("Say hello."))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    return {"text": whole.text, "usage": whole.usage_metadata, "pieces": len(pieces)}


def tools() -> Any:
    """Run the tools that the model calls until it calls none."""
    bound = model().bind_tools([get_weather])
    messages: list[BaseMessage] = [HumanMessage(QUESTION)]
    called: list[str] = []
    while True:
        answer = bound.invoke(messages)
        messages.append(answer)
        if not answer.tool_calls:
            return {"text": answer.text, "called": called}
        for call in answer.tool_calls:
            called.append(call["args"]["city"])
            result = get_weather.invoke(call["args"])
            messages.append(ToolMessage(result, tool_call_id=call["id"], name=call["name"]))


def error() -> Any:
    """Return the class and the words of the error that a refusal raises."""
    try:
        model().invoke("fail with 429")
    except Exception as raised:  # noqa: BLE001  (each package has classes of its own)
        return {"type": type(raised).__name__, "text": str(raised)}
    return None


SCENES: dict[str, Callable[[], Any]] = {
    "create": create,
    "stream": stream,
    "tools": tools,
    "error": error,
}

print(json.dumps(SCENES[sys.argv[1]]()))
