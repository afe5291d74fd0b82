"""A file of requests with a checkpoint: started again, it sends only those without a response."""

import asyncio
import json
from pathlib import Path

from llmcore.generation.batch import finished, run_batch

questions = {"norway": "What is the capital of Norway?", "italy": "And of Italy?"}
lines = (json.dumps({"id": id_, "prompt": text}) for id_, text in questions.items())
Path("requests.jsonl").write_text("\n".join(lines))

run = run_batch(
    "requests.jsonl",
    model="openai:gpt-5.2",
    checkpoint="answers.db",
    on_result=lambda id_, result: print(id_, result.map(lambda response: response.text)),
)
asyncio.run(run)
for id_, response in finished("answers.db"):
    print(id_, response.text)
