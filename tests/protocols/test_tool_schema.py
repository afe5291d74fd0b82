"""Tool schemas: every target gets the keywords it supports, and the others are reported."""

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from llmcore.protocols.tool_schema import Projected, SchemaTarget, may_be_object, project
from llmcore.schema import json
from llmcore.schema.json import JsonObject

Schema = dict[str, Any]

STRICT = [
    SchemaTarget.OPENAI_STRICT,
    SchemaTarget.ANTHROPIC_STRICT,
    SchemaTarget.BEDROCK_STRICT,
]

# -- a corpus, as generators write them

PERSON: Schema = {  # as pydantic writes models
    "$defs": {
        "Address": {
            "properties": {
                "street": {"minLength": 1, "title": "Street", "type": "string"},
                "zip": {
                    "anyOf": [{"pattern": "^\\d{5}$", "type": "string"}, {"type": "null"}],
                    "default": None,
                    "title": "Zip",
                },
            },
            "required": ["street"],
            "title": "Address",
            "type": "object",
        },
        "Cat": {
            "properties": {
                "kind": {"const": "cat", "title": "Kind", "type": "string"},
                "lives": {"default": 9, "exclusiveMinimum": 0, "maximum": 9, "type": "integer"},
            },
            "required": ["kind"],
            "title": "Cat",
            "type": "object",
        },
        "Dog": {
            "properties": {
                "kind": {"const": "dog", "title": "Kind", "type": "string"},
                "tags": {"items": {"type": "string"}, "maxItems": 5, "type": "array"},
            },
            "required": ["kind", "tags"],
            "title": "Dog",
            "type": "object",
        },
        "Level": {"enum": [1, 2, 3], "title": "Level", "type": "integer"},
    },
    "description": "A person.",
    "properties": {
        "name": {"title": "Name", "type": "string"},
        "age": {"exclusiveMaximum": 150, "minimum": 0, "title": "Age", "type": "integer"},
        "home": {"$ref": "#/$defs/Address", "description": "Where they live"},
        "work": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}], "default": None},
        "pet": {
            "discriminator": {
                "mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"},
                "propertyName": "kind",
            },
            "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
            "title": "Pet",
        },
        "level": {"$ref": "#/$defs/Level", "default": 1},
        "mood": {"anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}]},
    },
    "required": ["name", "age", "home", "pet", "mood"],
    "title": "Person",
    "type": "object",
}
NODE: Schema = {  # a recursive pydantic model: the root is a reference
    "$defs": {
        "Node": {
            "properties": {
                "value": {"type": "integer"},
                "children": {"items": {"$ref": "#/$defs/Node"}, "type": "array"},
            },
            "required": ["value", "children"],
            "type": "object",
        }
    },
    "$ref": "#/$defs/Node",
}
MUTUAL: Schema = {
    "type": "object",
    "properties": {"a": {"$ref": "#/definitions/A"}},
    "required": ["a"],
    "definitions": {
        "A": {"type": "object", "properties": {"b": {"$ref": "#/definitions/B"}}},
        "B": {"anyOf": [{"$ref": "#/definitions/A"}, {"type": "null"}]},
    },
}
JSON_VALUE: Schema = {
    "type": "object",
    "properties": {"value": {"$ref": "#/$defs/Json"}},
    "required": ["value"],
    "$defs": {
        "Json": {
            "anyOf": [
                {"type": "string"},
                {"type": "number"},
                {"type": "boolean"},
                {"type": "null"},
                {"type": "array", "items": {"$ref": "#/$defs/Json"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/Json"}},
            ]
        }
    },
}
ZOD: Schema = {  # zod 4, z.toJSONSchema
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "id": {"type": "string", "format": "uuid", "pattern": "^(?=.{36}$)[0-9a-f-]+$"},
        "when": {"type": "string", "format": "date-time"},
        "count": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9007199254740991},
        "shape": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"type": {"type": "string", "const": "circle"}},
                    "required": ["type"],
                    "additionalProperties": False,
                },
                {"type": "string", "const": "none"},
            ]
        },
        "point": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]},
        "note": {"default": "x", "type": "string"},
    },
    "required": ["id", "when", "count", "shape", "point", "note"],
    "additionalProperties": False,
}
ZOD_3: Schema = {  # zod-to-json-schema points back into properties, and writes draft 7
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "from": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        "to": {"$ref": "#/properties/from"},
        "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]},
        "range": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
    },
    "required": ["from", "to"],
    "additionalProperties": False,
}
MCP: Schema = {  # hand-written, as tool servers do
    "$id": "https://x.test/tool",
    "type": "object",
    "properties": {
        "path": {"type": "string", "examples": ["/a", "/b"]},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "tags": {"type": "array", "uniqueItems": True, "minItems": 2},
        "mode": {"enum": ["r", "w", None]},
        "size": {"type": ["integer", "string", "null"], "minimum": 1, "minLength": 2},
        "any": {},
        "anything": True,
        "flag": {"const": True},
        "extra": {"type": "object", "propertyNames": {"pattern": "^x-"}},
    },
    "required": ["path", "missing"],
    "anyOf": [{"required": ["path"]}, {"required": ["headers"]}],
    "x-vendor": 1,
}
UNION_ROOT: Schema = {
    "type": "object",
    "oneOf": [
        {
            "type": "object",
            "properties": {"op": {"const": "add"}, "n": {"type": "integer"}},
            "required": ["op", "n"],
        },
        {"$ref": "#/$defs/Remove"},
    ],
    "$defs": {
        "Remove": {
            "type": "object",
            "properties": {"op": {"const": "remove"}, "id": {"type": "string"}},
            "required": ["op"],
        }
    },
}
INHERITED: Schema = {
    "type": "object",
    "properties": {
        "item": {
            "allOf": [
                {"$ref": "#/$defs/Base"},
                {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
            ],
            "description": "Both",
        },
        "just": {"allOf": [{"$ref": "#/$defs/Base"}], "description": "One"},
    },
    "required": ["item", "just"],
    "$defs": {
        "Base": {
            "type": "object",
            "properties": {"a": {"type": "integer", "minimum": 1}},
            "required": ["a"],
        }
    },
}
OPENAPI: Schema = {
    "type": "object",
    "properties": {
        "n": {"type": "integer", "format": "int64", "nullable": True, "example": 3},
        "s": {"type": "string", "nullable": False, "enum": ["a", ""]},
        "o": {"type": "object", "properties": {}, "nullable": True},
    },
    "required": ["n", "s", "o"],
}
LOGIC: Schema = {
    "type": "object",
    "properties": {
        "a": {"type": "string", "not": {"enum": ["x"]}},
        "b": {"type": "number", "multipleOf": 0.5, "exclusiveMaximum": 10},
    },
    "required": ["a", "b"],
    "if": {"properties": {"a": {"const": "y"}}},
    "then": {"required": ["b"]},
    "dependentRequired": {"a": ["b"]},
    "patternProperties": {"^x-": {"type": "string"}},
}
KEYWORD_NAMES: Schema = {
    "type": "object",
    "properties": {
        name: {"type": "string"}
        for name in (
            "type",
            "properties",
            "required",
            "items",
            "enum",
            "const",
            "title",
            "format",
            "$ref",
            "$defs",
            "anyOf",
            "default",
            "additionalProperties",
            "definitions",
        )
    },
    "required": ["type", "$ref"],
}
CORPUS: dict[str, Schema] = {
    "empty": {},
    "no parameters": {"type": "object", "properties": {}},
    "person": PERSON,
    "node": NODE,
    "mutual": MUTUAL,
    "json value": JSON_VALUE,
    "zod": ZOD,
    "zod 3": ZOD_3,
    "mcp": MCP,
    "union root": UNION_ROOT,
    "inherited": INHERITED,
    "openapi": OPENAPI,
    "logic": LOGIC,
    "keyword names": KEYWORD_NAMES,
}


def object_of(**properties: Any) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def projected(value: Any, target: SchemaTarget) -> Any:
    """Return what becomes of *value* as a required property of a tool."""
    result = project(object_of(it=value), target, "p").schema
    return result["properties"]["it"]  # type: ignore[index, call-overload]


def codes(result: Projected) -> list[str]:
    return [entry.code for entry in result.diagnostics]


# -- the independent walkers: each provider's rules, said once more

STRICT_FORMATS = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
]
ALLOWED = {
    SchemaTarget.OPENAI_STRICT: """type description title enum properties required items anyOf
        additionalProperties $ref $defs pattern format multipleOf minimum maximum
        exclusiveMinimum exclusiveMaximum minItems maxItems""",
    SchemaTarget.ANTHROPIC_STRICT: """type description title enum const properties required items
        anyOf additionalProperties $ref $defs pattern format minItems default""",
    SchemaTarget.GEMINI_JSON_SCHEMA: """$id $defs $ref $anchor type format title description enum
        items prefixItems minItems maxItems minimum maximum anyOf oneOf properties
        additionalProperties required propertyOrdering""",
}
ALLOWED[SchemaTarget.BEDROCK_STRICT] = ALLOWED[SchemaTarget.ANTHROPIC_STRICT]


