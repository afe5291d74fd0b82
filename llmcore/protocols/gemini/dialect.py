"""Gemini: where the two services that speak it differ.

The Gemini API and Vertex AI take the same `generateContent` body but for a few fields, each
named in the SDK's reference as "not supported in" the one or the other
(https://googleapis.github.io/python-genai/genai.html, read November 2026).
"""

from typing import Final

from attrs import frozen


@frozen(kw_only=True)
class GeminiDialect:
    """What a service takes."""

    labels: bool = False
    """Whether requests carry `labels`, which is what metadata becomes."""
    server_tool_parts: bool = True
    """Whether it can be asked to show its own tool calls (`includeServerSideToolInvocations`),
    which it wants wherever its tools stand beside the caller's."""
    exclude_domains: bool = False
    """Whether a search can leave out domains."""
    counts_tokens: bool = True
    """Whether `countTokens` takes a whole request (`generateContentRequest`)."""
    mcp_servers: bool = True
    """Whether it calls MCP servers."""


GEMINI_API: Final = GeminiDialect()
"""generativelanguage.googleapis.com."""
VERTEX: Final = GeminiDialect(
    labels=True,
    server_tool_parts=False,
    exclude_domains=True,
    mcp_servers=False,
    counts_tokens=False,
)
"""Vertex AI, which is now the Gemini Enterprise Agent Platform."""
