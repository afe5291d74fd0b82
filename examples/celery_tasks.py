"""Celery: a task that calls a model.

Run: `pip install 'celery[redis]'`, then `celery -A celery_tasks worker`. llmcore itself retries
after rate limits. The task is retried later only for errors that are retryable, after the delay
that the provider states.
"""

from typing import Any

from celery import Celery

from llmcore import LLMError, sync

app = Celery("tasks", broker="redis://localhost", backend="redis://localhost")
model = "openai:gpt-5.2"


@app.task(bind=True, max_retries=5)
def summarize(self: Any, text: str) -> str:
    try:
        return sync.generate(model, text, system="Summarize in one sentence.", timeout=120).text
    except LLMError as error:
        if not error.retryable:
            raise
        raise self.retry(exc=RuntimeError(str(error)), countdown=error.retry_after or 60) from error
