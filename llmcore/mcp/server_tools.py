"""Tools of a run, made of what a server lists.

A tool's name is the server's name, two underscores and its own: `files__read_text`. So two servers
can have tools of one name. What a provider does not take in a name is replaced in its requests.
"""

import hashlib
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any

from llmcore.generation.approvals import ToolChangedError
from llmcore.generation.handler import Handler
from llmcore.generation.tool import NeedsApproval, Tool, ToolFailure, tool
from llmcore.mcp.connection import ServerConnection
from llmcore.mcp.listing import Listing
from llmcore.mcp.results import Output, messages_of, resource_part
from llmcore.schema import json
from llmcore.schema.content import TextPart, ToolOutputPart
from llmcore.schema.diagnostics import Diagnostic
from llmcore.schema.errors import ConfigurationError, InvalidRequestError
from llmcore.schema.json import JsonObject, JsonValue
from llmcore.schema.messages import Message

if TYPE_CHECKING:
    import mcp
    import mcp_types as types

SEPARATOR = "__"

_DEFINED_BY = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_MAX_ASKED = 10_000


def digest_of(definition: "types.Tool") -> str:
    """Return the SHA-256 of a server's definition of a tool, in hexadecimal digits."""
    stated = definition.model_dump(mode="json", by_alias=True, exclude_none=True)
    kept = {name: stated[name] for name in _DEFINED_BY if name in stated}
    return hashlib.sha256(json.canonical(kept).encode()).hexdigest()


class ServerTools:
    """The tools of one connection, as of its last listing."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self.tools: tuple[Tool, ...] = ()
        self.digests: dict[str, str] = {}
        """The digests of the server's definitions, by the names of the tools."""
        self.diagnostics: tuple[Diagnostic, ...] = ()
        """Reports of the tools that are not offered."""
        self._asked: OrderedDict[str, str] = OrderedDict()
        """The digests at the time when calls were found to need approval."""

    def update(self, listing: Listing) -> None:
        """Make the tools of *listing*."""
        tool_names = {definition.name for definition in listing.tools}
        offered = [item for item in listing.tools if not _needs_task(item)]
        self.diagnostics = tuple(
            _not_offered(self._name(item.name)) for item in listing.tools if _needs_task(item)
        )
        self.digests = {self._name(item.name): digest_of(item) for item in offered}
        self.tools = (
            *(self._tool(definition) for definition in offered),
            *(self._resource_tools(tool_names) if listing.resources else ()),
            *(self._prompt_tools(tool_names) if listing.prompts else ()),
        )

    def _name(self, name: str) -> str:
        return f"{self.connection.name}{SEPARATOR}{name}"

    def _tool(self, definition: "types.Tool") -> Tool:
        connection, name, digest = self.connection, definition.name, digest_of(definition)
        needs = connection.server.needs_approval
        approved = needs if isinstance(needs, bool) else name in needs

        async def call(arguments: dict[str, Any]) -> Output:
            check = partial(self._check, name, digest, arguments, approved=approved)
            return await connection.call(name, arguments, check)

        def asked(arguments: JsonObject) -> bool:
            self._asked[_call(name, arguments)] = digest
            if len(self._asked) > _MAX_ASKED:
                self._asked.popitem(last=False)
            return True

        needs_approval: NeedsApproval = asked if approved else False
        try:
            return Tool(
                self._name(name),
                definition.description or definition.title or "",
                definition.input_schema,
                call,
                timeout=connection.server.call_seconds,
                needs_approval=needs_approval,
                handler=Handler(function=call, takes_all="arguments"),
            )
        except InvalidRequestError as error:
            raise ConfigurationError(
                f"the tool {name!r} of the MCP server {connection.name!r} cannot be offered: "
                f"{error.message}; leave it out with allowed=...",
                cause=error,
            ) from error

    async def _check(
        self, name: str, digest: str, arguments: JsonObject, *, approved: bool
    ) -> None:
        """Raise unless the tool is unchanged since the model, and the approver, saw it."""
        seen = self._asked.pop(_call(name, arguments), digest)
        if approved:
            await self.connection.refresh()
        else:
            await self.connection.refresh_if_changed()
        if self.digests.get(self._name(name)) == seen:
            return
        fate = "changed" if self._name(name) in self.digests else "was removed"
        message = f"the definition of {self._name(name)} {fate} after it was given to the model"
        if approved:
            raise ToolChangedError(f"{message}: the call that was approved is not run")
        raise ToolFailure(f"{message}; nothing was run")

    # -- resources and prompts

    def _resource_tools(self, tool_names: set[str]) -> tuple[Tool, ...]:
        server = self.connection.name

        async def list_resources() -> JsonValue:
            return await listed_resources(self.connection)

        async def read_resource(uri: str) -> Output:
            return await read(self.connection, uri)

        return (
            self._made(tool_names, list_resources, f"List the resources of {server}: their URIs."),
            self._made(tool_names, read_resource, f"Read a resource of {server} by its URI."),
        )

    def _prompt_tools(self, tool_names: set[str]) -> tuple[Tool, ...]:
        server = self.connection.name

        async def list_prompts() -> JsonValue:
            return await listed_prompts(self.connection)

        async def get_prompt(name: str, arguments: dict[str, str] | None = None) -> Output:
            messages = await prompt_messages(self.connection, name, arguments or {})
            return tuple(_shown(messages))

        return (
            self._made(
                tool_names, list_prompts, f"List the prompts of {server} and their arguments."
            ),
            self._made(tool_names, get_prompt, f"Return the messages of a prompt of {server}."),
        )

    def _made(self, tool_names: set[str], function: Any, description: str) -> Tool:
        name = function.__name__
        while name in tool_names:  # the server has a tool of this name itself
            name += "_"
        seconds = self.connection.server.call_seconds
        made: Tool = tool(name=self._name(name), description=description, timeout=seconds)(function)
        return made


