"""`generate`: one answer, after as many rounds of tools as it takes."""

from typing import Unpack

from llmcore.generation.loop import Run
from llmcore.generation.results import GenerateResult
from llmcore.generation.settings import Plan, Settings, signed
from llmcore.schema.model import Model


@signed
async def generate(
    model: Model | str, prompt: str | None = None, **settings: Unpack[Settings]
) -> GenerateResult:
    """Ask *model*, run the tools it calls, tell it their results, and return its answer.

    Give a `prompt` or `messages`; `Settings` lists everything else. Answers are streamed
    inside, so that nothing between here and the provider takes a long one for a dead one.
    Raises LLMError.
    """
    run = Run(Plan(model=model, prompt=prompt, **settings), live=False)
    try:
        while await run.next_batch():
            pass
    finally:
        await run.aclose()
    return run.result()
