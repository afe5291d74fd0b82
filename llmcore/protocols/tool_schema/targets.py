"""The subset of JSON Schema of each target: an allow-list from its document.

OpenAI: "Structured model outputs", Supported schemas; the loose mode has no list, only
errors about roots and arrays without items. Anthropic: "Structured outputs", JSON Schema
limitations; tools without `strict` take draft 2020-12 whole, but no union at the root.
Gemini: the keyword list of `responseJsonSchema`. Bedrock: "Structured outputs" (Anthropic's list);
"ToolInputSchema": JSON Schema whose root is an object; and for Amazon Nova "Defining a tool": only
`type`, `properties` and `required` at the root. Moonshot: the errors of its validator (a type
beside `anyOf`, a schema without a type, keywords beside `$ref`, a list of `items`), in
https://github.com/MoonshotAI/kimi-code/issues/2661 and
https://github.com/NousResearch/hermes-agent/pull/18130. Read 2026-11.

Anthropic's list has `allOf` too, but not with `$ref` in it; it is merged here, as closed
objects that must all hold would exclude each other.
"""

from enum import Enum
from typing import Literal

from llmcore.schema.frozen import frozen


class SchemaTarget(Enum):
    """The API that reads a schema, and its mode."""

    OPENAI_LOOSE = "openai-loose"
    """OpenAI function parameters and response formats without `strict`."""
    OPENAI_STRICT = "openai-strict"
    """The same with `strict`: every object closed, every property required."""
    MOONSHOT = "moonshot"
    """Functions of Moonshot's models without `strict`."""
    ANTHROPIC = "anthropic"
    """Anthropic `input_schema` of tools without `strict`."""
    ANTHROPIC_STRICT = "anthropic-strict"
    """Anthropic structured outputs (`output_config.format`) and strict tools."""
    GEMINI_JSON_SCHEMA = "gemini-json-schema"
    """Gemini `parametersJsonSchema` and `responseJsonSchema`."""
    BEDROCK = "bedrock"
    """Bedrock Converse `toolSpec.inputSchema.json`."""
    BEDROCK_NOVA = "bedrock-nova"
    """The same for Amazon's own models."""
    BEDROCK_STRICT = "bedrock-strict"
    """Bedrock structured outputs (`outputConfig.textFormat`) and strict tools."""


@frozen(kw_only=True)
class SchemaRules:
    """The rules of a target."""

    references: Literal["keep", "hoist", "inline"]
    """`hoist`: each target of a `$ref` becomes an entry of `$defs`."""
    keywords: frozenset[str] | None = None
    """The allow-list; None if there is none."""
    formats: frozenset[str] | None = None
    """Values of `format`; None for any."""
    enum_types: tuple[type, ...] | None = None
    """The types allowed in an `enum`; None for any."""
    typed: bool = False
    """Whether each schema must have a type."""
    lone_any_of: bool = False
    """Whether `anyOf` may have no keyword beside it."""
    closed: bool = False
    """Whether each object must have `additionalProperties: false`."""
    all_required: bool = False
    """Whether each property must be required, optional ones becoming nullable."""
    references_alone: bool = False
    """Whether `$ref` may have no keyword beside it."""
    few_items: bool = False
    """Whether `minItems` may only be 0 or 1."""
    simple_patterns: bool = False
    """Whether a `pattern` may not look around or back."""
    recursion: bool = True
    root: frozenset[str] | None = None
    """Keywords at the root, where fewer than elsewhere; None for all."""
    root_unions: bool = False
    """Whether the root may be a union, and need not be an object."""

    @property
    def lists_null(self) -> bool:
        """Whether null may be in an `enum`."""
        return self.enum_types is None or type(None) in self.enum_types


_STRUCTURE = frozenset(
    {
        "type", "description", "title", "enum", "properties", "required", "additionalProperties",
        "items", "anyOf", "$ref", "$defs",
    }
)  # fmt: skip
_OPENAI_STRICT = _STRUCTURE | {
    "format", "pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
    "minItems", "maxItems",
}  # fmt: skip
_GEMINI_JSON_SCHEMA = frozenset(
    {
        "type", "format", "title", "description", "enum", "items", "prefixItems", "minItems",
        "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties",
        "required", "propertyOrdering",
    }
)  # fmt: skip
_MOONSHOT = _OPENAI_STRICT - {"$ref", "$defs"} | {
    "default", "minLength", "maxLength", "minProperties", "maxProperties",
}  # fmt: skip
_STRICT_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)

_ANTHROPIC_STRICT = SchemaRules(
    references="hoist",
    keywords=_STRUCTURE | {"const", "default", "format", "minItems", "pattern"},
    formats=_STRICT_FORMATS | {"uri"},
    enum_types=(str, int, float, bool, type(None)),
    closed=True,
    few_items=True,
    simple_patterns=True,
    recursion=False,
    root_unions=True,
)

RULES: dict[SchemaTarget, SchemaRules] = {
    SchemaTarget.OPENAI_LOOSE: SchemaRules(references="keep"),
    SchemaTarget.OPENAI_STRICT: SchemaRules(
        references="hoist",
        keywords=_OPENAI_STRICT,
        formats=_STRICT_FORMATS,
        closed=True,
        all_required=True,
        references_alone=True,
        simple_patterns=True,
    ),
    SchemaTarget.MOONSHOT: SchemaRules(
        references="inline", keywords=_MOONSHOT, typed=True, lone_any_of=True
    ),
    SchemaTarget.ANTHROPIC: SchemaRules(references="keep"),
    SchemaTarget.ANTHROPIC_STRICT: _ANTHROPIC_STRICT,
    SchemaTarget.GEMINI_JSON_SCHEMA: SchemaRules(
        references="inline",
        keywords=_GEMINI_JSON_SCHEMA,
        enum_types=(str, int, float),
        root_unions=True,
    ),
    SchemaTarget.BEDROCK: SchemaRules(references="inline"),
    SchemaTarget.BEDROCK_NOVA: SchemaRules(
        references="inline", root=frozenset({"type", "properties", "required"})
    ),
    SchemaTarget.BEDROCK_STRICT: _ANTHROPIC_STRICT,
}

LOOSE: dict[SchemaTarget, SchemaTarget] = {
    SchemaTarget.OPENAI_STRICT: SchemaTarget.OPENAI_LOOSE,
    SchemaTarget.ANTHROPIC_STRICT: SchemaTarget.ANTHROPIC,
    SchemaTarget.BEDROCK_STRICT: SchemaTarget.BEDROCK,
}
"""The loose target that a strict one falls back to."""
