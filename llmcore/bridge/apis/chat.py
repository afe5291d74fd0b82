"""Chat Completions: the operation of all fronts, several choices, and state that clients drop."""

from attrs import evolve

from llmcore.bridge.api import OperationRequest
from llmcore.bridge.choices import ChoicesRun
from llmcore.bridge.generation import ChosenModel, Generation
from llmcore.bridge.response_run import ResponseRun
from llmcore.bridge.service import Service
from llmcore.fronts.front import StreamEncoding
from llmcore.fronts.openai_chat import front
from llmcore.fronts.openai_chat.foreign_forms import has_foreign_forms
from llmcore.fronts.openai_chat.request import ReadChatRequest
from llmcore.fronts.openai_chat.response import ChatWriter
from llmcore.schema.changed import changed
from llmcore.schema.request import LLMRequest


class ChatCompletions(Generation[ReadChatRequest]):
    """The calls of Chat Completions. Raises FrontError."""

    def __init__(self, service: Service) -> None:
        super().__init__(front, service, format_field="response_format")

    async def respond(self, call: OperationRequest, chosen: ChosenModel) -> ResponseRun:
        """`POST /chat/completions`."""
        call = self.with_cache_marks(call, chosen)
        route = self.relay_route(call.request, chosen)
        if route is not None and not has_foreign_forms(call.body):
            return self.relayed(call, chosen, route)
        owner = call.caller.owner
        chosen = self.with_kept_state(chosen, owner)
        read = await self.read(call.request, chosen, large=call.is_large)
        await self.check(read.request)

        def run(index: int, encoding: StreamEncoding) -> ResponseRun:
            writer = ChatWriter(chosen.info, read, chosen.upstream)
            keep = self.keeping_calls(writer, owner)
            choice = changed(read, request=_reseeded(read.request, index)) if index else read
            cached = self.cached(call, chosen, choice.request) if read.choices == 1 else None
            return self.run(
                call, chosen, choice, writer, keep=keep, encoding=encoding, cached=cached
            )

        encoding = self.encoding(call.request)
        if read.choices == 1:
            return run(0, encoding)
        return ChoicesRun(read.choices, encoding, run)


def _reseeded(request: LLMRequest, index: int) -> LLMRequest:
    """Return *request* with a seed of its own for each choice: the same one gives the same text."""
    if request.generation.seed is None:
        return request
    seed = request.generation.seed + index
    return evolve(request, generation=evolve(request.generation, seed=seed))
