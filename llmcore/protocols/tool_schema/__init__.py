"""JSON Schemas as each provider takes them, for tool parameters and for responses.

A single keyword that a provider does not know makes it refuse the whole request. So each
target has an allow-list, taken from its provider's document, and what is not on it is
translated if the target can express it otherwise, else described in the `description`; both are
reported in a Diagnostic. The input is not changed, and the same
input gives the same bytes.

In reading order: `targets` (who takes what), `traverse` (where schemas hold schemas; `$ref` inlined
or hoisted, recursion cut), `normalise` (older and looser forms made one; keywords as sentences),
`rewrite` (the allow-list), `project` (what may be at the root, how large a strict schema may be,
and the steps in order).
"""

from llmcore.protocols.tool_schema.project import Projected, may_be_object, project
from llmcore.protocols.tool_schema.targets import SchemaTarget

__all__ = ["Projected", "SchemaTarget", "may_be_object", "project"]
