"""`generate`: one answer, after as many rounds of tools as it takes."""

from typing import Unpack

from llmcore.generation.loop import Run
from llmcore.generation.results import GenerateResult
from llmcore.generation.settings import RunPlan, Settings, plan_of, signed
from llmcore.schema.model import Model


@signed
async def generate(
    model: Model | str | None = None, prompt: str | None = None, **settings: Unpack[Settings]
) -> GenerateResult[None]:
    """Ask *model*, run the tools it calls, send their results, and return its answer.

    Give a `prompt`, `messages` or a whole `request`; `Settings` lists everything else. Answers
    are streamed inside, so that no proxy takes a long one for a dead connection. Raises
    LLMError.
    """
    return await completed(plan_of("generate", model, prompt, settings))


async def completed(plan: RunPlan) -> GenerateResult[None]:
    """Return the result of *plan*, run to its end."""
    run = Run(plan, live=False)
    try:
        while await run.next_batch():
            pass
    finally:
        await run.aclose()
    return run.result()
