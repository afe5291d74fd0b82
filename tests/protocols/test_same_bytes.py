"""The same request gives the same bytes in any process, which prompt caches depend on."""

import os
import subprocess
import sys
from importlib import import_module

import pytest

from llmcore.schema import json

PACKAGES = (
    "anthropic_messages",
    "bedrock_converse",
    "gemini",
    "openai_chat",
    "openai_responses",
)
PROGRAM = """
from tests.protocols.test_same_bytes import PACKAGES, body_of
for package in PACKAGES:
    print(body_of(package))
"""


def body_of(package: str) -> str:
    """Return the streamed body, as it is sent, of a request with some of all."""
    tests = import_module(f"tests.protocols.{package}.test_body")
    return json.dumps(tests.body(tests.everything(), stream=True)).decode()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_bodies_are_the_same_bytes_in_a_process_that_hashes_otherwise(seed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.splitlines() == [body_of(package) for package in PACKAGES]
