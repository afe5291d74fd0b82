"""All classes of errors, also in a run of one test file, which imports few modules."""

import llmcore.client.middleware.fallback
import llmcore.generation.approvals
import llmcore.generation.limits
import llmcore.sessions.contract.errors
import llmcore.sessions.store  # noqa: F401
from llmcore.schema.errors import LLMError, error_types

ERROR_KINDS: tuple[type[LLMError], ...] = tuple(
    sorted(
        (kind for kind in error_types().values() if kind.__module__.startswith("llmcore.")),
        key=lambda kind: kind.__name__,
    )
)
"""The library's own, by name; workers that read the tests in different orders have the same."""
