"""A file of requests with a checkpoint: started again, it sends only those without a response."""

import asyncio
import json
from pathlib import Path

from llmcore import Failure, LLMError, LLMResponse, Result
from llmcore.generation.batch import finished, run_batch


def report(id_: str, result: Result[LLMResponse, LLMError]) -> None:
    """Print why a request failed."""
    if isinstance(result, Failure):
        print(id_, result.error)


questions = {"norway": "What is the capital of Norway?", "italy": "And of Italy?"}
lines = (json.dumps({"id": id_, "prompt": text}) for id_, text in questions.items())
Path("requests.jsonl").write_text("\n".join(lines))

model = "openai:gpt-5.2"
asyncio.run(run_batch("requests.jsonl", model=model, checkpoint="answers.db", on_result=report))
for id_, response in finished("answers.db"):
    print(id_, response.text)
