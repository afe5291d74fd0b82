"""Messages: the operation of all fronts, and state that clients drop.

A `redacted_thinking` block carries the state of a tool loop. Some clients do not send it back, so
it is kept for the call that follows, by the call's id, name and arguments:

    {"type": "redacted_thinking", "data": "b2Ix..."}
    {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a.py"}}
"""

from functools import partial

from attrs import evolve
from msgspec.structs import replace

from llmcore.bridge.api import OperationRequest
from llmcore.bridge.generation import ChosenModel, Generation
from llmcore.bridge.response_run import ResponseRun
from llmcore.bridge.service import Service
from llmcore.bridge.state.call_states import CallStates, KeptCalls
from llmcore.fronts.anthropic_messages import ReadMessagesRequest, front
from llmcore.fronts.anthropic_messages.response import MessagesWriter


class Messages(Generation[ReadMessagesRequest]):
    """The calls of Messages. Raises FrontError."""

    def __init__(self, service: Service) -> None:
        super().__init__(front, service, format_field="output_config.format")
        self._states = CallStates()

    async def respond(self, call: OperationRequest, chosen: ChosenModel) -> ResponseRun:
        """`POST /messages`."""
        call, owner = self.marked(call, chosen), call.caller.owner
        if route := self.relay_route(call.request, chosen):
            return self.relayed(call, chosen, route)
        kept_state = partial(self._states.get, owner)
        chosen = replace(chosen, upstream=evolve(chosen.upstream, kept_state=kept_state))
        read = await self.read(call.request, chosen, large=call.is_large)
        await self.check(read.request)
        writer = MessagesWriter(chosen.info, read, chosen.upstream)
        stored = KeptCalls(writer, self._states, owner)
        cached = self.cached(call, chosen, read.request)
        return self.run(call, chosen, read, writer, stored=stored, cached=cached)