SINGLE = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
)  # fmt: skip


def subschemas(schema: Any) -> Iterator[Schema]:
    """Yield every schema in *schema*, itself included."""
    pending = [schema]
    while pending:
        node = pending.pop()
        if not isinstance(node, dict):
            continue
        yield node
        pending.extend(node.get(key) for key in SINGLE)
        for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            pending.extend(node.get(key, []))
        for key in ("properties", "patternProperties", "$defs", "definitions"):
            pending.extend(node.get(key, {}).values())


def check_openai_loose(schema: Schema) -> None:
    assert schema["type"] == "object"
    assert isinstance(schema["properties"], dict)
    assert not schema.keys() & {"anyOf", "oneOf", "allOf", "not", "enum", "$ref"}
    for node in subschemas(schema):
        assert node.get("type") != "array" or {"items", "prefixItems"} & node.keys()


def check_openai_strict(schema: Schema) -> None:
    check_openai_loose(schema)
    for node in subschemas(schema):
        check_allowed(node, SchemaTarget.OPENAI_STRICT)
        check_closed(node)
        if "properties" in node:
            assert node["required"] == list(node["properties"])
        if "$ref" in node:
            assert node.keys() == {"$ref"}
            name = node["$ref"].removeprefix("#/$defs/")
            assert node["$ref"] == "#" or name in schema["$defs"]
        assert node.keys() & {"type", "anyOf", "$ref"}
        assert node.get("format", "date") in STRICT_FORMATS
        assert "(?" not in node.get("pattern", "")


def check_moonshot(schema: Schema) -> None:
    check_openai_loose(schema)
    Draft202012Validator.check_schema(schema)
    for node in subschemas(schema):
        assert ("type" in node) != ("anyOf" in node)
        assert not node.keys() & {"$ref", "allOf", "oneOf", "prefixItems"}


def check_anthropic(schema: Schema) -> None:
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert not schema.keys() & {"anyOf", "oneOf", "allOf"}


def check_anthropic_strict(schema: Schema) -> None:
    check_anthropic(schema)
    for node in subschemas(schema):
        check_allowed(node, SchemaTarget.ANTHROPIC_STRICT)
        check_closed(node)
        assert node.get("minItems", 0) in (0, 1)
        assert node.get("format", "date") in [*STRICT_FORMATS, "uri"]
        assert not any(isinstance(value, list | dict) for value in node.get("enum", []))
        assert "$ref" not in node or node["$ref"].startswith("#/$defs/")


def check_gemini_json_schema(schema: Schema) -> None:
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    for node in subschemas(schema):
        check_allowed(node, SchemaTarget.GEMINI_JSON_SCHEMA)
        assert "$ref" not in node or not any(key[0] != "$" for key in node)
        assert all(type(value) in (str, int, float) for value in node.get("enum", []))


def check_bedrock(schema: Schema) -> None:
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert not schema.keys() & {"anyOf", "oneOf", "allOf"}
    assert not any("$ref" in node for node in subschemas(schema))


def check_nova(schema: Schema) -> None:
    check_bedrock(schema)
    assert schema.keys() <= {"type", "properties", "required"}


def check_allowed(node: Schema, target: SchemaTarget) -> None:
    assert set(node) <= set(ALLOWED[target].split())


def check_closed(node: Schema) -> None:
    kinds = node.get("type", ())
    if "properties" in node or kinds == "object" or (isinstance(kinds, list) and "object" in kinds):
        assert node["additionalProperties"] is False
        assert isinstance(node["properties"], dict)


