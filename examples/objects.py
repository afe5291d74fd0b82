"""Values of your own types: a dataclass, and a list of it."""

from dataclasses import dataclass

from llmcore import sync


@dataclass
class Person:
    name: str
    age: int


text = "Alice is 30 years old, and Bob is 7."
print(sync.generate_object("openai:gpt-5.2", f"Who is the eldest? {text}", schema=Person).output)
print(
    sync.generate_object("openai:gpt-5.2", f"List the people. {text}", schema=list[Person]).output
)
