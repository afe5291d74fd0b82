"""Structured output on upstreams that do not hold the model to a schema.

The protocols say so in their diagnostics, and ask for the shape in words. Whether that will do
is the policy's to say.
"""

from collections.abc import Iterable
from typing import Final

from llmcore.bridge.errors import BridgeError, invalid
from llmcore.schema.diagnostics import Diagnostic

_LOST: Final = frozenset({"response-format-in-words"})
_PATH: Final = "response_format"


def structured_output_lost(diagnostics: Iterable[Diagnostic]) -> Diagnostic | None:
    """Return what a prepared request says of a shape that the upstream does not enforce."""
    for diagnostic in diagnostics:
        if diagnostic.code in _LOST or (
            diagnostic.path == _PATH and diagnostic.action == "dropped"
        ):
            return diagnostic
    return None


def structured_output_error(diagnostic: Diagnostic) -> BridgeError:
    """Return the error of a request whose shape the upstream does not enforce."""
    return invalid(
        "The upstream does not hold the model to a schema "
        f"({diagnostic.message}). Leave text.format out, or let the bridge ask in words "
        "(structured_output: degrade).",
        "text.format",
        "structured_output_unsupported",
    )