CHECKS: dict[SchemaTarget, Callable[[Schema], None]] = {
    SchemaTarget.OPENAI_LOOSE: check_openai_loose,
    SchemaTarget.OPENAI_STRICT: check_openai_strict,
    SchemaTarget.MOONSHOT: check_moonshot,
    SchemaTarget.ANTHROPIC: check_anthropic,
    SchemaTarget.ANTHROPIC_STRICT: check_anthropic_strict,
    SchemaTarget.GEMINI_JSON_SCHEMA: check_gemini_json_schema,
    SchemaTarget.BEDROCK: check_bedrock,
    SchemaTarget.BEDROCK_NOVA: check_nova,
    SchemaTarget.BEDROCK_STRICT: check_anthropic_strict,
}
LOOSE_CHECKS: dict[SchemaTarget, Callable[[Schema], None]] = {
    SchemaTarget.OPENAI_STRICT: check_openai_loose,
    SchemaTarget.ANTHROPIC_STRICT: check_anthropic,
    SchemaTarget.BEDROCK_STRICT: check_bedrock,
}


def check_projection(schema: Schema, target: SchemaTarget) -> Projected:
    """Project twice, and fail unless the target would take the result."""
    before = copy.deepcopy(schema)
    result = project(schema, target, "p")
    assert schema == before
    assert json.dumps(project(schema, target, "p").schema) == json.dumps(result.schema)
    fallen = target in STRICT and not result.strict
    (LOOSE_CHECKS if fallen else CHECKS)[target](dict(result.schema))
    assert result.strict is (target in STRICT and "schema-not-strict" not in codes(result))
    assert all(entry.path == "p" or entry.path.startswith("p.") for entry in result.diagnostics)
    return result


# -- the corpus against the walkers


@pytest.mark.parametrize("target", SchemaTarget)
@pytest.mark.parametrize("name", CORPUS)
def test_every_schema_becomes_acceptable_everywhere(name: str, target: SchemaTarget) -> None:
    """The result keeps its provider's list, and the caller's schema is left alone."""
    check_projection(CORPUS[name], target)


CAN_BE_STRICT = {
    "empty": {*STRICT},
    "no parameters": {*STRICT},
    "person": {*STRICT},
    "node": {SchemaTarget.OPENAI_STRICT},
    "mutual": {SchemaTarget.OPENAI_STRICT},
    "json value": set(),
    "zod": {*STRICT},
    "zod 3": {*STRICT},
    "mcp": set(),
    "union root": {*STRICT},
    "inherited": {*STRICT},
    "openapi": {*STRICT},
    "logic": set(),
    "keyword names": {*STRICT},
}


@pytest.mark.parametrize("name", CORPUS)
def test_strict_mode_is_kept_where_it_can_be(name: str) -> None:
    """A schema that strict mode cannot say loses the mode, not the request."""
    strict = {target for target in STRICT if project(CORPUS[name], target, "p").strict}

    assert strict == CAN_BE_STRICT[name]


@pytest.mark.parametrize("target", [SchemaTarget.OPENAI_LOOSE, SchemaTarget.ANTHROPIC])
@pytest.mark.parametrize("name", ["no parameters", "person", "zod", "json value", "keyword names"])
def test_targets_without_a_list_get_the_schema_as_it_is(name: str, target: SchemaTarget) -> None:
    """Nothing is translated without need, and nothing is reported."""
    result = project(CORPUS[name], target, "p")

    assert json.dumps(result.schema) == json.dumps(CORPUS[name])
    assert result.diagnostics == ()


# -- one translation at a time

OBJECT: Schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


