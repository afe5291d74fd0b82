"""All classes of errors, also in a run of one test file, which imports few modules."""

import llmcore.cli.failures as cli
import llmcore.sessions.contract.errors as contract
from llmcore.client.middleware import fallback
from llmcore.generation import approvals, limits
from llmcore.schema import errors
from llmcore.sessions import store

_MODULES = frozenset(
    module.__name__ for module in (approvals, cli, contract, errors, fallback, limits, store)
)
ERROR_KINDS: tuple[type[errors.LLMError], ...] = tuple(
    sorted(
        (kind for kind in errors.error_types().values() if kind.__module__ in _MODULES),
        key=lambda kind: kind.__name__,
    )
)
"""Those of these modules, by name: workers that read the tests in different orders have the same,
whatever else they have imported."""
