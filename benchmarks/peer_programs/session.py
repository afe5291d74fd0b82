"""With the OpenAI Agents SDK."""

from agents import Agent, Runner, SQLiteSession

print(
    Runner.run_sync(
        Agent(name="guide", model="gpt-5.2"),
        "Where is Oslo?",
        session=SQLiteSession("trip", "chats.db"),
    ).final_output
)