@pytest.mark.parametrize("target", SchemaTarget)
def test_no_parameters_are_an_object_without_properties(target: SchemaTarget) -> None:
    """`{}` is refused by several servers; an explicit empty object is not."""
    result = project({}, target, "p")

    strict = OBJECT if target is SchemaTarget.OPENAI_STRICT else OBJECT | {"required": None}
    strict = {key: value for key, value in strict.items() if value is not None}
    assert result.schema == (strict if target in STRICT else {"type": "object", "properties": {}})
    assert result.diagnostics == ()


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": "a"}, {"type": "string", "enum": ["a"]}),
        ({"enum": [1, 2.5]}, {"type": "number", "enum": [1, 2.5]}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "N"},
         {"anyOf": [{"type": "integer", "description": "N"},
                    {"type": "null", "description": "N"}]}),
        ({"type": "array"},
         {"type": "array", "items": {"anyOf": [
             {"type": "string"}, {"type": "number"}, {"type": "boolean"},
             {"type": "array", "items": {"type": "string"}}, {"type": "object"}, {"type": "null"},
         ]}}),
        ({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}]},
         {"type": "array", "items": {"type": "number"},
          "description": 'Items in order: [{"type":"number"},{"type":"number"}].'}),
        ({"type": "object", "properties": {"a": {"type": "string"}},
          "anyOf": [{"required": ["a"]}]},
         {"type": "object", "properties": {"a": {"type": "string"}},
          "description": 'At least one of: [{"required":["a"]}].'}),
    ],
)  # fmt: skip
def test_moonshot_gets_a_type_everywhere_and_unions_alone(schema: Schema, expected: Schema) -> None:
    assert projected(schema, SchemaTarget.MOONSHOT) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"const": 3}, {"enum": [3]}),
        ({"enum": [None]}, {"type": "null"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        (
            {"type": ["string", "null"], "enum": ["a", None]},
            {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
        ),
        (
            {"type": "string", "minLength": 2, "pattern": "^a"},
            {
                "type": "string",
                "description": 'At least 2 characters. Matches the pattern "^a".',
            },
        ),
        ({"oneOf": [{"type": "string"}]}, {"oneOf": [{"type": "string"}]}),
        ({"type": "boolean", "const": True}, {"type": "boolean", "description": "One of [true]."}),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": False},
         {"type": "number", "minimum": 0}),
        ({"type": "array", "uniqueItems": True, "items": True},
         {"type": "array", "items": {}, "description": "No item twice."}),
        ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
        ({"type": "integer", "exclusiveMinimum": 0, "minimum": 5},
         {"type": "integer", "minimum": 5, "description": "Greater than 0."}),
        ({"type": "number", "exclusiveMinimum": 0},
         {"type": "number", "description": "Greater than 0."}),
        ({"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3, "maximum": 9}]},
         {"type": "integer", "minimum": 3, "maximum": 9}),
        ({"enum": ["a", 1, None], "description": "D"},
         {"anyOf": [{"enum": ["a", 1]}, {"type": "null"}], "description": "D"}),
        ({"anyOf": [{"type": "null"}, {"enum": [None]}]},
         {"anyOf": [{"type": "null"}, {"type": "null"}]}),
        ({"enum": [["a"]]}, {"description": 'One of [["a"]].'}),
    ],
)  # fmt: skip
def test_gemini_json_schema_keeps_what_its_list_names(schema: Schema, expected: Schema) -> None:
    """The list is short, but it is JSON Schema."""
    assert projected(schema, SchemaTarget.GEMINI_JSON_SCHEMA) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "minLength": 2},
         {"type": "string", "description": "At least 2 characters."}),
        ({"type": "string", "format": "uri"}, {"type": "string", "description": "Format: uri."}),
        ({"type": "string", "pattern": "^a(?!b)"},
         {"type": "string", "description": 'Matches the pattern "^a(?!b)".'}),
        ({"type": "integer", "minimum": 1, "default": 2},
         {"type": "integer", "minimum": 1, "description": "Default: 2."}),
        ({"oneOf": [{"const": 1}, {"const": 2}]},
         {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "integer", "enum": [2]}]}),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "object", "properties": {"a": {"type": "string"}}},
         {"type": "object", "properties": {"a": {"type": ["string", "null"]}},
          "additionalProperties": False, "required": ["a"]}),
    ],
)  # fmt: skip
def test_openai_strict_schema_describes_unsupported_constraints(
    schema: Schema, expected: Schema
) -> None:
    """Constraints outside the list go into words; objects are closed."""
    assert projected(schema, SchemaTarget.OPENAI_STRICT) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": ["string", "null"]}),
        ({"type": "string", "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "D"},
         {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}],
          "description": "D"}),
        ({"$ref": "#/$defs/S"}, {"anyOf": [{"$ref": "#/$defs/S"}, {"type": "null"}]}),
        ({"$ref": "#/$defs/S", "description": "D"},
         {"anyOf": [{"$ref": "#/$defs/S"}, {"type": "null"}], "description": "D"}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]},
         {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    ],
)  # fmt: skip
def test_openai_strict_makes_optional_properties_nullable(schema: Schema, expected: Schema) -> None:
    """All properties are required there; null stands for an absent one."""
    root: Schema = {
        "type": "object",
        "properties": {"it": schema},
        "$defs": {"S": {"type": "string"}},
    }

    result = project(root, SchemaTarget.OPENAI_STRICT, "p")

    assert result.strict
    assert result.schema["properties"] == {"it": expected}
    assert result.schema["required"] == ["it"]
    (said,) = [entry for entry in result.diagnostics if entry.code == "schema-optional-as-null"]
    assert said.path == "p.properties.it"
    assert said.action == ("noted" if schema == expected else "changed")


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "object"}, "p.properties.it"),
        ({"type": "object", "properties": {}, "additionalProperties": True}, "p.properties.it"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "p.properties.it"),
        ({"type": "array", "items": {}}, "p.properties.it.items"),
        ({"$ref": "https://x.test/schema"}, "p.properties.it"),
        ({"$ref": "#/$defs/Nowhere"}, "p.properties.it"),
    ],
)
@pytest.mark.parametrize("target", STRICT)
def test_schema_that_strict_mode_cannot_express_turns_it_off(
    schema: Schema, path: str, target: SchemaTarget
) -> None:
    """A free-form object is a Diagnostic that says where, not a refused request."""
    result = project(object_of(it=schema), target, "p")

    assert not result.strict
    (said,) = [entry for entry in result.diagnostics if entry.code == "schema-not-strict"]
    assert (said.path, said.action) == (path, "changed")


@pytest.mark.parametrize(
    ("schema", "target", "reason"),
    [
        ({f"p{n}": {"type": "string"} for n in range(5001)}, SchemaTarget.OPENAI_STRICT, "5001"),
        ({"e": {"enum": [f"v{n}" for n in range(1001)]}}, SchemaTarget.OPENAI_STRICT, "enum"),
        ({"e": {"enum": [f"{n:060}" for n in range(251)]}}, SchemaTarget.OPENAI_STRICT, "one enum"),
        (
            {f"u{n}": {"type": ["string", "null"]} for n in range(17)},
            SchemaTarget.ANTHROPIC_STRICT,
            "17 unions",
        ),
    ],
)
def test_a_schema_too_large_for_strict_mode_turns_it_off(
    schema: Schema, target: SchemaTarget, reason: str
) -> None:
    """The documents state limits; beyond them the provider refuses the request."""
    result = project(object_of(**schema), target, "p")

    assert not result.strict
    assert reason in result.diagnostics[0].message


def test_ten_levels_of_objects_are_strict_and_eleven_are_not() -> None:
    """The limit counts objects within objects."""

    def nested(levels: int) -> Schema:
        schema: Schema = {"type": "string"}
        for _ in range(levels):
            schema = object_of(it=schema)
        return schema

    assert project(nested(10), SchemaTarget.OPENAI_STRICT, "p").strict
    assert not project(nested(11), SchemaTarget.OPENAI_STRICT, "p").strict


def test_anthropic_strict_allows_24_optional_properties() -> None:
    """Optional properties stay optional there, up to a number."""

    def optional(count: int) -> Schema:
        properties = {f"p{n}": {"type": "string"} for n in range(count)}
        return {"type": "object", "properties": properties}

    assert project(optional(24), SchemaTarget.ANTHROPIC_STRICT, "p").strict
    assert not project(optional(25), SchemaTarget.ANTHROPIC_STRICT, "p").strict


def test_anthropic_strict_schema_describes_unsupported_bounds() -> None:
    """Bounds go into the description, as the official clients do it."""
    schema = {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 3}

    assert projected(schema, SchemaTarget.ANTHROPIC_STRICT) == {
        "type": "array",
        "items": {"type": "integer", "description": "At least 1."},
        "minItems": 1,
        "description": "At least 3 items.",
    }


