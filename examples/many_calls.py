"""200 calls, 20 at a time, with a progress bar; a restart continues where the last run stopped."""

from llmcore import Failure, sync

model = "openai:gpt-5.2"
prompts = [f"Translate {number} into French." for number in range(200)]
answers = sync.generate_many(model, prompts, concurrency=20, progress=True, resume_from="french.db")
failures = [answer for answer in answers if isinstance(answer, Failure)]
print(len(answers) - len(failures), "answers,", len(failures), "failures", *failures[:1])
