"""Old names of `tools`."""

from llmcore.protocols.tools import check_forcible, no_tools, unknown_tool

__all__ = ["check_forcible", "no_tools", "unknown_tool"]