def test_required_names_only_what_is_described() -> None:
    """Gemini refuses a name that is not among the properties."""
    result = project(MCP, SchemaTarget.GEMINI_JSON_SCHEMA, "p")

    assert result.schema["required"] == ["path"]
    assert ("p.required", "dropped") in {(e.path, e.action) for e in result.diagnostics}


def test_default_of_null_is_dropped_and_noted() -> None:
    """It says no more than that the property may be left out."""
    schema = {"type": ["string", "null"], "default": None}

    result = project(object_of(it=schema), SchemaTarget.GEMINI_JSON_SCHEMA, "p")

    assert result.schema["properties"] == {"it": {"type": ["string", "null"]}}
    assert [(e.path, e.action) for e in result.diagnostics] == [
        ("p.properties.it.default", "noted")
    ]


def test_a_long_constraint_is_reported_in_short() -> None:
    """A description is read by the model on every request."""
    result = projected({"enum": [[n] for n in range(1000)]}, SchemaTarget.GEMINI_JSON_SCHEMA)

    assert result["description"].startswith("One of [[0],[1],[2],")
    assert len(result["description"]) < 450


def test_a_union_at_the_root_becomes_one_object() -> None:
    """Its properties are all there; a hint describes which go together."""
    result = project(UNION_ROOT, SchemaTarget.ANTHROPIC, "p")

    assert result.schema["properties"] == {
        "op": {"anyOf": [{"const": "add"}, {"const": "remove"}]},
        "n": {"type": "integer"},
        "id": {"type": "string"},
    }
    assert result.schema["required"] == ["op"]
    assert result.schema["description"] == (
        "Exactly one of these groups of properties is given: op, n; op."
    )
    assert codes(result) == ["schema-root-union-merged"]


def test_a_root_that_contains_itself_adds_nothing_to_itself() -> None:
    """Merging a root into itself ends."""
    schema: Schema = {
        **object_of(a={"type": "string"}),
        "allOf": [{"$ref": "#"}, {"required": ["b"]}],
    }

    result = project(schema, SchemaTarget.OPENAI_LOOSE, "p")

    assert result.schema == {**object_of(a={"type": "string"}), "required": ["a", "b"]}
    assert codes(result) == []


def test_members_of_a_root_that_contradict_are_reported_at_its_keyword() -> None:
    members: list[Schema] = [{"minProperties": 1, "title": "A"}, {"title": "B"}, {"pattern": "^a"}]

    result = project(
        {"type": "object", "allOf": [*members, {"pattern": "b$"}]}, SchemaTarget.OPENAI_LOOSE, "p"
    )

    contradiction = next(one for one in result.diagnostics if one.path == "p.allOf")
    assert contradiction.code == "schema-keyword-dropped"
    assert contradiction.message.endswith('All of: [{"pattern":"b$"}].')


def test_a_root_that_need_not_be_an_object_requires_nothing_more() -> None:
    """Properties that only some branches require are optional."""
    schema: Schema = {
        "type": "object",
        "anyOf": [object_of(a={"type": "string"}), {"type": "string"}],
    }

    result = project(schema, SchemaTarget.OPENAI_LOOSE, "p")

    assert result.schema["properties"] == {"a": {"type": "string"}}
    assert "required" not in result.schema


def test_members_of_all_of_are_merged() -> None:
    """Closed objects that must all hold would exclude each other."""
    result = project(INHERITED, SchemaTarget.OPENAI_STRICT, "p")

    properties = result.schema["properties"]
    assert isinstance(properties, Mapping)
    assert properties["item"] == {
        "description": "Both",
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 1}, "b": {"type": "string"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    assert properties["just"] == {"anyOf": [{"$ref": "#/$defs/Base"}], "description": "One"}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([{"type": "number"}, {"type": "integer"}], {"type": "integer"}),
        ([{"type": "integer"}, {"type": "number"}], {"type": "integer"}),
        ([{"type": ["string", "null"]}, {"type": "string"}], {"type": "string"}),
        ([{"enum": ["a", "b"]}, {"enum": ["b", "c"]}], {"enum": ["b"]}),
        ([{"minimum": 1, "maximum": 9}, {"minimum": 0, "maximum": 5}],
         {"minimum": 1, "maximum": 5}),
        ([{"additionalProperties": False}, {"additionalProperties": True}],
         {"additionalProperties": False}),
        ([{"required": ["a"], "properties": {"a": {"type": "number"}}},
          {"required": ["a", "b"], "properties": {"a": {"minimum": 2}, "b": {}}}],
         {"required": ["a", "b"],
          "properties": {"a": {"type": "number", "minimum": 2}, "b": {}}}),
        ([{"title": "T", "description": "D"}, {"title": "U", "description": "E"}],
         {"title": "T", "description": "D E"}),
        ([{"type": "string"}, {"type": "integer"}],
         {"type": "string", "description": 'All of: [{"type":"integer"}].'}),
    ],
)  # fmt: skip
def test_members_of_all_of_keep_the_narrower_constraint(
    members: list[Schema], expected: Schema
) -> None:
    """The narrower of two constraints holds."""
    assert projected({"allOf": members}, SchemaTarget.GEMINI_JSON_SCHEMA) == expected