def _needs_task(definition: "types.Tool") -> bool:
    """Return whether a tool can only be called as a task, which the SDK does not do.

    https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks; the next version
    of the protocol does not have it.
    """
    execution = definition.execution
    return execution is not None and execution.task_support == "required"


def _not_offered(name: str) -> Diagnostic:
    message = f"{name} is not offered: its server runs it only as a task"
    return Diagnostic("tool-not-offered", "tools", action="dropped", message=message)


def _call(name: str, arguments: JsonObject) -> str:
    return json.canonical([name, dict(arguments)])


def _shown(messages: tuple[Message, ...]) -> list[ToolOutputPart]:
    parts: list[ToolOutputPart] = []
    for message in messages:
        parts.append(TextPart(f"{message.role}:"))
        parts += message.content  # type: ignore[arg-type]  # prompts have no calls or reasoning
    return parts


async def listed_resources(connection: ServerConnection) -> JsonObject:
    """Return the resources and templates of a server, as JSON."""

    async def every(client: "mcp.Client") -> JsonObject:
        resources = await connection.lists.all_pages(client.list_resources, "resources")
        templates = (await client.list_resource_templates()).resource_templates
        connection.lists.check_count(len(resources) + len(templates), "resources")
        return {"resources": _dumped(resources), "templates": _dumped(templates)}

    return await connection.ask(every)


async def listed_prompts(connection: ServerConnection) -> JsonObject:
    """Return the prompts of a server with their arguments, as JSON."""

    async def every(client: "mcp.Client") -> JsonObject:
        return {
            "prompts": _dumped(await connection.lists.all_pages(client.list_prompts, "prompts"))
        }

    return await connection.ask(every)


def _dumped(items: Any) -> list[JsonValue]:
    dumped = [item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in items]
    return [{key: value for key, value in item.items() if key in _SHOWN} for item in dumped]


_SHOWN = ("uri", "uriTemplate", "name", "title", "description", "mimeType", "size", "arguments")


async def read(connection: ServerConnection, uri: str) -> tuple[ToolOutputPart, ...]:
    """Return the contents of a resource as parts."""
    result = await connection.ask(lambda client: client.read_resource(uri))
    parts = tuple(resource_part(item) for item in result.contents)
    connection.checked(parts)
    return parts


async def prompt_messages(
    connection: ServerConnection, name: str, arguments: dict[str, str]
) -> tuple[Message, ...]:
    """Return the messages of a prompt."""
    result = await connection.ask(lambda client: client.get_prompt(name, arguments))
    messages = messages_of(result.messages)
    for message in messages:
        connection.checked(message.content)  # type: ignore[arg-type]  # as above
    return messages
