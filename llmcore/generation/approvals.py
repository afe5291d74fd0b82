"""Approvals of tool calls that were signed, so that they can travel through an untrusted client.

The token of a call that waits for approval is an HMAC-SHA256 over the call's id, name and
arguments and the tool's definition. It is verified against the call in the messages and against
the tool that would be run, so that neither can change between the decision and the call.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import TypeAlias, Union

from llmcore.generation.tool import Tool
from llmcore.schema import json
from llmcore.schema.codec import to_json
from llmcore.schema.content import ToolCallPart
from llmcore.schema.errors import InvalidRequestError
from llmcore.schema.json import JsonObject

Approvals: TypeAlias = Mapping[str, Union[bool, str]]
"""Decisions by call id: True or False, or the token of a call that is approved."""


class ToolChangedError(InvalidRequestError):
    """A tool's definition is not the one with which a call was approved; nothing was run."""


_VERSION = "v2"


def approval_token(secret: bytes, tool: Tool, call: ToolCallPart, arguments: JsonObject) -> str:
    """Return the token that approves *call* of *tool*, run with the checked *arguments*.

    It is `v2.`, the SHA-256 of the tool's definition, `.`, and the HMAC over that and the call.
    """
    return _token(secret, _digest(tool), call, arguments)


def _token(secret: bytes, tool: str, call: ToolCallPart, arguments: JsonObject) -> str:
    signed = [call.id, call.name, call.arguments, dict(arguments), tool]
    code = hmac.new(secret, json.canonical(signed).encode(), hashlib.sha256)
    return f"{_VERSION}.{tool}.{code.hexdigest()}"


def _digest(tool: Tool) -> str:
    return hashlib.sha256(json.canonical(to_json(tool.definition)).encode()).hexdigest()


def check_approval(
    decision: bool | str,
    secret: bytes | None,
    tool: Tool,
    call: ToolCallPart,
    arguments: JsonObject,
) -> None:
    """Raise InvalidRequestError unless *decision* lets *call* run with *arguments*.

    With a secret it has to be the call's token, and True without one. Raises ToolChangedError for a
    token of this call with another definition of the tool.
    """
    if secret is None:
        if decision is True:
            return
        message = f"the approval of {call.name} ({call.id}) is a token: give its approval_secret"
        raise InvalidRequestError(message)
    if isinstance(decision, str):
        approved = [*decision.split("."), ""][1]
        expected = _token(secret, approved, call, arguments)
        if hmac.compare_digest(decision.encode(), expected.encode()):
            if approved == _digest(tool):
                return
            message = f"the definition of {call.name} changed after the call was approved"
            raise ToolChangedError(message, error_code="tool-changed")
    raise InvalidRequestError(
        f"the approval of {call.name} ({call.id}) does not fit: give the token that the run "
        "returned in approval_tokens; the call's arguments and the tool must not have changed",
        error_code="approval-mismatch",
    )
