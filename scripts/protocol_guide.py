"""The signatures in `docs/adding-a-protocol.md`, made from the code.

    python scripts/protocol_guide.py

writes them into the page, so that the author of a protocol need not open the modules that all
protocols share; a test says when that is due.
"""

import ast
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from scripts.made_sections import with_section

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "adding-a-protocol.md"

SHOWN: Final = {
    "llmcore.protocols.protocol": (
        "FramingId ApiFamily Frame Protocol BodyBuilder Built collect_diagnostics StreamMachine "
        "FastReader TokenCounting CacheMark"
    ),
    "llmcore.schema.diagnostics": "Diagnostics",
    "llmcore.protocols.history.clean": "HistoryPolicy LoweringTarget native_provider_ids",
    "llmcore.protocols.history.repair": "Repaired repair",
    "llmcore.protocols.lowering": (
        "note_missing omitted_part omitted_text result_text document_text file_name "
        "native_citations with_stream_options lower_service_tier nearest_effort "
        "note_continue_message"
    ),
    "llmcore.protocols.media": (
        "raw_data base64_data data_url remote_url text_data media_type_of image_format noun_of "
        "decode_leniently decode_pieces"
    ),
    "llmcore.protocols.tools": (
        "CallIdRule ANY_CALL_ID ToolNameRule STRICTEST OPENAI_TOOL_NAMES check_forcible "
        "note_function freeform_function object_arguments freeform_text synthetic_call_id"
    ),
    "llmcore.protocols.tool_schema.project": "Projected project",
    "llmcore.protocols.tool_schema.targets": "SchemaTarget",
    "llmcore.protocols.forced_format": (
        "format_in_words with_description FormatSupport FormatPlan forced_plan ForcedFormat "
        "lower_format"
    ),
    "llmcore.protocols.caching": (
        "note_cache_options drop_breakpoints Position CacheCandidate CacheLimits choose_breakpoints"
    ),
    "llmcore.protocols.response_parts": (
        "Events StreamContext stream_context map_finish_reason finish_events truncated "
        "empty_response until_error announce counts_reader inclusive_usage served_tier "
        "read_logprobs"
    ),
    "llmcore.protocols.blocks": (
        "Kind FastPath SLOW Block BlockState open_block replace_block close_block start_call "
        "continue_call end_call end_format_call"
    ),
    "llmcore.protocols.failures.errors": "error_from_body",
    "llmcore.protocols.failures.error_body": "foreign_document",
    "llmcore.schema.json": ("NativeObject loads dumps present without text_or_json json_or_text"),
    "llmcore.schema.native_json": (
        "str_or_none str_or_empty int_or_none index_or_none count_or_none float_or_none "
        "object_or_empty objects texts"
    ),
    "llmcore.schema.media_sources": "decode_base64",
    "llmcore.schema.persistent": "PersistentList from_list to_list with_entry without_entry",
    "llmcore.schema.request": "LLMRequest",
    "llmcore.schema.options": (
        "GenerationOptions ReasoningOptions ResponseFormat CachePolicy merge_json"
    ),
    "llmcore.schema.tools": (
        "HostedToolKind ToolDefinition CustomTool HostedTool ToolSpec ToolChoice"
    ),
    "llmcore.schema.messages": "Role Message",
    "llmcore.schema.content": (
        "TextPart ReasoningPart ImagePart AudioPart DocumentPart ToolCallPart ToolResultPart "
        "RefusalPart ProviderPart ContentPart ToolOutputPart Citation"
    ),
    "llmcore.schema.events": (
        "StreamStart StepStart TextStart TextDelta TextEnd ReasoningStart ReasoningDelta "
        "ReasoningEnd ToolInputStart ToolInputDelta ToolInputEnd ToolResult Source File "
        "ErrorEvent ProviderEvent FinishReasonKind FinishReason"
    ),
    "llmcore.schema.usage": "Usage",
    "llmcore.routes.endpoint": "EndpointContext Endpoint",
    "llmcore.routes.framing": "Framing",
    "tests.support.wire.protocol": "ProtocolWire pieces response error",
    "tests.support.wire.matrix": "Native KEY PIXEL PIXEL_64 Counts Said Column",
    "tests.support.strategies.requests": "requests json_values json_objects texts",
}
"""The names that are shown, by module."""
_WIDTH: Final = 96
"""The most characters of a line, which a page shows beside its menus."""
_WITH_METHODS: Final = frozenset({"Diagnostics", "Repaired", "ProtocolWire", "Counts", "Said"})
"""Classes whose methods are shown, too."""
_CONSTRUCTORS: Final = frozenset({"make"})
_PLAIN: Final = "llmcore.schema."
"""Classes of these modules are shown by their constructors."""


