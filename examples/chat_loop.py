"""A chat in the terminal that remembers the conversation and streams the responses."""

from llmcore import sync

chat = sync.Conversation()
while question := input("\n> "):
    for text in chat.stream("openai:gpt-5.2", question).text_stream:
        print(text, end="", flush=True)
