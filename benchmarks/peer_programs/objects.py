"""With pydantic-ai."""

from dataclasses import dataclass

from pydantic_ai import Agent


@dataclass
class Person:
    name: str
    age: int


text = "Alice is 30 years old, and Bob is 7."
print(Agent("openai:gpt-5.2", output_type=Person).run_sync(f"Who is the eldest? {text}").output)
print(Agent("openai:gpt-5.2", output_type=list[Person]).run_sync(f"List the people. {text}").output)