def test_members_of_all_of_that_contradict_are_reported() -> None:
    """A description carries the part that one schema cannot express."""
    schema = {"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "b$"}]}

    assert projected(schema, SchemaTarget.MOONSHOT) == {
        "type": "string",
        "pattern": "^a",
        "description": 'All of: [{"pattern":"b$"}].',
    }


@pytest.mark.parametrize(
    "target",
    [
        SchemaTarget.OPENAI_LOOSE,
        SchemaTarget.OPENAI_STRICT,
        SchemaTarget.ANTHROPIC,
        SchemaTarget.BEDROCK,
        SchemaTarget.BEDROCK_NOVA,
    ],
)
@pytest.mark.parametrize("kind", ["string", "array", "null", ["object", "null"], []])
def test_a_root_that_is_not_an_object_is_reported(kind: Any, target: SchemaTarget) -> None:
    """A tool's input is an object there: what else the root was is not lost in silence."""
    result = project({"type": kind, "properties": {}}, target, "p")

    assert result.schema["type"] == "object"
    assert codes(result) == ["schema-root-not-object"]
    assert result.diagnostics[0].path == "p.type"


NAMED_LIST: Schema = {"$defs": {"L": {"type": "array"}, "O": {"type": "object"}}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, True),
        ({"type": "object"}, True),
        ({"type": ["object", "null"]}, True),
        ({"type": "array", "items": {}}, False),
        ({"type": ["string", "null"]}, False),
        ({"enum": ["a", "b"]}, False),
        ({"enum": [{"a": 1}, None]}, True),
        ({"const": 3}, False),
        ({"anyOf": [{"type": "array"}, {"type": "object"}]}, True),
        ({"oneOf": [{"type": "array"}, {"type": "null"}]}, False),
        ({"allOf": [{"type": "object"}, {"type": "array"}]}, False),
        ({**NAMED_LIST, "$ref": "#/$defs/L"}, False),
        ({**NAMED_LIST, "$ref": "#/$defs/O"}, True),
        ({**NAMED_LIST, "anyOf": [{"$ref": "#/$defs/L"}]}, False),
        ({"$ref": "#/$defs/missing"}, True),
        ({"$ref": "#"}, True),
    ],
)
def test_schemas_that_no_object_fits_are_recognized(schema: Schema, expected: bool) -> None:
    """At any depth of references and unions."""
    assert may_be_object(schema) is expected


@pytest.mark.parametrize("schema", [{}, {"properties": {}}, {"type": "object"}])
def test_a_root_without_a_type_is_an_object(schema: Schema) -> None:
    """Nothing else is meant."""
    result = project(schema, SchemaTarget.OPENAI_LOOSE, "p")

    assert (result.schema, codes(result)) == ({"type": "object", "properties": {}}, [])


@pytest.mark.parametrize(
    ("more", "expected"),
    [({}, ["schema-one-of-loosened"]), ({"discriminator": {"propertyName": "kind"}}, [])],
)
def test_branches_that_a_discriminator_tells_apart_are_not_reported_as_loosened(
    more: JsonObject, expected: list[str]
) -> None:
    """Only one of them can hold, also in an `anyOf`."""
    pet = {"oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], **more}
    kinds: JsonObject = {
        name: {"type": "object", "properties": {"kind": {"const": name}}} for name in ("Cat", "Dog")
    }
    schema: JsonObject = {"type": "object", "properties": {"pet": pet}, "$defs": kinds}
    result = project(schema, SchemaTarget.OPENAI_STRICT, "p")

    assert [code for code in codes(result) if "one-of" in code] == expected


def test_a_constant_root_is_described() -> None:
    """An object cannot be a number: the description says what was asked."""
    result = project({"const": 3}, SchemaTarget.OPENAI_LOOSE, "p")

    assert result.schema == {"type": "object", "description": "Always 3.", "properties": {}}
    assert codes(result) == ["schema-keyword-described"]


def test_bedrock_roots_hold_any_keyword() -> None:
    """All but Amazon's own models take an object in all the words of JSON Schema."""
    schema = {**object_of(a={"type": "string"}), "description": "D", "minProperties": 1}

    result = project(schema, SchemaTarget.BEDROCK, "p")

    assert (result.schema, result.diagnostics) == (schema, ())


def test_nova_roots_hold_three_keywords() -> None:
    """Amazon's own models refuse or ignore any other; losses are reported."""
    schema = {
        **object_of(a={"type": "string", "$comment": "kept"}),
        "minProperties": 1,
        "title": "T",
    }

    result = project(schema, SchemaTarget.BEDROCK_NOVA, "p")

    assert result.schema == object_of(a={"type": "string", "$comment": "kept"})
    assert {(entry.path, entry.action) for entry in result.diagnostics} == {
        ("p.minProperties", "dropped"),
        ("p.title", "noted"),
    }


@pytest.mark.parametrize("target", SchemaTarget)
def test_properties_named_like_keywords_survive(target: SchemaTarget) -> None:
    """A property called `format` or `$ref` is a property."""
    result: Any = project(KEYWORD_NAMES, target, "p").schema["properties"]

    assert isinstance(result, Mapping)
    assert list(result) == list(KEYWORD_NAMES["properties"])
    assert all("string" in schema["type"] for schema in result.values())


@pytest.mark.parametrize(
    "target", [SchemaTarget.GEMINI_JSON_SCHEMA, SchemaTarget.BEDROCK, SchemaTarget.BEDROCK_NOVA]
)
def test_references_are_inlined_with_what_stood_beside_them(target: SchemaTarget) -> None:
    """The description at the place of use wins over the definition's own."""
    schema = object_of(a={"$ref": "#/$defs/S", "description": "here"}, b={"$ref": "#/$defs/S"})
    schema["$defs"] = {"S": {"type": "string", "description": "there"}}

    assert project(schema, target, "p").schema["properties"] == {
        "a": {"type": "string", "description": "here"},
        "b": {"type": "string", "description": "there"},
    }


def test_a_constraint_beside_a_reference_holds_too() -> None:
    """Neither the definition's nor the place's own constraint is lost."""
    schema = object_of(a={"$ref": "#/$defs/S", "minLength": 1})
    schema["$defs"] = {"S": {"type": "string", "minLength": 3, "maxLength": 9}}

    assert project(schema, SchemaTarget.MOONSHOT, "p").schema["properties"] == {
        "a": {"type": "string", "minLength": 3, "maxLength": 9}
    }


@pytest.mark.parametrize(
    "pointer", ["#/$defs/a~1b", "#/$defs/c%20d", "#/properties/list/prefixItems/1"]
)
def test_any_json_pointer_is_followed(pointer: str) -> None:
    """Escapes and list positions are part of the notation."""
    schema = object_of(a={"$ref": pointer}, list={"prefixItems": [{}, {"type": "integer"}]})
    schema["$defs"] = {"a/b": {"type": "integer"}, "c d": {"type": "integer"}}

    result = project(schema, SchemaTarget.GEMINI_JSON_SCHEMA, "p").schema["properties"]

    assert isinstance(result, Mapping)
    assert result["a"] == {"type": "integer"}


@pytest.mark.parametrize(
    "target", [SchemaTarget.GEMINI_JSON_SCHEMA, SchemaTarget.BEDROCK, SchemaTarget.BEDROCK_NOVA]
)
@pytest.mark.parametrize("schema", [NODE, MUTUAL, JSON_VALUE])
def test_recursive_schema_is_cut_and_reported(schema: Schema, target: SchemaTarget) -> None:
    """The first turn of the recursion stays; the next is any object."""
    result = project(schema, target, "p")

    assert "schema-recursion-cut" in codes(result)
    assert "$ref" not in json.dumps(result.schema).decode()


def test_recursion_stays_where_the_target_has_references() -> None:
    """OpenAI's strict mode takes recursive schemas."""
    result = project(NODE, SchemaTarget.OPENAI_STRICT, "p")

    assert result.strict
    children = {"items": {"$ref": "#/$defs/Node"}, "type": "array"}
    assert result.schema["properties"] == {"value": {"type": "integer"}, "children": children}
    assert list(result.schema["$defs"]) == ["Node"]  # type: ignore[arg-type]


def test_a_reference_to_the_root_stays_one() -> None:
    """The root needs no second copy among the definitions."""
    schema = object_of(next={"anyOf": [{"$ref": "#"}, {"type": "null"}]})

    result = project(schema, SchemaTarget.OPENAI_STRICT, "p")

    assert result.strict
    assert result.schema == {**schema, "additionalProperties": False}
    assert not project(schema, SchemaTarget.ANTHROPIC_STRICT, "p").strict


def test_definitions_of_one_name_are_distinguished() -> None:
    """Two places may define two things under one name."""
    schema = object_of(a={"$ref": "#/$defs/S"}, b={"$ref": "#/definitions/S"})
    schema |= {"$defs": {"S": {"type": "string"}}, "definitions": {"S": {"type": "integer"}}}

    result = project(schema, SchemaTarget.OPENAI_STRICT, "p")

    assert result.schema["$defs"] == {"S": {"type": "string"}, "S_2": {"type": "integer"}}


# -- size


def deep(levels: int) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


def chained(levels: int) -> Schema:
    definitions: Schema = {
        f"D{n}": object_of(next={"$ref": f"#/$defs/D{n + 1}"}) for n in range(levels)
    }
    definitions[f"D{levels}"] = {"type": "string"}
    return {**object_of(a={"$ref": "#/$defs/D0"}), "$defs": definitions}


def diamonds(levels: int) -> Schema:
    definitions: Schema = {
        f"D{n}": object_of(l={"$ref": f"#/$defs/D{n + 1}"}, r={"$ref": f"#/$defs/D{n + 1}"})
        for n in range(levels)
    }
    definitions[f"D{levels}"] = {"type": "string"}
    return {**object_of(a={"$ref": "#/$defs/D0"}), "$defs": definitions}


def braided(levels: int) -> Schema:
    definitions: Schema = {
        f"D{n}": {
            "allOf": [{"$ref": f"#/$defs/D{n + 1}"}, {"$ref": "#/$defs/D0"}, {"minLength": 1}]
        }
        for n in range(levels)
    }
    definitions[f"D{levels}"] = {"type": "string"}
    return {**object_of(a={"$ref": "#/$defs/D0"}), "$defs": definitions}


def split(levels: int) -> Schema:
    definitions: Schema = {
        f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}, {"$ref": f"#/$defs/D{n + 1}"}]}
        for n in range(levels)
    }
    definitions[f"D{levels}"] = object_of(x={"type": "string"})
    return {"type": "object", "anyOf": [{"$ref": "#/$defs/D0"}], "$defs": definitions}


