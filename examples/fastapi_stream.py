"""FastAPI: a response streamed as text.

Run: `pip install fastapi uvicorn`, then `uvicorn fastapi_stream:app`.
"""

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from llmcore import stream

app = FastAPI()


@app.get("/ask")
async def ask(question: str) -> StreamingResponse:
    return StreamingResponse(stream("openai:gpt-5.2", question).text_stream)
