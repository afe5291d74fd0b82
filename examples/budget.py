"""The cost of each model, and a budget after which nothing more is sent."""

from llmcore import Client, CostBudget, OpenAI, UsageHook, sync
from llmcore.client.middleware.usage_hook import CallUsage

bill: dict[str, float] = {}


def add(call: CallUsage) -> None:
    bill[call.model] = bill.get(call.model, 0) + (call.cost_usd or 0)


model = OpenAI.configure().responses("gpt-5.2")
client = Client(middleware=[UsageHook(add), CostBudget(usd=5.0)])
print(sync.generate(model, "Hi", client=client).text, dict(bill))
