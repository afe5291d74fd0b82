"""FastAPI: server-sent events, and a page that shows them.

Run: `pip install fastapi uvicorn`, then `uvicorn fastapi_app:app`. When the browser disconnects,
FastAPI cancels the generator, which closes the connection to the provider. One client serves all
requests.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, StreamingResponse

from llmcore import Client, LLMError, OpenAI, stream

client = Client()
model = OpenAI().responses("gpt-5.2")


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
    async with client:
        yield


app = FastAPI(lifespan=lifespan)


async def answer(question: str) -> AsyncIterator[str]:
    try:
        async with stream(model, question, client=client, timeout=120) as events:
            async for text in events.text_stream:
                yield f"data: {json.dumps({'text': text})}\n\n"
    except LLMError as error:
        yield f"event: failure\ndata: {json.dumps({'message': str(error)})}\n\n"
    yield "event: end\ndata: {}\n\n"


@app.get("/ask")
async def ask(question: str) -> StreamingResponse:
    return StreamingResponse(answer(question), media_type="text/event-stream")


@app.get("/")
async def page() -> HTMLResponse:
    return HTMLResponse("""<!doctype html><input id=q autofocus><pre id=a></pre><script>
q.onchange = () => {
  a.textContent = ""
  const events = new EventSource("/ask?question=" + encodeURIComponent(q.value))
  events.onmessage = event => a.textContent += JSON.parse(event.data).text
  events.addEventListener("end", () => events.close())
}</script>""")