def denied(levels: int) -> Schema:
    schema: Schema = {"type": "string"}
    for _ in range(levels):
        schema = {"not": schema}
    return object_of(it=schema)


def nested(levels: int) -> Schema:
    schema: Schema = {"description": "D"}
    for _ in range(levels):
        schema = {"allOf": [schema, {"title": "T"}]}
    return {"type": "object", **schema}


LARGE = {
    "deep": deep(500),
    "chained": chained(500),
    "diamonds": diamonds(40),
    "braided": braided(40),
    "split": split(40),
    "denied": denied(2000),
    "nested": nested(2000),
}


@pytest.mark.parametrize("target", SchemaTarget)
@pytest.mark.parametrize("name", LARGE)
def test_large_schemas_end_soon_and_small(name: str, target: SchemaTarget) -> None:
    """No recursion error, no explosion; a cut is reported once, not a thousand times."""
    start = time.process_time()
    result = project(LARGE[name], target, "p")

    assert time.process_time() - start < 5  # seconds of CPU, where an explosion takes hours
    assert len(json.dumps(result.schema)) < 200_000
    assert len([code for code in codes(result) if code == "schema-too-large"]) <= 40


def test_too_deep_schema_is_cut_and_reported() -> None:
    """Nobody reads, and few can even write, JSON of a thousand levels."""
    result = project(deep(500), SchemaTarget.ANTHROPIC, "p")

    assert codes(result) == ["schema-too-deep"]
    assert len(json.dumps(result.schema)) > 60 * len('{"type":"object","properties":{"x":}}')


# -- laws, over random schemas with values that fit them


@st.composite
def fitting(draw: st.DrawFn, depth: int = 3) -> tuple[Any, Any, Any]:
    """Return a schema, a value that fits it, and the same value with null for what is absent."""
    kinds = ["string", "integer", "number", "boolean", "null", "enum", "const"]
    kinds += ["object", "array", "union", "tuple", "both"] if depth else []
    kind = draw(st.sampled_from(kinds))
    words: Schema = draw(st.sampled_from([{}, {"description": "D"}, {"title": "T", "default": 1}]))
    schema, value, full = draw(_MAKERS[kind](depth))
    return {**schema, **words}, value, full


def _strings(_depth: int) -> st.SearchStrategy[tuple[Any, Any, Any]]:
    limits: st.SearchStrategy[Schema] = st.sampled_from(
        [{}, {"minLength": 1}, {"maxLength": 9, "pattern": "^v"}]
    )
    return limits.map(lambda limit: ({"type": "string", **limit}, "value", "value"))


def _numbers(kind: str) -> Callable[[int], st.SearchStrategy[tuple[Any, Any, Any]]]:
    limits: st.SearchStrategy[Schema] = st.sampled_from(
        [{}, {"exclusiveMinimum": 3}, {"minimum": 4, "multipleOf": 2}]
    )
    return lambda _depth: limits.map(lambda limit: ({"type": kind, **limit}, 4, 4))


