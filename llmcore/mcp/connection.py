"""One connected MCP server: its listings, kept up to date, and its calls."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus

from llmcore.generation.tool import ToolFailure
from llmcore.mcp.connecting import client_of, transport_of
from llmcore.mcp.failures import as_llm_error, of_status
from llmcore.mcp.listing import Listing, ServerLists
from llmcore.mcp.results import Output, part_of, result_of, size_of_parts, text_of_error
from llmcore.mcp.servers import McpServer
from llmcore.schema.errors import (
    ConfigurationError,
    LLMError,
    NetworkError,
    ProviderError,
    StreamError,
)
from llmcore.schema.json import JsonObject

if TYPE_CHECKING:
    import mcp
    import mcp_types as types

    from llmcore.mcp.http_client import LimitedTransport

_T = TypeVar("_T")

_LISTEN_AGAIN_SECONDS = 1.0
_GOODBYE_SECONDS = 1.0
"""After which a session is replaced that does not take the notice of a cancelled call."""


class ServerConnection:
    """A server, while `run` is running."""

    def __init__(self, name: str, server: McpServer) -> None:
        self.name = name
        self.server = server
        self.lists = ServerLists(name, server)
        self.listing = Listing()
        self.failure: LLMError | None = None
        """The error that ended the connection, or that the last listing failed with."""
        self.instructions: str | None = None
        """The server's text for the model about its use."""
        self.listed: Callable[[Listing], None] = lambda _listing: None
        """Called with each listing."""
        self.started = False
        self.done = anyio.Event()
        """Set when a connection that was started has ended."""
        self._client: mcp.Client | None = None
        self._tasks: TaskGroup | None = None
        """Where calls run; it ends after the client, which ends them."""
        self._http: LimitedTransport | None = None
        self._stopping = False
        self._session_over = anyio.Event()
        """Set to end the session, finally or to start a new one."""
        self._session_ready = anyio.Event()
        """Set while there is a session, and after the last one."""
        self._changed = anyio.Event()
        self._lock = anyio.Lock()
        self._calls = 0
        self._idle = anyio.Event()
        """Set when the last of the calls has ended."""

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Connect, list, and keep the connection until `stop`. Raises LLMError before it starts."""
        self.started, ready = True, False

        def begun() -> None:
            nonlocal ready
            if not ready:
                task_status.started()
            ready = True
            self._session_ready.set()

        try:
            while not self._stopping:
                self._session_over = anyio.Event()
                await self._hold_session(begun)
        except Exception as error:
            self.failure = self._as_llm_error(error)
            if not ready and self.failure is error:
                raise
            if not ready:
                raise self.failure from error
        finally:
            self._client = None
            self._session_ready.set()
            self.done.set()

    async def _hold_session(self, begun: Callable[[], None]) -> None:
        """Connect and list; call *begun*, and keep the session until it is over."""
        async with AsyncExitStack() as stack:
            self._tasks = await stack.enter_async_context(anyio.create_task_group())
            transport, self._http = await transport_of(self.server, stack)
            client = await stack.enter_async_context(client_of(transport, self._on_message))
            self.instructions = client.instructions
            tasks = await stack.enter_async_context(anyio.create_task_group())
            await tasks.start(self._listen, client)
            self._changed = anyio.Event()
            self.lists.forget()
            self._set_listing(await self.lists.read(client))
            self._client = client
            tasks.start_soon(self._list_when_changed)
            begun()
            await self._session_over.wait()
            self._client = None
            if self._calls and not self._stopping:  # in a lost session, to be refused
                self._idle = anyio.Event()
                await self._idle.wait()
            tasks.cancel_scope.cancel()

    def stop(self) -> None:
        """End the connection: `done` is set when the server has been left."""
        self._stopping = True
        self._session_over.set()
        self._idle.set()

    # -- listings

    async def refresh(self) -> None:
        """List the server's tools again."""
        async with self._lock:
            self._changed = anyio.Event()
            self._set_listing(await self._in_session(self.lists.read))

    def _set_listing(self, listing: Listing) -> None:
        self.listing = listing
        self.failure = None
        self.listed(listing)

    async def refresh_if_changed(self) -> None:
        """List again if the server has announced that its list has changed."""
        if self._changed.is_set():
            await self.refresh()

    async def _list_when_changed(self) -> None:
        """List the tools again whenever the server's list changes."""
        while True:
            await self._changed.wait()
            try:
                await self.refresh_if_changed()
            except LLMError as error:
                self.failure = error
                self._changed = anyio.Event()

    async def _listen(self, client: "mcp.Client", *, task_status: TaskStatus[None]) -> None:
        """Subscribe to changes where the server's version of the protocol requires it.

        It has started when the server has acknowledged: a list that is read after that is current.
        """
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

        listening, again = False, True
        while again:
            again = False
            try:
                async with client.listen(
                    tools_list_changed=True,
                    resources_list_changed=True,
                    prompts_list_changed=True,
                ) as changes:
                    if listening:
                        self._mark_changed()  # a change may have been missed
                    else:
                        listening = True
                        task_status.started()
                    async for _change in changes:
                        self._mark_changed()
            except SubscriptionLost:
                again = listening
                await anyio.sleep(_LISTEN_AGAIN_SECONDS)
            except (ListenNotSupportedError, MCPError):
                break  # notifications come by themselves, or not at all
        if not listening:
            task_status.started()

    async def _on_message(self, message: object) -> None:
        import mcp_types as types

        changes = (
            types.ToolListChangedNotification,
            types.ResourceListChangedNotification,
            types.PromptListChangedNotification,
        )
        if isinstance(message, changes):
            self._mark_changed()

    def _mark_changed(self) -> None:
        self.lists.forget()
        self._changed.set()

    # -- calls

    async def call(
        self, tool: str, arguments: JsonObject, check: Callable[[], Awaitable[None]]
    ) -> Output:
        """Call *tool* and return its result; ToolFailure for an error that the model should see.

        *check* is called before the call, and again if it is repeated in a new session. Raises
        LLMError if the server cannot be reached, or breaks the protocol.
        """

        async def called(client: "mcp.Client") -> "types.CallToolResult":
            return await client.call_tool(tool, dict(arguments))

        await check()
        try:
            result = await self._in_session(called, check)
        except ProviderError as error:  # the server refused the call
            if self.done.is_set():
                raise
            raise ToolFailure(error.message) from error
        output = self.checked(result_of(result.content, result.structured_content))
        if result.is_error:
            parts = tuple(map(part_of, result.content))
            raise ToolFailure(
                text_of_error(output), content=() if isinstance(output, str) else parts
            )
        return output

    def checked(self, output: Output) -> Output:
        """Return *output*; raise ToolFailure if it is larger than the limit."""
        size, limit = size_of_parts(output), self.server.max_result_bytes
        if size > limit:
            raise ToolFailure(f"the result has {size} bytes, more than the limit of {limit}")
        return output

    async def ask(self, function: "Callable[[mcp.Client], Awaitable[_T]]") -> _T:
        """Return the result of *function* for the client, within the time limit of a call."""
        try:
            with anyio.fail_after(self.server.call_seconds):
                return await self._in_session(function)
        except TimeoutError as error:
            raise self._as_llm_error(error) from error

    async def _in_session(
        self,
        function: "Callable[[mcp.Client], Awaitable[_T]]",
        again: Callable[[], Awaitable[None]] | None = None,
    ) -> _T:
        """Return what *function* returns; in a new session, after *again*, if this one was lost.

        A server answers nothing in a session that it has forgotten. "When a client receives HTTP
        404 in response to a request containing an MCP-Session-Id, it MUST start a new session":
        https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
        """
        if self.started:
            await self._session_ready.wait()
        http = self._http  # another call may begin the new session before this one has failed
        try:
            return await self._in_current_session(function)
        except ProviderError:
            if http is None or not http.session_lost:
                raise
        if http is self._http:
            self._replace_session()
        await self._session_ready.wait()
        if again is not None:
            await again()
        return await self._in_current_session(function)

    def _replace_session(self) -> None:
        if self._session_ready.is_set() and not self.done.is_set():
            self._session_ready = anyio.Event()
            self._session_over.set()

    async def _in_current_session(self, function: "Callable[[mcp.Client], Awaitable[_T]]") -> _T:
        client, tasks = self._client, self._tasks
        if client is None or tasks is None:
            message = f"the MCP server {self.name!r} is not connected: use `async with McpServers`"
            raise self.failure or ConfigurationError(message)

        def replace() -> None:
            if client is self._client:
                self._replace_session()

        self._calls += 1
        try:
            return await _run_apart(tasks, partial(function, client), replace)
        except LLMError:
            raise
        except Exception as error:
            raise self._as_llm_error(error) from error
        finally:
            self._calls -= 1
            if not self._calls:
                self._idle.set()

    def _as_llm_error(self, error: Exception) -> LLMError:
        known = as_llm_error(self.name, error)
        http = self._http
        if http is None or not isinstance(known, ProviderError | StreamError):
            return known
        if http.error is not None:
            return as_llm_error(self.name, http.error)
        if http.status is None:
            return known
        return of_status(self.name, http.status, error, http.login_url)


async def _run_apart(
    tasks: TaskGroup, function: Callable[[], Awaitable[_T]], is_stuck: Callable[[], None]
) -> _T:
    """Return what *function* returns. If this is cancelled, so is *function*, but not waited for.

    The SDK waits up to five seconds until the server has taken the notice of a cancelled request,
    also where it reads nothing. *is_stuck* is called if that takes too long.
    """
    outcome: list[_T] = []
    errors: list[Exception] = []
    scope, ended = anyio.CancelScope(), anyio.Event()

    async def run() -> None:
        try:
            with scope:
                outcome.append(await function())
        except Exception as error:  # noqa: BLE001  (raised below)
            errors.append(error)
        finally:
            ended.set()

    async def watch() -> None:
        with anyio.move_on_after(_GOODBYE_SECONDS):
            await ended.wait()
            return
        is_stuck()

    tasks.start_soon(run)
    try:
        await ended.wait()
    finally:
        scope.cancel()
        if not ended.is_set():
            tasks.start_soon(watch)
    if errors:
        raise errors[0]
    if not outcome:
        raise NetworkError("the connection to the MCP server was ended during a call")
    return outcome[0]
