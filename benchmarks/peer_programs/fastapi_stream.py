"""With LiteLLM."""

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from litellm import completion

app = FastAPI()


@app.get("/ask")
def ask(question: str) -> StreamingResponse:
    return StreamingResponse(
        chunk.choices[0].delta.content or ""
        for chunk in completion(
            model="gpt-5.2", messages=[{"role": "user", "content": question}], stream=True
        )
    )
