"""Chat Completions: the operation of all fronts, and state for clients that drop it."""

from functools import partial

from attrs import evolve, frozen

from llmcore.bridge.answer_run import AnswerRun
from llmcore.bridge.api import OperationRequest
from llmcore.bridge.generation import Generation
from llmcore.bridge.service import Service
from llmcore.bridge.state.call_states import CallStates
from llmcore.fronts.front import Event
from llmcore.fronts.openai_chat import front
from llmcore.fronts.openai_chat.answer import ChatWriter
from llmcore.fronts.openai_chat.messages import with_kept_state
from llmcore.fronts.openai_chat.request import ChatContext
from llmcore.protocols.diagnostics import Notes
from llmcore.schema.messages import Message


class ChatCompletions(Generation[ChatContext]):
    """The calls of Chat Completions. Raises FrontError."""

    def __init__(self, service: Service) -> None:
        super().__init__(front, service, format_field="response_format")
        self._states = CallStates()

    async def generate(self, call: OperationRequest) -> AnswerRun:
        """`POST /chat/completions`."""
        chosen = await self.chosen(call.asked)
        if self.relays(call.asked, chosen):
            return self.relayed(call.asked, chosen)
        read = await self.read(call.asked, chosen)
        await self.check_format(read.request)
        owner, notes = call.caller.owner, Notes()
        lookup = partial(self._states.get, owner)
        sealer = chosen.upstream.sealer
        messages = with_kept_state(read.request.messages, lookup, sealer, notes)
        read = evolve(read, request=evolve(read.request, messages=messages))
        info = self.answer_info(chosen)
        writer = ChatWriter(info, read.context, chosen.upstream)
        stored = _KeptCalls(writer, self._states, owner)
        return self.run(call.asked, chosen, read, info, writer, stored=stored)


@frozen
class _KeptCalls:
    """An answer whose state is kept under the ids of its calls."""

    writer: ChatWriter
    states: CallStates
    owner: str

    async def keep(self) -> None:
        self.states.put(self.owner, self.writer.sealed_calls)

    def failed_instead(self, event: Event, message: str) -> Event:
        return event

    def continue_from(self, messages: tuple[Message, ...]) -> None:
        """Do nothing: the conversation is the client's."""
