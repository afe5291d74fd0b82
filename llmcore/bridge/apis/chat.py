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
from llmcore.routes.route import Route
from llmcore.schema.changed import changed
from llmcore.schema.request import LLMRequest


class ChatCompletions(Generation[ReadChatRequest]):
    """The calls of Chat Completions. Raises FrontError."""

    def __init__(self, service: Service) -> None:
        super().__init__(front, service, format_field="response_format")

    def relay_route(self, call: OperationRequest, chosen: ChosenModel) -> Route | None:
        """Return the route to pass a request on by; None for forms of another API in it, too."""
        route = super().relay_route(call, chosen)
        return None if route is None or has_foreign_forms(call.body) else route

    def translated(
        self, call: OperationRequest, chosen: ChosenModel, read: ReadChatRequest
    ) -> ResponseRun:
        """Return the response to a request, which may ask for several choices."""
        if read.choices == 1:
            return super().translated(call, chosen, read)

        def run(index: int, encoding: StreamEncoding) -> ResponseRun:
            choice = changed(read, request=_reseeded(read.request, index)) if index else read
            writer = ChatWriter(chosen.info, read, chosen.upstream)
            keep = self.keeping_calls(writer, call)
            return self.run(call, chosen, choice, writer, keep=keep, encoding=encoding)

        return ChoicesRun(read.choices, self.encoding(call.request), run)


def _reseeded(request: LLMRequest, index: int) -> LLMRequest:
    """Return *request* with a seed of its own for each choice: the same one gives the same text."""
    if request.generation.seed is None:
        return request
    seed = request.generation.seed + index
    return evolve(request, generation=evolve(request.generation, seed=seed))