def _plain(schema: Schema, value: Any) -> Callable[[int], st.SearchStrategy[tuple[Any, Any, Any]]]:
    return lambda _depth: st.just((schema, value, value))


def _enums(_depth: int) -> st.SearchStrategy[tuple[Any, Any, Any]]:
    values: st.SearchStrategy[list[Any]] = st.sampled_from(
        [["a", "b"], [1, 2], ["a", None], [None], ["", "a"], [True, 1.5]]
    )
    return values.map(lambda found: ({"enum": found}, found[0], found[0]))


def _consts(_depth: int) -> st.SearchStrategy[tuple[Any, Any, Any]]:
    values = st.sampled_from(["a", 1, None, False, 2.5])
    return values.map(lambda found: ({"const": found}, found, found))


@st.composite
def _objects(draw: st.DrawFn, depth: int) -> tuple[Any, Any, Any]:
    names = draw(st.lists(st.sampled_from(["a", "type", "$ref", "title", "ü"]), unique=True))
    properties: Schema = {}
    value: Schema = {}
    full: Schema = {}
    required = []
    for name in names:
        properties[name], inner, whole = draw(fitting(depth - 1))
        use = draw(st.sampled_from(["required", "given", "absent"]))
        if use == "required":
            required.append(name)
        if use != "absent":
            value[name] = inner
        full[name] = None if use == "absent" else whole
    schema: Schema = {"type": "object", "properties": properties, "required": required}
    closing: Schema = draw(
        st.sampled_from([{}, {"additionalProperties": False}, {"minProperties": 0}])
    )
    return {**schema, **closing}, value, full


@st.composite
def _arrays(draw: st.DrawFn, depth: int) -> tuple[Any, Any, Any]:
    items, value, full = draw(fitting(depth - 1))
    limit: Schema = draw(st.sampled_from([{}, {"minItems": 1}, {"minItems": 2, "maxItems": 2}]))
    return {"type": "array", "items": items, **limit}, [value] * 2, [full] * 2


@st.composite
def _tuples(draw: st.DrawFn, depth: int) -> tuple[Any, Any, Any]:
    parts = draw(st.lists(fitting(depth - 1), min_size=1, max_size=3))
    schemas, values, full = (list(each) for each in zip(*parts, strict=True))
    return {"type": "array", "prefixItems": schemas}, values, full


@st.composite
def _unions(draw: st.DrawFn, depth: int) -> tuple[Any, Any, Any]:
    parts = draw(st.lists(fitting(depth - 1), min_size=1, max_size=3))
    return {"anyOf": [schema for schema, _, _ in parts]}, parts[0][1], parts[0][2]


@st.composite
def _both(draw: st.DrawFn, depth: int) -> tuple[Any, Any, Any]:
    schema, value, full = draw(fitting(depth - 1))
    return {"allOf": [schema, {"description": "again"}]}, value, full


_MAKERS: dict[str, Callable[[int], st.SearchStrategy[tuple[Any, Any, Any]]]] = {
    "string": _strings,
    "integer": _numbers("integer"),
    "number": _numbers("number"),
    "boolean": _plain({"type": "boolean"}, True),
    "null": _plain({"type": "null"}, None),
    "enum": _enums,
    "const": _consts,
    "object": _objects,
    "array": _arrays,
    "tuple": _tuples,
    "union": _unions,
    "both": _both,
}


@given(found=fitting(), beside=st.sampled_from([None, {}, {"description": "B"}]))
def test_what_fits_the_schema_fits_its_projection(found: Any, beside: Schema | None) -> None:
    """A model held to the projection may still give every value the tool takes."""
    schema, value, full = found
    root = object_of(it=schema)
    if beside is not None:
        root = {**object_of(it={"$ref": "#/$defs/It", **beside}), "$defs": {"It": schema}}
    assert Draft202012Validator(root).is_valid({"it": value})

    for target in SchemaTarget:
        result = check_projection(root, target)

        sent = dict(result.schema)
        instance = full if target is SchemaTarget.OPENAI_STRICT and result.strict else value
        assert Draft202012Validator(sent).is_valid({"it": instance}), target


@given(found=fitting(), target=st.sampled_from(list(SchemaTarget)))
@example(
    found=({"anyOf": [{"allOf": [{"type": "null"}, {"description": "none"}]}]}, None, None),
    target=SchemaTarget.GEMINI_JSON_SCHEMA,
)
def test_projecting_a_projection_changes_little(found: Any, target: SchemaTarget) -> None:
    """The result is in the target's own words, so nothing is left to put into others."""
    once = project(object_of(it=found[0]), target, "p")
    twice = project(once.schema, target, "p")

    if target not in STRICT:
        assert twice.schema == once.schema
    assert twice.strict is once.strict


JUNK = st.recursive(
    st.sampled_from([None, True, False, 0, -1, 1.5, "", "object", "array", "#", "#/x", "string"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "required",
                    "enum",
                    "const",
                    "anyOf",
                    "allOf",
                    "oneOf",
                    "$ref",
                    "$defs",
                    "additionalProperties",
                    "prefixItems",
                    "format",
                    "pattern",
                    "not",
                    "nullable",
                    "minItems",
                    "minimum",
                    "exclusiveMinimum",
                    "description",
                    "x",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    schema=st.dictionaries(st.sampled_from(["type", "properties", "anyOf", "$ref", "$defs"]), JUNK)
)
def test_invalid_schema_is_projected_without_an_exception(schema: Schema) -> None:
    """An invalid schema is still projected, and the provider may judge it."""
    for target in SchemaTarget:
        result = project(schema, target, "p")
        assert isinstance(result.schema, dict)


def test_a_changed_projection_does_not_change_the_next_one() -> None:
    """Results are kept, and callers get the body that they are part of."""
    schema: Any = {"type": "object", "properties": {"a": {"type": "string"}}}
    first: Any = project(schema, SchemaTarget.OPENAI_LOOSE, "tools[0].parameters").schema
    first["properties"]["a"]["type"] = "integer"
    again = project(schema, SchemaTarget.OPENAI_LOOSE, "tools[0].parameters")

    assert again.schema == schema
