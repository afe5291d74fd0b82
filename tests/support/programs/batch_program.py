"""A program that runs a batch of sixty requests, and is killed while it does."""

import anyio

from llmcore import Client, OpenAICompatible, request
from llmcore.generation.batch import run_batch


def run_sixty(base_url: str, checkpoint: str) -> None:
    """Ask the server at *base_url* sixty questions, and keep the responses in *checkpoint*."""
    model = OpenAICompatible.configure(name="loop", base_url=base_url, api_key="k").model("m")
    requests = {f"q{n}": request(model=model, prompt=f"q{n}") for n in range(60)}

    async def run() -> None:
        async with Client() as client:
            await run_batch(requests, checkpoint=checkpoint, client=client, concurrency=4)

    anyio.run(run)
