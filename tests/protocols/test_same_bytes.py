"""The same request gives the same bytes in any process, which prompt caches depend on."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from llmcore import ImagePart, Message, Model, request
from llmcore.protocols import PROTOCOL_IDS
from llmcore.protocols.protocol import protocol_by_id
from llmcore.schema import json
from llmcore.schema.content import ReasoningPart, ToolCallPart
from llmcore.schema.tools import CustomTool, HostedTool, ToolDefinition
from tests.support.programs.fresh_interpreter import run_fresh

ASKED = request(
    model=Model("some-model", "p"),
    system="Be brief.",
    messages=[
        Message.user("Look!", ImagePart(data=b"\x89PNG\r\n\x1a\n")),
        Message.assistant(ReasoningPart("Hm"), ToolCallPart("c1", "look", {"y": 1, "x": 2})),
        Message.tool("c1", {"seen": ["sun", "moon"]}),
        Message.system("Speak French."),
    ],
    tools=[ToolDefinition("look", "Looks."), CustomTool("patch"), HostedTool.web_search()],
    temperature=0.5,
    stop=["A", "B"],
    metadata={"b": "1", "a": "2"},
)
PROGRAM = """
from tests.protocols.test_same_bytes import bodies
print(*bodies(), sep="\\n")
"""


def bodies() -> Iterator[str]:
    """Yield bodies of each API as they are sent: of `ASKED`, and of what its own tests ask."""
    for id_ in PROTOCOL_IDS:
        yield json.dumps(protocol_by_id(id_).body.build(ASKED, True).unwrap().body).decode()
        package = id_.replace("-", "_")
        if (Path(__file__).parent / package / "test_body.py").exists():
            tests = import_module(f"tests.protocols.{package}.test_body")
            yield json.dumps(tests.body(tests.everything(), stream=True)).decode()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_bodies_are_the_same_bytes_in_a_process_that_hashes_otherwise(seed: str) -> None:
    done = run_fresh(PROGRAM, PYTHONHASHSEED=seed, PYTHONPATH=".")

    assert done.stdout.splitlines() == [*bodies()]
