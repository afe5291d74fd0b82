"""With llm."""

import llm

chat = llm.get_model("gpt-5.2").conversation()
while question := input("\n> "):
    for text in chat.prompt(question):
        print(text, end="", flush=True)
