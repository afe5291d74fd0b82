"""A chat in the terminal that remembers the conversation and streams the answers."""

from llmcore import Message, sync

model = "openai:gpt-5.2"
history: list[Message] = []
while question := input("\n> "):
    with sync.stream(model, messages=[*history, Message.user(question)]) as answer:
        for text in answer.text_stream:
            print(text, end="", flush=True)
        history = [*answer.result().messages]
