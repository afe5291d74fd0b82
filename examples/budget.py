"""What an answer cost, and a budget after which nothing more is sent."""

from llmcore import Client, CostBudget, OpenAI, sync

client = Client(middleware=[CostBudget(usd=5.0)])
result = sync.generate(OpenAI().responses("gpt-5.2"), "Hi", client=client)
print(result.text, result.cost)
