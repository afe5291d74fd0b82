"""Bedrock Converse: tools that the service or the model's vendor defines.

Sources, read November 2026:
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_SystemTool.html and
https://docs.aws.amazon.com/nova/latest/nova2-userguide/ (web grounding, code interpreter), and
https://docs.aws.amazon.com/bedrock/latest/userguide/computer-use.html: Anthropic's own tools go
into `additionalModelRequestFields`, with the beta features that they need.

    web_search      systemTool nova_grounding           Amazon Nova
    code_execution  systemTool nova_code_interpreter    Amazon Nova
    computer_use, shell, text_editor, memory            Claude; run by the caller
"""

from typing import Any, Final

from attrs import frozen

from llmcore.protocols.anthropic_messages import hosted_tools as anthropic
from llmcore.protocols.anthropic_messages import types
from llmcore.protocols.bedrock_converse.models import ModelRules
from llmcore.protocols.notes import Notes
from llmcore.schema.tools import HostedTool

_SYSTEM_TOOLS: Final = {"web_search": "nova_grounding", "code_execution": "nova_code_interpreter"}
_OF_CLAUDE: Final = ("computer_use", "shell", "text_editor", "memory")


@frozen(kw_only=True)
class Hosted:
    """A tool that somebody else defines, and where it goes."""

    tool: dict[str, Any] | None = None
    """An entry of `toolConfig.tools`."""
    vendor_tool: Any = None
    """An entry of `additionalModelRequestFields.tools`."""
    betas: tuple[str, ...] = ()
    """Entries of `additionalModelRequestFields.anthropic_beta`."""


def lower_hosted(
    tool: HostedTool, path: str, rules: ModelRules, keys: frozenset[str], notes: Notes
) -> Hosted | None:
    """Return *tool* as the API has it; None, with a Diagnostic, if it has no such tool."""
    if tool.kind == "raw":
        if tool.provider in keys:
            return Hosted(tool=dict(tool.options))
        notes.dropped("unsupported-tool", path, f"the raw tool is {tool.provider}'s")
        return None
    if rules.family == "nova" and tool.kind in _SYSTEM_TOOLS:
        for name in tool.options:
            why = "the service's tool takes no options"
            notes.dropped("unsupported-parameter", f"{path}.{name}", why)
        return Hosted(tool={"systemTool": {"name": _SYSTEM_TOOLS[tool.kind]}})
    if rules.family == "claude" and tool.kind in _OF_CLAUDE:
        found = anthropic.lower_hosted(tool, path, rules.claude, keys, notes)
        if found is not None:
            return Hosted(vendor_tool=types.write(found.tool), betas=found.betas)
    notes.dropped("unsupported-tool", path, f"the model has no {tool.kind} tool here")
    return None