def signatures() -> str:
    """Return the signatures of all shown names, by module."""
    lines = (part for each in SHOWN for line in _module(each) for part in _wrapped(line))
    return "```text\n" + "\n".join(lines) + "```\n"


def _wrapped(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 8)
    return textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_long_words=False) or [line]


def _module(name: str) -> Iterator[str]:
    shown, aliases = SHOWN[name].split(), dict[str, str]()
    tree = ast.parse((ROOT / f"{name.replace('.', '/')}.py").read_text("utf-8"))
    found: dict[str, ast.stmt] = {}
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        match node:
            case ast.ClassDef(name=defined) | ast.FunctionDef(name=defined):
                found[defined] = node
            case (
                ast.Assign(targets=[ast.Name(id=defined)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=defined), value=ast.expr() as value)
            ) if defined in shown:
                found[defined] = node
                aliases[defined] = f"{ast.unparse(value)}{_comment(_text_of(after))}"
    yield f"{name}\n"
    for each in shown:
        match found[each]:
            case ast.FunctionDef() as function:
                yield from _function(function, "    ")
            case ast.ClassDef() as class_ if name.startswith(_PLAIN) and each not in _WITH_METHODS:
                yield from _constructor(class_, found)
            case ast.ClassDef() as class_:
                yield from _class(class_)
            case _:
                yield f"    {each} = {aliases[each]}"
    yield ""


def _function(node: ast.FunctionDef, indent: str) -> Iterator[str]:
    arguments = node.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
    returned = "None" if node.returns is None else ast.unparse(node.returns)
    yield f"{indent}{node.name}({ast.unparse(arguments)}) -> {returned}"
    if text := ast.get_docstring(node):
        yield f"{indent}    {' '.join(text.split())}"


def _constructor(node: ast.ClassDef, others: Mapping[str, ast.AST]) -> Iterator[str]:
    """Yield the fields of a class, and of the bases that its module defines, as parameters."""
    bases = [others.get(base.id) for base in node.bases if isinstance(base, ast.Name)]
    shown: list[str] = []
    for each in (*bases, node):
        if isinstance(each, ast.ClassDef):
            shown += (field for field, _ in _fields(each) if "provider_metadata" not in field)
    if any("kw_only=True" in ast.unparse(made) for made in node.decorator_list):
        shown.insert(0, "*")
    yield f"    {node.name}({', '.join(shown)})"
    yield f"        {_summary(node)}"
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name in _CONSTRUCTORS:
            yield from _function(method, "        ")


def _class(node: ast.ClassDef) -> Iterator[str]:
    yield f"    class {node.name}: {_summary(node)}"
    for field, meaning in _fields(node):
        yield f"        {field}{_comment(meaning)}"
    for method in node.body:
        if node.name not in _WITH_METHODS or not isinstance(method, ast.FunctionDef):
            continue
        if not method.name.startswith("_"):
            yield from _function(method, "        ")


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield the fields of a class, or the members of an enumeration, with their descriptions."""
    for here, after in zip(node.body, [*node.body[1:], None], strict=True):
        match here:
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                kind = ast.unparse(here.annotation)
                if not kind.startswith("ClassVar"):
                    yield f"{name}: {kind}{_default(here.value)}", _text_of(after)
            case ast.Assign(targets=[ast.Name(id=name)]) if not name.startswith("_"):
                yield name, _text_of(after)


def _default(value: ast.expr | None) -> str:
    if not isinstance(value, ast.Call):
        return "" if value is None else f" = {ast.unparse(value)}"
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in value.keywords}
    made = {"dict": " = {}"}.get(given.get("factory", ""), "")
    return f" = {given['default']}" if "default" in given else made


def _summary(node: ast.ClassDef) -> str:
    text = ast.get_docstring(node) or ""
    return " ".join(text.partition("\n\n")[0].split())


def _comment(text: str) -> str:
    return f"  # {text}" if text else ""


def _text_of(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split())
    return ""


def page(text: str) -> str:
    """Return *text* with the current signatures in their place."""
    return with_section(text, signatures(), "protocol_guide", "signatures")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
