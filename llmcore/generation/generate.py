"""`generate`: a response, after rounds of tool calls."""

from typing import Unpack

from llmcore.client.call_hints import with_awaited_hints
from llmcore.generation.loop import ResponseCheck, Run, StepKeeper
from llmcore.generation.results import GenerateResult
from llmcore.generation.settings import RunPlan, Settings, plan_of
from llmcore.generation.signatures import with_settings_listed
from llmcore.schema.model import Model


@with_awaited_hints("name the settings, such as system=...")
@with_settings_listed
async def generate(
    model: Model | str | None = None, prompt: str | None = None, **settings: Unpack[Settings]
) -> GenerateResult[None]:
    """Call *model*, run the tools it calls, send their results, and return the result.

    Give a `prompt`, `messages` or a complete `request`; the other arguments are the settings.
    Responses are streamed internally, so that proxies do not close the connection during a long
    one. Raises LLMError.
    """
    return await completed(plan_of("generate", model, prompt, settings))


async def completed(
    plan: RunPlan, check: ResponseCheck | None = None, keep: StepKeeper | None = None
) -> GenerateResult[None]:
    """Run *plan* to its end and return the result; *check* validates the response."""
    run = Run(plan, live=False, check=check, keep=keep)
    try:
        while await run.next_batch():
            pass
    finally:
        await run.aclose()
    return run.result()
