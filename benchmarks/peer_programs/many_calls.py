"""With LangChain."""

from langchain.chat_models import init_chat_model
from langchain_community.cache import SQLiteCache
from rich.progress import track

model = init_chat_model("openai:gpt-5.2", cache=SQLiteCache("answers.db"))
prompts = [f"Translate {number} into French." for number in range(200)]
answers = dict(
    track(
        model.batch_as_completed(prompts, {"max_concurrency": 20}, return_exceptions=True),
        total=200,
    )
)
print(
    len(answers),
    "answers,",
    sum(isinstance(one, Exception) for one in answers.values()),
    "failures",
)
