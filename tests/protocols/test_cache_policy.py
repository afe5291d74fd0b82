"""What of a cache policy an API has no place for is said, whichever it is."""

import pytest

from llmcore.protocols.registry import protocol_by_id
from llmcore.schema.model import Model
from llmcore.schema.options import CachePolicy
from llmcore.schema.request import request


@pytest.mark.parametrize("protocol_id", ["openai-chat", "openai-responses", "gemini"])
def test_how_long_a_breakpoint_lasts_needs_breakpoints(protocol_id: str) -> None:
    """Servers that cache by themselves take no `ttl`; asking for one is a Diagnostic."""
    asked = request(model=Model("m", "p"), prompt="Hello", cache=CachePolicy(ttl="1h"))

    built = protocol_by_id(protocol_id).body.build(asked, False).unwrap()

    assert [note.path for note in built.diagnostics] == ["cache.ttl"]
