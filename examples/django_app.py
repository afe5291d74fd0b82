"""Django: two views in a one-file project.

Run: `pip install django`, then `python django_app.py runserver`. The Sync API is safe in every
worker: threads share one event loop, and a forked worker process starts its own. Asynchronous
views can call `generate` and `stream` themselves.
"""

import sys
from collections.abc import Iterator
from secrets import token_hex

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.urls import path

from llmcore import LLMError, sync

model = "openai:gpt-5.2"


def ask(request: HttpRequest) -> HttpResponse:
    try:
        result = sync.generate(model, request.GET["question"], timeout=60)
    except LLMError as error:
        return JsonResponse({"error": str(error)}, status=502)
    return JsonResponse({"answer": result.text})


def ask_streaming(request: HttpRequest) -> StreamingHttpResponse:
    def chunks() -> Iterator[str]:
        with sync.stream(model, request.GET["question"], timeout=60) as events:
            yield from events.text_stream

    return StreamingHttpResponse(chunks(), content_type="text/plain; charset=utf-8")


urlpatterns = [path("ask", ask), path("ask-streaming", ask_streaming)]

if __name__ == "__main__":
    settings.configure(DEBUG=True, ROOT_URLCONF=__name__, SECRET_KEY=token_hex())
    execute_from_command_line(sys.argv)
