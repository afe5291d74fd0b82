"""Calls as users of other libraries write them: each error states what to write instead."""

import copy
import inspect
import logging
import pickle
import sys
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

import llmcore
from llmcore import DocumentPart, ImagePart, Message, OpenAI, request, sync
from llmcore.client.call_hints import with_awaited_hints
from llmcore.client.http.options import HttpOptions
from llmcore.client.middleware.balance import Balance
from llmcore.client.middleware.concurrency_limit import ConcurrencyLimit
from llmcore.client.middleware.context import trimmed
from llmcore.client.middleware.telemetry import Telemetry
from llmcore.generation.abort import AbortController
from llmcore.generation.batch import requests_in
from llmcore.generation.retry import retry
from llmcore.inspector.files import read_document
from llmcore.mcp import HttpServer, McpServers
from llmcore.schema.codec import from_json
from llmcore.schema.content import ToolCallPart
from llmcore.schema.embeddings import EmbeddingResponse
from llmcore.schema.errors import LLMError
from llmcore.schema.hints import Hinted, with_call_hints
from llmcore.schema.options import ResponseFormat
from llmcore.schema.tools import HostedTool
from llmcore.sessions.conversion import to_entries, to_messages
from llmcore.sessions.memory_store import MemoryStore
from llmcore.sessions.store import StoredEntry, utc_now
from llmcore.testing import CassetteError, FakeModel, Player, call, load

MODEL = "openai:gpt-5.2"


def _double(number: int) -> int:
    return 2 * number


def _generate(*args: Any, **settings: Any) -> object:
    fake = FakeModel("Hi")
    return sync.generate(fake.model, *args, client=fake.client, **settings)


def _generate_many(prompts: Any, **settings: Any) -> object:
    fake = FakeModel("Hi")
    return sync.generate_many(fake.model, prompts, client=fake.client, **settings)


def _run_batch(requests: Any) -> object:
    return sync.run_batch(requests, model=_FAKE.model, client=_FAKE.client)


def _read_part(part: Any) -> object:
    model = OpenAI(api_key="k").chat("m")
    asked = request(model=model, messages=[Message.user(part)])
    return llmcore.Client(environ={}).prepare(asked).unwrap()


async def _unawaited() -> str:
    return "x.db"


async def _tokens() -> AsyncIterator[str]:
    yield "Hi"


@dataclass
class _Tree:
    child: "Missing"  # type: ignore[name-defined]  # noqa: F821  (the mistake)


def _closed(stream: Any) -> Any:
    with stream:
        return stream


_FAKE = FakeModel("Hi")
NAMES = {
    **{name: getattr(llmcore, name) for name in llmcore.__all__},
    "llmcore": llmcore,
    "sync": sync,
    "FakeModel": FakeModel,
    "Player": Player,
    "retry": retry,
    "Balance": Balance,
    "ConcurrencyLimit": ConcurrencyLimit,
    "ResponseFormat": ResponseFormat,
    "MODEL": MODEL,
    "Tree": _Tree,
    "HttpOptions": HttpOptions,
    "EMBEDDING": "openai:text-embedding-3-small",
    "BLOCKING": sync.Client(environ={}),
    "RESULT": _generate("Hi"),
    "_generate": _generate,
    "_double": _double,
    "_FAKE": _FAKE,
    "copy": copy,
    "pickle": pickle,
    "closed": _closed,
    "_with_part": lambda part: {"role": "user", "content": [part]},
    "EVENTS": list(sync.stream(_FAKE.model, "Hi", client=_FAKE.client)),
    "NONE": llmcore.Client(environ={}),
    "OPENAI": llmcore.Client.from_env(environ={"OPENAI_API_KEY": "sk-1"}),
    "_generate_many": _generate_many,
    "_run_batch": _run_batch,
    "_read_part": _read_part,
    "call": call,
    "unawaited": _unawaited,
    "tokens": _tokens,
    "HostedTool": HostedTool,
    "HttpServer": HttpServer,
    "McpServers": McpServers,
    "ABORT": AbortController(),
    "trimmed": trimmed,
    "from_json": from_json,
    "PART": ToolCallPart("c1", "look", {}),
    "Telemetry": Telemetry,
    "Thread": threading.Thread,
    "MEMORY": MemoryStore(),
    "StoredEntry": StoredEntry,
    "to_messages": to_messages,
    "ENTRY": to_entries([Message.user("Hi")], run_id="trip", timestamp=utc_now())[0],
    "load": load,
    "requests_in": requests_in,
    "read_document": read_document,
    "ERROR": LLMError("no", status_code=400),
    "VECTORS": EmbeddingResponse(provider="openai", model="m", embeddings=((0.5,),)),
}

WRONG = {
    # what takes names
    "ImagePart('x.png')": r"write ImagePart.of\(...\)",
    "AudioPart(b'')": r"write AudioPart.of\(...\)",
    "CostBudget(1.0)": r"write CostBudget\(usd=...\)",
    "Client('openai')": r"Client.from_env\(\)",
    "sync.Client('openai')": r"Client.from_env\(\)",
    "OpenAI('sk-1')": r"write OpenAI\(api_key=...\)",
    "LLMRequest('m', [])": r"write request\(model=..., prompt=...\)",
    "request(MODEL, 'Hi')": r"request\(model=..., prompt=...\)",
    "RetryPolicy(3)": r"RetryPolicy\(max_retries=...\)",
    "Timeouts(30)": r"write Timeouts\(total=...\)",
    "_generate('Hi', 'Be brief.')": "such as system=...",
    "sync.generate_object(MODEL, 'Hi', dict)": (
        r"only 2 without their names: write generate_object\(model, prompt, schema=...\)"
    ),
    "BLOCKING.generate(MODEL, 'Hi')": r"llmcore.generate\(model, prompt, client=client\)",
    "BLOCKING.stream(MODEL, 'Hi')": r"llmcore.generate\(model, prompt, client=client\)",
    "Client(environ={}).embed(MODEL, 'Hi').send(None)": r"llmcore.embed\(model, text",
    # names of other libraries
    "ImagePart(image_url='x')": "did you mean 'url'",
    "CostBudget(max_usd=1)": "did you mean 'usd'",
    "RateLimiter(rpm=1)": "did you mean 'requests_per_minute'",
    "RetryPolicy(retries=1)": "did you mean 'max_retries'",
    "OpenAI(host='x')": "did you mean 'base_url'",
    "OpenAI(timeout=1)": "setting of calls",
    "OpenAI(model='m')": r"model\('ID'\)",
    "Client(api_key='x')": "configure the provider",
    "Tool('f', func=_double)": "did you mean 'execute'",
    "TextPart(content='Hi')": "did you mean 'text'",
    "LLMRequest(model='m', messages=[], temperature=1)": r"write request\(temperature=...\)",
    "list(llmcore.stream(MODEL, 'Hi'))": r"async for.*llmcore.sync.stream",
    "list(llmcore.stream(MODEL, 'Hi').text_stream)": r"async for.*llmcore.sync.stream",
    "sync.generate_object(MODEL, 'Hi', response_model=dict)": "did you mean 'schema'",
    "_generate('Hi', tools=[dict])": "got the class dict",
    "_generate('Hi', tools=[Tool])": "got the class Tool",
    "_generate('Hi', history=[])": "did you mean 'messages'",
    "_generate('Hi', images=['x'])": "ImagePart.of",
    "_generate('Hi', max_turns=1)": "did you mean 'max_tool_rounds'",
    "_generate('Hi', output_type=int)": "generate_object",
    "_generate('Hi', headers={})": "HttpOverlay",
    "TextPart('Hi', zzz=1)": "it takes text, citations",
    # values that are not lists
    "list(RESULT)": r"the text is `\.text`.*; its JSON is",
    "list(llmcore.Success(1))": r"match it with `case Success\(value\)`",
    "list(closed(sync.stream(_FAKE.model, 'Hi', client=_FAKE.client)))": "read it in its block",
    "closed(sync.stream(_FAKE.model, 'Hi', client=_FAKE.client)).result()": "read it in its block",
    # values of another type, in settings
    "_generate('Hi', limits={})": r"a RunLimits, such as RunLimits\(tokens=...\), not a dict",
    "_generate('Hi', abort_signal=ABORT)": r"its \.signal, not an AbortController",
    "_generate('Hi', tools=[McpServers({})])": "`async with McpServers",
    "_generate('Hi', tools=[_double, _double])": "the same name: _double: rename one of them",
    "sync.generate(request(model=MODEL, prompt='Hi'))": "is a request: give it by name, request=",
    "Tool('f', 'look', {'city': 'string'}, _double)": "write {'type': 'object', 'properties'",
    "_run_batch(['Hi'])": r"got a str \(generate_many takes prompts alone\)",
    "_run_batch({'a': 'Hi'})": "pairs of an id and a request.* got a tuple",
    "_run_batch([('a', 'Hi')])": "pairs of an id and a request",
    "_read_part(ImagePart.of('aGk=' * 99))": r"\(396 characters\).*base64.b64decode",
    # what is not copied
    "copy.deepcopy(llmcore.Conversation())": r"messages=\[\*chat.messages",
    "copy.deepcopy(sync.Conversation())": r"messages=\[\*chat.messages",
    "pickle.dumps(sync.Conversation())": "or open its file again",
    # names of methods' arguments
    "Message.user(content='Hi')": r"give it without a name: Message.user\('...'\)",
    "Message.system(text='Hi')": r"Message.system\(\) got .* 'text': give it without a name",
    "Message.assistant(tool_calls=[])": r"give its parts: Message.assistant\('...', part\)",
    "Message.tool(id='c1', content='x')": "did you mean 'tool_call_id'",
    "ToolChoice.required('look')": r"write ToolChoice.named\(...\)",
    "ToolChoice.named()": "needs tool_name",
    "ResponseFormat.json_schema('person', {})": r"json_schema\(schema, name=...\)",
    "DocumentPart.of('x.pdf', name='y')": r"DocumentPart.of\(\) got .*DocumentPart\(path=...",
    "ImagePart.of(url='x')": "give it without a name",
    "Client.from_env('openai')": "leave the arguments out",
    "Client.from_env(api_key='x')": r"Client\(providers=\{'openai': OpenAI\(api_key=...\)\}",
    "Client.from_env(timeout=5)": r"timeouts=Timeouts\(total=...\)",
    "llmcore.list_models(capability='vision')": "model.supports_tools",
    "_generate(content='Hi')": "did you mean 'prompt'",
    "_generate(text='Hi')": "the prompt is prompt=",
    "sync.stream(MODEL, 'Hi', on_token=print)": "iterate over the `text_stream`",
    # what is missing
    "Message('Hi')": r"write Message\(role=..., content=...\)",
    "CostBudget()": r"needs usd: write CostBudget\(usd=...\)",
    # values of another type
    "CostBudget(usd='1')": "US dollars",
    "ConcurrencyLimit('5')": "a number of calls",
    "RateLimiter(requests_per_minute='5')": "a number",
    "Timeouts(connect='x')": "give seconds",
    "Client(timeouts=30)": r"Timeouts\(total=60\)",
    "Client(middleware=CostBudget(usd=1))": r"\[CostBudget\(...\)\]",
    "Client(middleware=Fallback)": r"\[Fallback\(...\)\]",
    "Client(providers={'openai': OpenAI})": "must be configured",
    "Fallback([MODEL])": "one by one",
    "ResponseCache('x.db')": "SqliteCache",
    "UsageHook(5)": "must be a function",
    "Conversation(MODEL)": "Conversation.open",
    "sync.Conversation('x.db')": "sync.Conversation.open",
    "TextPart(5)": "must be text",
    "_generate('Hi', system=5)": "system must be text",
    "Tool('f', _double)": "give text",
    "ResponseFormat('json_object')": "'text', 'json', 'json_schema'",
    "_generate('Hi', response_format=dict)": "generate_object",
    "sync.generate(FakeModel('Hi'), 'Hi')": "give its model",
    "sync.generate(OpenAI(api_key='k').chat, 'Hi')": r"such as OpenAI\(...\).chat\('ID'\)",
    "_generate('Hi', tools=_double)": r"not a function: write tools=\[...\]",
    "_generate('Hi', tools='look')": r"not a str: write tools=\[...\]",
    "sync.generate(FakeModel('Hi').model, 'Hi')": "write client=fake.client",
    "llmcore.set_default_client(Client)": r"not Client: write Client.from_env\(\)",
    "Player('x.json')": r"Player\(load\('FILE'\)\)",
    "retry(3).send(None)": "takes a function",
    # prompts
    "_generate('  \\n')": "the prompt is empty",
    "_generate([{'role': 'user', 'content': 'Hi'}])": "give it as messages=",
    "_generate_many('Hi')": "takes a single one",
    "_generate_many([Message.user('Hi')])": "list of messages",
    "_generate_many([5])": r"prompts\[0\] is an int; give a text or a list of messages",
    "_generate_many(['a', float('nan')])": r"prompts\[1\] is a float",
    "_generate(float('nan'))": "prompt must be text, not a float",
    "_generate(['a', 'b'])": "several prompts to generate_many",
    "_generate(b'Hi')": "prompt must be text, not a bytes$",
    "_generate(llmcore.ImagePart(path='a.png'))": r"messages=\[Message.user",
    "Message.user(5)": r"got an int: a file is ImagePart.of\(",
    "Message.user(Message)": "got the class Message",
    "_generate('Hi', response_format=5)": "not an int",
    "_generate('Hi', tool_choice={'name': 'f'})": "ToolChoice.named",
    "sync.generate('Why is the sky blue?')": r"write generate\(model, prompt\)",
    "sync.generate('Why?')": r"write generate\(model, prompt\)",
    "sync.Conversation().generate('And then?')": r"or generate\(prompt=...\)",
    "sync.stream('Why is the sky blue?')": r"write stream\(model, prompt\)",
    "_generate('Hi', deps=1)": "did you mean 'tool_context'",
    "_generate('Hi', model_settings={})": "one by one",
    "_generate('Hi', mock_response='Hi')": "FakeModel",
    "_generate_many(['Hi'], max_workers=3)": "did you mean 'concurrency'",
    "_generate_many(['Hi'], workers=3)": "did you mean 'concurrency'",
    "_generate_many(['Hi'], resume='a.db')": "did you mean 'resume_from'",
    "_generate_many(['Hi'], checkpoint='a.db')": "did you mean 'resume_from'",
    "_generate('Hi', json=True)": "response_format='json'",
    "_generate('Hi', on_text=print)": "llmcore.stream",
    "sync.generate_object(MODEL, 'Hi', output=dict)": "did you mean 'schema'",
    "OpenAI(proxy='http://x')": r"Client\(http=HttpOptions\(proxy=..., ca_file=...\)\)",
    "OpenAI(verify=False)": r"Client\(http=HttpOptions\(proxy=..., ca_file=...\)\)",
    "Client(proxy='http://x')": r"write http=HttpOptions\(...\), of llmcore.client.http.options",
    "Client(retries=3)": r"generate\(model, prompt, ",
    "Client(cache=True)": r"middleware=\[ResponseCache\(\)\]",
    "HttpOptions(ssl_verify=False)": "ca_file",
    "HttpOptions(timeout=3)": r"Client\(timeouts=Timeouts\(...\)\)",
    "RateLimiter(rps=5)": "60 times as much",
    "ResponseCache(max_age=5)": "did you mean 'ttl_s'",
    "CostBudget(usd=1, per='day')": r"\.reset\(\)",
    "call('look_up', city='Oslo')": "call.* it takes name, arguments, call_id",
    "_generate('Hi', tools=[5])": "connected McpServers; got an int",
    "sync.embed('Why is it blue?', MODEL)": "the model comes first, such as 'openai:gpt-5.2'",
    "sync.generate('', 'Hi')": "model is empty: give a model",
    "tool(requires_approval=True)": "did you mean 'needs_approval'",
    "_generate('Hi', metadata='x')": "must map strings to strings; got a str",
    "_generate('Hi', provider_options='x')": "provider_options must be a dict by provider",
    "_generate('Hi', provider_options={'openai': 'x'})": r"provider_options\['openai'\] must be",
    "_generate('Hi', provider_options={'seed': 1})": r"not an int: write \{PROVIDER: ",
    "sync.rerank('cohere:rerank-v3.5', 'Hi', 'a document')": "documents is a list of texts",
    "sync.embed('openai:text-embedding-3-small', ['Hi'])": "`embed_many` takes several",
    "sync.Conversation(system='Be brief.')": r"first run: chat.generate\(model, prompt, system",
    "sync.generate('Hi', model=MODEL)": r"'model' twice: write generate\(model, prompt\)",
    "_generate('Hi', rpm=5)": r"RateLimiter\(requests_per_minute=...\)",
    "_generate('Hi', tool_timeout=5)": r"@tool\(timeout=...\)",
    "_generate('Hi', num_predict=5)": "did you mean 'max_tokens'",
    "_generate('Hi', system_instruction='x')": "did you mean 'system'",
    "_generate('Hi', generation_config={})": "one by one",
    "_generate('Hi', function_call='auto')": "did you mean 'tool_choice'",
    "_generate('Hi', cache_control={})": "did you mean 'cache'",
    "_generate('Hi', custom_llm_provider='openai')": "did you mean 'provider'",
    "_generate('Hi', thinking_budget=1024)": r"ReasoningOptions\(budget_tokens",
    "_generate('Hi', previous_response_id='r')": r"\*result.messages",
    "_generate('Hi', json_mode=True)": "response_format='json'",
    "_generate('Hi', response_schema={})": "generate_object",
    "_generate('Hi', streaming=True)": "call llmcore.stream",
    "_generate('Hi', stop_words=['x'])": "did you mean 'stop'",
    "_generate('Hi', retry=3)": r"write max_retries=3, or retry_policy=RetryPolicy\(",
    "_generate('Hi', session_id='x')": "Conversation",
    "sync.run_batch({}, resume_from='x.db')": "did you mean 'checkpoint'",
    "_generate('Hi', max_budget=1)": "CostBudget",
    "_generate('Hi', http_client=1)": "HttpOptions",
    "_generate('Hi', min_p=0.1)": "provider_options",
    "_generate('Hi', run_name='x')": "metadata=",
    "_generate('Hi', topP=0.5)": "did you mean 'top_p'",
    "_generate('Hi', maxOutputTokens=5)": "did you mean 'max_tokens'",
    "_generate('Hi', thinking_config={})": "did you mean 'reasoning'",
    "_generate('Hi', budget_tokens=1024)": r"ReasoningOptions\(budget_tokens",
    "_generate('Hi', max_tool_calls=3)": r"RunLimits\(tool_calls",
    "_generate('Hi', candidate_count=2)": "once for each response",
    "_generate('Hi', conversation='x')": "Conversation",
    "_generate('Hi', web_search_options={})": r"HostedTool.web_search\(\)",
    "_generate('Hi', min_tokens=5)": "provider_options",
    "_generate('Hi', keep_alive='5m')": "'keep_alive': write provider_options",
    # settings of functions that do not generate text
    "sync.embed(EMBEDDING, 'Hi', zzz=1)": r"embed\(\) got .* 'zzz': its settings are provider, ",
    "sync.embed(EMBEDDING, 'Hi', timeouts=5)": "did you mean 'timeout'",
    "sync.embed(EMBEDDING, 'Hi', timeout='5')": r"seconds or Timeouts\(total=...\), not a str",
    "sync.embed_many(EMBEDDING, ['Hi'], dimension=5)": r"embed_many\(\) .* 'dimensions'",
    "sync.rerank('cohere:rerank-v3.5', 'Hi', [], api_key='x')": r"rerank\(\).*configure the prov",
    "sync.generate_image(MODEL, 'Hi', sizes='1K')": r"generate_image\(\) .* 'size'",
    "sync.transcribe(MODEL, b'ID3', num_retries=1)": r"transcribe\(\) .* 'max_retries'",
    "sync.generate_speech(MODEL, 'Hi', voices='x')": r"generate_speech\(\) .* 'voice'",
    "sync.generate_speech(MODEL, 'Hi', response_format='mp3')": "did you mean 'output_format'",
    "sync.stream_speech(MODEL, 'Hi', extra_body={})": r"stream_speech\(\) .*provider_options",
    # values of another type, in providers, clients and conversations
    "OpenAI(base_url=5)": "base_url must be text, not an int",
    "OpenAI(headers=5)": "headers must be a dict, not an int",
    "OpenAI(query='a=1')": "query must be a dict, not a str",
    "OpenAI(defaults={'timeouts': 5})": r"defaults must be RouteDefaults\(...\), not a dict",
    "OpenAI().chat(5)": "a model's id is text, not an int",
    "HttpOptions(proxy=5)": "proxy must be a URL, not an int",
    "Client(middleware=[None])": r"a middleware is a function or a value .*, not None",
    "Client(middleware=[SqliteCache('a.db')])": r"write ResponseCache\(SqliteCache",
    "sync.Conversation.open({}, 'trip')": r"not a dict: write Conversation.open\(path, run_id\)",
    "sync.Conversation.open(':memory:', 5)": "a session's id is text, not an int",
    "_generate('Hi', provider_options={'openai': {'a': {1}}})": r"options\.openai\.a is a set",
    "sync.generate_object(MODEL, 'Hi', schema=Tree)": "Tree cannot be read: name .Missing. is",
    # arguments of another kind than their annotations state
    "Anthropic(betas=5)": r"Anthropic\(\): betas must be a list of texts, not an int",
    "Anthropic(betas=[5])": r"betas must be a list of texts, not a list with an int",
    "Anthropic(version=5)": r"Anthropic\(\): version must be text, not an int",
    "AmazonBedrock(region=b'us')": "region must be text or None, not a bytes",
    "llmcore.Azure(resource_name='x', query='a=1')": "query must be a dict or None, not a str",
    "llmcore.Local(threads='2')": r"Local\(\): threads must be a whole number, not a str",
    "Client(models=5)": "models must be a list, not an int",
    "Client(environ='A=1')": "environ must be a dict or None, not a str",
    "CostBudget(usd=1, price=0.5)": "price must be a function, not a float",
    "llmcore.CallLog(5)": "logger must be a Logger or text, not an int",
    "Fallback(MODEL, for_long_requests=5)": "for_long_requests must be a list, not an int",
    "RetryPolicy(retry_if=True)": "retry_if must be a function or None, not a bool",
    "SqliteCache(5)": "path must be text or a path, not an int",
    "SqliteCache(unawaited())": "not a coroutine: await it first",
    "ResponseCache(ttl_s='60')": "ttl_s must be a number or None, not a str",
    "llmcore.SQLiteStore(None)": "path must be text or a path, not None",
    "llmcore.collect(None)": r"collect\(\): events must be a list, not None",
    "llmcore.collect(tokens())": "events must be a list, not an async_generator",
    "HostedTool.web_search(allowed_domains=5)": "allowed_domains must be a list of texts",
    "FakeModel([0.5, 'Hi'])": r"made of texts, .*, not a float: write Delay\(0.5\) for a pause",
    "FakeModel(ValueError('no'))": r"not a ValueError: write LLMError\(",
    "FakeModel(RESULT.messages[-1])": r"not a Message: give its parts, `\[\*message.content\]`",
    "FakeModel(RESULT.response)": r"`\[\*response.message.content\]`",
    "FakeModel({'content': 'Hi'})": "not a dict$",
    "HttpServer(5)": r"HttpServer\(\): url must be text, not an int",
    "trimmed('Hi', max_tokens=5)": "messages must be a list, not a str",
    "NONE.upload_file(5).send(None)": r"Client.upload_file\(\): source .*a path, not an int",
    "_generate('Hi', approvals=True)": "approvals must be a dict, such as",
    "_generate_many(['Hi'], concurrency='5')": "concurrency must be a whole number, not a str",
    "sync.embed_many(EMBEDDING, None)": r"embed_many\(\): texts must be a list of texts, not None",
    "llmcore.list_models(models='abc')": r"list_models\(\): models must be a list, not a str",
    # types
    "from_json(5, {})": r"from_json\(\): the type comes first, such as Message; got an int",
    "from_json({}, Message)": "got a dict",
    "from_json(Message.user('Hi'), {})": "got a Message",
    "from_json(Thread, {})": "the fields of Thread are unknown: give one of llmcore's, a dataclass",
    "sync.generate_object(MODEL, 'Hi', schema=[int])": r"schema is a list: write list\[A\]",
    "Telemetry(tracer_provider=5)": "needs a TracerProvider of OpenTelemetry, not an int",
    "Telemetry(meter_provider=OpenAI)": "needs a MeterProvider .*, not the class OpenAI",
    "Client(providers={5: OpenAI()})": "providers must be a dict by id",
    "_generate('Hi', approvals={1: True})": "approvals decides about 1, which are not pending",
    # what is stored
    "MEMORY.append('trip', 5).send(None)": "entries is a list of MessageEntry values, not an int",
    "MEMORY.append('trip', [Message.user('Hi')]).send(None)": r"write to_entries\(messages",
    "to_messages([Message.user('Hi')])": "values, not a Message",
    "to_messages([StoredEntry(1, ENTRY)])": r"write \[stored.entry for stored in ...\]",
    "to_messages(ENTRY)": r"not a MessageEntry: write \[entry\]",
    # paths that no file can have
    "load('a\\0.json')": "holds no cassette: .*null",
    "sync.Conversation.open('a\\0.db', 'trip')": "not a path of a file: embedded null",
    "list(requests_in('a\\0'))": "cannot read a.: embedded null",
    "read_document('a\\0.json')": "cannot read .*: embedded null",
    # methods of values
    "OpenAI.chat('gpt-5.2')": r"chat\(\) was called on a class: write CLASS\(...\).chat\(...\)",
    "OpenAI.responses()": r"write CLASS\(...\).responses\(...\)",
    "Balance([(_FAKE.model, 3)])": r"give the models one by one: Balance\(\(MODEL, 3\)",
    # ids of models
    **{
        f"{provider}.{method}('')": "the model's id is empty"
        for provider, method in {
            "OpenAI()": "responses",
            "OpenAI(api_key='k')": "chat",
            "Anthropic()": "model",
            "AmazonBedrock(region='us-east-1')": "messages",
            "Ollama()": "chat",
        }.items()
    },
    "OpenAI().responses(' gpt-5.2')": "begins or ends with whitespace: write 'gpt-5.2'",
    "OpenAI().model('gpt-5.2\\n')": "begins or ends with whitespace: write 'gpt-5.2'",
    "AmazonBedrock(region='us-east-1').messages(None)": "model_id must be text, not None",
    "sync.generate(' openai:gpt-5.2', 'Hi', client=OPENAI)": "whitespace: write 'openai:gpt-5.2'",
    "sync.generate('openai: gpt-5.2', 'Hi', client=OPENAI)": "whitespace: write 'gpt-5.2'",
    "sync.embed('openai:m ', 'Hi', client=OPENAI)": "whitespace: write 'openai:m'",
    # what is missing
    "Conversation.open('x.db').send(None)": r"needs run_id: write .*open\(store=..., run_id=...\)",
    "sync.Conversation.open('x.db')": r"needs run_id: write .*open\(store=..., run_id=...\)",
    # messages as dicts of other APIs
    "_generate(messages=RESULT)": "give its messages",
    "_generate(messages=[RESULT])": "give its messages",
    "_generate(messages=5)": "must be Message values",
    "_generate(messages=[{'role': 'user'}])": "needs content",
    "_generate(messages=[{'role': 'human', 'content': 'Hi'}])": "write role 'user'",
    "_generate(messages=[{'type': 'ai', 'content': 'Hi'}])": "write role 'assistant'",
    "_generate(messages=[{'role': 'model', 'parts': []}])": "write role 'assistant'",
    "_generate(messages=[{'role': 'tool', 'content': '4'}])": "needs tool_call_id",
    "_generate(messages=[{'type': 'function_call_output', 'output': '4'}])": '"role": "tool"',
    "_generate(messages=[_with_part({'type': 'input_text', 'text': 'Hi'})])": '"type": "text"',
    "_generate(messages=[_with_part({'text': 'Hi'})])": '"type": "text"',
    "_generate(messages=[_with_part({'type': 'image', 'image': 'x'})])": "ImagePart.of",
    "_generate(messages=[_with_part({'type': 'image_url', 'image_url': 'x'})])": "ImagePart.of",
    "_generate(messages=[_with_part({'type': 'input_file', 'file_id': 'x'})])": "DocumentPart.of",
    "_generate(messages=[_with_part({'type': 'tool_result'})])": '"role": "tool"',
    "_generate(messages=[_with_part('Hi')])": r"Message.user\(...\)",
    "_generate(messages=[_with_part({'type': 'image_url', 'image_url': {'url': '/etc/a'}})])": (
        r"local path.* write ImagePart.of\(path\)"
    ),
    "_generate(messages=[_with_part({'type': 'file', 'file': {'file_data': '~/a.pdf'}})])": (
        "local path"
    ),
    "Message('user', [{'type': 'text', 'text': 'Hi'}])": "the whole message as a dict",
    "ImagePart(data='aGk=', media_type='image/png')": "base64.b64decode",
    # tools as dicts of other APIs
    "_generate('Hi', tools={'type': 'function'})": r"write tools=\[...\]",
    "_generate('Hi', tools=[{'name': 'f', 'input_schema': {}}])": 'in place of "input_schema"',
    "_generate('Hi', tools=[{'name': 'f', 'parameters': {}}])": '"type" is missing',
    "_generate('Hi', tools=[{'function_declarations': []}])": "one for each",
    "_generate('Hi', tools=[{'type': 'web_search_20250305'}])": "HostedTool",
    "_generate('Hi', tool_choice='any')": "write 'required'",
    "_generate('Hi', tool_choice={'type': 'any'})": "write 'required'",
    "sync.generate_object(MODEL, 'Hi', schema={'name': 'string'})": "'name': {'type': 'string'}",
    # models as other libraries name them
    **{
        f"sync.generate({name!r}, 'Hi', client=NONE)": f"Write {meant!r}"
        for name, meant in {
            "openrouter/anthropic/claude-sonnet-4-5": "openrouter:anthropic/claude-sonnet-4-5",
            "gemini/gemini-3-flash-preview": "google:gemini-3-flash-preview",
            "google-gla:gemini-3-flash-preview": "google:gemini-3-flash-preview",
            "google_genai:gemini-3-flash-preview": "google:gemini-3-flash-preview",
            "vertex_ai/gemini-3-flash-preview": "vertex:gemini-3-flash-preview",
            "azure/gpt-4o": "azure:gpt-4o",
            "together_ai/meta-llama/Llama-3-70b": "together:meta-llama/Llama-3-70b",
            "ollama_chat/llama3.2": "ollama:llama3.2",
        }.items()
    },
    "sync.generate('gemini/gemini-3-x', 'Hi', client=OPENAI)": "Write 'google:gemini-3-x'",
    "sync.generate('cohere/command-r', 'Hi', client=NONE)": "set OPENROUTER_API_KEY",
    # providers
    "OpenAICompatible('http://x')": r"write OpenAICompatible\(name=..., base_url=...\)",
    "Anthropic(auth_token='x')": r"auth=Auth.bearer\(...\)",
    "Google(vertexai=True)": r"Vertex\(project=..., location=...\)",
    "AmazonBedrock(aws_access_key_id='x')": "profile=...",
    "OpenAI().chat(model='m')": "did you mean 'model_id'",
    "OpenAI().chat('m', temperature=0)": "the model's id alone",
    "Ollama().chat('m', messages=[])": "the model's id alone",
    "OpenAI().chat()": r"write OpenAI.chat\(model_id=...\)",
    # results are not dicts
    "RESULT['choices']": "the text is `.text`",
    "RESULT['text']": "write `.text`",
    "RESULT[0]": "have attributes instead of keys",
    "dict(RESULT)": r"its JSON is `to_json\(result\)`",
    "RESULT.usage['total_tokens']": "write `.total_tokens`",
    "RESULT.response['choices']": "the text is `.text`",
    "RESULT.messages[-1]['content']": "write `.content`",
    "EVENTS[0]['delta']": "text_stream",
    "RESULT.messages[-1].content[0]['text']": "write `.text`",
    "PART['function']": "write `.name` and `.arguments`",
}


WRONG_NAMES = {
    # of classes
    "Message.human": r"write Message.user\(...\)",
    "Message.ai": r"write Message.assistant\(...\)",
    "Message.from_string": r"write Message.user\(...\)",
    "Message.from_dict": "give the dict itself",
    "Message.assistent": "did you mean 'assistant'",
    "ImagePart.from_file": r"write .of\(...\)",
    "DocumentPart.from_url": r"write .of\(...\)",
    # of providers and clients
    "OpenAI().chat.completions.create": r"no OpenAI\(\).chat.completions: write llmcore.generate",
    "OpenAI().responses.create()": r"no OpenAI\(\).responses.create: write llmcore.generate",
    "OpenAI().completions": r"write llmcore.generate\(provider.model\('ID'\)",
    "OpenAI().embeddings": "write llmcore.embed",
    "OpenAI().chat.create()": "write llmcore.generate",
    "OpenAI().responses.parse()": "write llmcore.generate",
    "ResponseFormat.schema({})": r"write ResponseFormat.json_schema\(schema\)",
    "OpenAI().beta": "without `beta`",
    "OpenAI().audio": "transcribe.* of llmcore.generation.media",
    "OpenAI().images": "generate_image.* of llmcore.generation.media",
    "OpenAI().files": "upload_file",
    "OpenAI().with_options": "timeout=",
    "llmcore.Google().chats": "Conversation",
    "llmcore.Google().caches": "CachedContents",
    "llmcore.Google().aio": "awaited",
    "OpenAI().batches": "Batches",
    "llmcore.Google().GenerativeModel": r"model\('ID'\)",
    "OpenAI().chat('m').predict": "model.generate",
    "OpenAI().models": "client.list_models",
    "Anthropic().messages": r"write llmcore.generate\(provider.model\('ID'\)",
    "Client(environ={}).completions": "call llmcore.generate",
    "Client(environ={}).ask": "call llmcore.generate",
    "Client(environ={}).embeddings": "call llmcore.embed",
    "BLOCKING.chat": "call llmcore.sync.generate",
    "OpenAI().chat('m').invoke": "model.generate",
    "OpenAI().chat('m').bind_tools": "tools=",
    "OpenAI().chat('m').with_structured_output": "generate_object",
    # of results
    "RESULT.request_id": "`.response.request_id`",
    "RESULT.sources": "`.response.sources`",
    "RESULT.images": "`.response.message.content`",
    "RESULT.total_cost": "write `.cost`",
    "RESULT.warnings": "write `.diagnostics`",
    "RESULT.ok": "failures raise an error",
    "sync.stream(MODEL, 'Hi').cancel": "close it",
    "sync.stream(MODEL, 'Hi').events": "iterate over the stream itself",
    "llmcore.tool(_double).run": "call it like the function",
    "llmcore.tool(_double).schema": "write `.parameters`",
    "RESULT.message": "`.response.message`",
    "RESULT.all_messages": "`.messages`",
    "RESULT.content": "`.text`",
    "RESULT.final_output": "the text is `.text`",
    "RESULT.usage_metadata": "write `.usage`",
    "RESULT.response.usage_metadata": "write `.usage`",
    "RESULT.response.content": "`.text`",
    "RESULT.usage.total": "`.total_tokens`",
    "RESULT.usage.prompt_tokens": "`.input_tokens`",
    "RESULT.usage.total_cost": "`.cost` of the result",
    "RESULT.total_tokens": "`.usage.total_tokens`",
    "RESULT.stop_reason": "`.finish_reason`",
    "RESULT.function_call": "`.tool_calls`",
    "RESULT.thinking": "`.reasoning`",
    "RESULT.history": "`.messages`",
    "RESULT.raw": "`.response.raw`",
    "RESULT.logprobs": "`.response.message.content",
    "RESULT.response.logprobs": r"`.message.content\[0\].logprobs",
    "RESULT.text_stream": "llmcore.stream",
    "ToolChoice.tool": r"write ToolChoice.named\(...\)",
    "ToolChoice.any": r"write ToolChoice.required\(\)",
    "RESULT.response_cost": "write `.cost`",
    "llmcore.stream(MODEL, 'Hi').collect": r"write `.result\(\)`",
    "RESULT.unwrap": "the result itself",
    "RESULT.usage.prompt_tokens_details": "`.cache_read_tokens`",
    "RESULT.usage.cache_creation_input_tokens": "`.cache_write_tokens`",
    "RESULT.usage.completion_tokens_details": "`.reasoning_tokens`",
    "RESULT.messages[-1].model_dump": "to_json",
    "RESULT.messages[-1].parts": "`.content`",
    "RESULT.messages[-1].get": "attributes",
    "EVENTS[0].choices": "text_stream",
    "EVENTS[0].delta": "TextDelta",
    "EVENTS[0].text": "TextDelta",
    "RESULT.input_tokens": r"write `.usage`",
    "PART.function": "write `.name` and `.arguments`",
    "sync.stream(MODEL, 'Hi').choices": "iterate over `.text_stream`",
    "llmcore.stream(MODEL, 'Hi').tool_calls": "known at the end",
    "RESULT.finish_raeson": "did you mean 'finish_reason'",
    "llmcore.Success(1).text": "unwrap",
    "llmcore.Failure(1).is_ok": "isinstance",
    "sync.stream(MODEL, 'Hi').text": "text_stream",
    "sync.stream(MODEL, 'Hi').textStream": "text_stream",
    "llmcore.stream(MODEL, 'Hi').usage": r"result\(\)",
    "sync.Conversation().ask": "chat.generate",
    "Conversation().history": "`.messages`",
    "Conversation().cost": r"add up `.cost` or `.total_usage` of the results",
    "Conversation().clear": r"begin another: Conversation\(\)",
    "Conversation().save": r"Conversation.open\(path, run_id\)",
    # of modules
    "llmcore.completion": "import generate",
    "llmcore.ChatOpenAI": "import OpenAI",
    "llmcore.AnthropicBedrock": "import AmazonBedrock",
    "llmcore.Runner": "import generate`",
    "llmcore.completion_cost": "it is `result.cost`",
    "llmcore.count_tokens": r"client.count_tokens\(",
    "llmcore.generate_text": "import generate`",
    "llmcore.stream_text": "import stream`",
    "llmcore.image_generation": "import generate_image",
    "llmcore.transcription": "import transcribe",
    "llmcore.APIConnectionError": "import NetworkError",
    "llmcore.APITimeoutError": "import RequestTimeoutError",
    "llmcore.ContextWindowExceededError": "import ContextLengthError",
    "Conversation().generate_object": r"messages=\[\*chat.messages",
    "sync.OpenAI": "from llmcore import OpenAI",
    "sync.completion": "from llmcore.sync import generate",
    "llmcore.generate_sync": "it is llmcore.sync.generate",
    "llmcore.LLM": r'a model is "openai:gpt-5.2", or OpenAI\(api_key="..."\)',
    "llmcore.set_api_key": r'a model is "openai:gpt-5.2", or OpenAI\(api_key="..."\)',
    "llmcore.set_verbose": "set the variable LLMCORE_LOG=debug",
    "llmcore.track_cost": "it is `result.cost`",
    "llmcore.PDF": "Use `from llmcore import DocumentPart`",
    "llmcore.FakeModel": "use `from llmcore.testing import FakeModel`",
    "llmcore.MCPServer": "use `from llmcore.mcp import McpServers, StdioServer, HttpServer`",
    "llmcore.Cache": "Use `from llmcore import ResponseCache`",
    "llmcore.parse": "Use `from llmcore import generate_object`",
    "llmcore.streamText": "Use `from llmcore import stream`",
    "OpenAI().embedding": r"write llmcore.embed\(provider.model\('ID'\), text\)",
    "llmcore.stream_object(MODEL, 'Hi', schema=dict).output": r"write `.object\(\)`",
    "sync.stream_object(MODEL, 'Hi', schema=dict).text_stream": "it is of `.stream`",
    "llmcore.CostBudget(usd=1).spent": "write `.spent_usd`",
    "llmcore.CostBudget(usd=1).left": "write `.remaining_usd`",
    "FakeModel('Hi').calls": "write `.requests`",
    "FakeModel('Hi').generate": r"write llmcore.generate\(fake.model, prompt, client=fake.client\)",
    "sync.McpServers": "use `from llmcore.sync.mcp import McpServers`",
    "VECTORS.vectors": "write `.embeddings`",
    "VECTORS.vector": "write `.embedding`",
    "Client(environ={}).files": r"write client.upload_file\(...\)",
    "Client(environ={}).batches": r"write Batches\(client\)",
    "BLOCKING.models": r"write client.list_models\(provider\)",
    "OpenAI().chat('m').context_window": r"get_model_info\(model.id, model.provider\)",
    "RESULT.model_id": "`.response.model`",
    "RESULT.to_json": r"`to_json\(result\)`",
    "ERROR.code": "write `.error_code`",
    "ERROR.status": "write `.status_code`",
    "ERROR.body": "write `.raw`",
    "ERROR.is_retryable": "write `.retryable`",
    "ERROR.retry_afer": "did you mean 'retry_after'",
    "llmcore.acomplete": "import generate`",
    "llmcore.SyncClient": "it is llmcore.sync.Client",
    "llmcore.Gateway": "openbridge serve",
    "llmcore.TestModel": "import FakeModel",
    "llmcore.embeddings": "import embed`",
    "llmcore.moderate": "not supported",
    "llmcore.RunContextWrapper": "tool_context=",
    "llmcore.SQLiteSession": "import SQLiteStore",
    "llmcore.BaseModel": r"generate_object\(model, prompt, schema=...\)",
}


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_a_wrong_name_raises_an_attribute_error_that_states_what_to_write(name: str) -> None:
    with pytest.raises(AttributeError, match=WRONG_NAMES[name]):
        eval(name, {**NAMES})


async def _entered(value: Any) -> None:
    async with value:
        pass


@pytest.mark.anyio
async def test_a_block_of_the_wrong_kind_raises_an_error_that_states_the_right_one() -> None:
    asynchronous: dict[str, Any] = {
        "llmcore.sync.Client": llmcore.Client(environ={}),
        "llmcore.sync.stream": llmcore.stream(MODEL, "Hi"),
        "llmcore.sync.stream_object": llmcore.stream_object(MODEL, "Hi", schema=dict),
    }
    for blocking, value in asynchronous.items():
        assert not hasattr(value, "__enter__")
        hint = f"write `async with`, or use {blocking}"
        with pytest.raises(_WRONG_BLOCK, match=_PYTHONS_HINT or hint), value:
            pass
    for view in (NAMES["BLOCKING"], sync.stream(MODEL, "Hi")):
        with pytest.raises(_WRONG_BLOCK, match=_PYTHONS_HINT or "write `with`"):
            await _entered(view)


@pytest.mark.anyio
async def test_an_awaited_stream_raises_an_error_that_states_how_it_is_read() -> None:
    stream: Any = llmcore.stream(MODEL, "Hi")
    for view in (stream, stream.text_stream):
        with pytest.raises(TypeError, match="is not awaited: read it with `async for`"):
            await view


_PYTHONS_HINT = "Did you mean to use '(async )?with'" if sys.version_info >= (3, 14) else ""
"""Python's own error for a block of the wrong kind, which replaces the library's since 3.14."""
_WRONG_BLOCK = TypeError if _PYTHONS_HINT else AttributeError


HINTED = (
    Message.user("Hi"),
    OpenAI().chat("m"),
    llmcore.Success(1),
    llmcore.Client(environ={}),
    llmcore.stream(MODEL, "Hi"),
    Message,
    ImagePart,
)


@pytest.mark.parametrize("value", HINTED, ids=lambda value: getattr(value, "__name__", None))
def test_names_of_other_libraries_are_not_among_those_that_are_completed(value: object) -> None:
    assert not [name for name in dir(value) if not hasattr(value, name)]


@pytest.mark.parametrize("name", ["__wrapped__", "_repr_mimebundle_"])
def test_names_that_tools_ask_for_have_no_hint(name: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(Message, name)

    assert str(raised.value) == f"type object 'Message' has no attribute {name!r}"


def test_for_a_name_that_tools_ask_for_no_attributes_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """attrs asks each class for several of them when it is made."""
    listed: list[type] = []

    def names(kind: type) -> list[str]:
        listed.append(kind)
        return []

    monkeypatch.setattr(Hinted, "__dir__", names)

    assert not hasattr(Message, "__missing__")
    assert not hasattr(Message, "humann")
    assert listed == [Message]


@pytest.mark.parametrize("call", WRONG)
def test_a_wrong_call_raises_an_error_that_states_what_to_write(call: str) -> None:
    with pytest.raises((TypeError, LLMError, CassetteError), match=WRONG[call]):
        eval(call, {**NAMES})


def test_a_key_without_its_name_is_not_repeated_by_the_error() -> None:
    with pytest.raises(TypeError) as raised:
        OpenAI("sk-secret")  # type: ignore[call-arg]

    assert "sk-secret" not in str(raised.value)


def test_a_document_is_made_of_a_path_a_url_or_bytes() -> None:
    assert DocumentPart.of("x.pdf") == DocumentPart(path="x.pdf")
    assert DocumentPart.of("https://host/x.pdf") == DocumentPart(url="https://host/x.pdf")
    assert DocumentPart.of(DocumentPart(data=b"x")) == DocumentPart(data=b"x")


def test_a_function_that_must_be_called_is_taken_in_the_form_of_chat_completions() -> None:
    choice = {"type": "function", "function": {"name": "f"}}

    made = request(model=MODEL, prompt="Hi", tool_choice=choice)

    assert made.tool_choice == llmcore.ToolChoice.named("f")


class _BoundLogger:
    """As libraries of structured logs have it, without a subclass of `logging.Logger`."""


LOGGERS = [logging.LoggerAdapter(logging.getLogger("calls"), {}), _BoundLogger()]


@pytest.mark.parametrize("logger", LOGGERS, ids=lambda logger: type(logger).__name__)
def test_an_object_that_may_act_as_the_stated_class_is_taken(logger: Any) -> None:
    assert llmcore.CallLog(logger)


# -- the mechanism


@with_call_hints(old="new")
def _called(first: int, *, new: int = 0) -> int:
    return first + new if first else int(None)  # type: ignore[call-overload]


@with_awaited_hints()
async def _awaited(first: int) -> int:
    return first


def test_a_correct_call_returns_what_the_function_returns() -> None:
    assert _called(1, new=2) == 3


def test_a_type_error_within_the_function_is_raised_as_it_is() -> None:
    with pytest.raises(TypeError, match=r"int\(\) argument"):
        _called(0)


def test_the_signature_of_a_function_with_hints_is_its_own() -> None:
    assert list(inspect.signature(_called).parameters) == ["first", "new"]
    assert inspect.iscoroutinefunction(_awaited)


@pytest.mark.anyio
async def test_a_wrong_call_of_a_coroutine_function_is_explained() -> None:
    with pytest.raises(TypeError, match=r"_awaited\(\) takes only 1 without its name"):
        await _awaited(1, 2)  # type: ignore[call-arg]


RESULTS = ("catalog", "folds", "generation.results", "generation.stream", "schema.diagnostics")
VALUES = ("schema.errors", "schema.events", "schema.model", "schema.response", "schema.result")
"""Modules whose values users read, and hardly ever make."""


def _made_by_users(value: object) -> bool:
    module = getattr(value, "__module__", "").removeprefix("llmcore.")
    return isinstance(value, type) and module not in (*RESULTS, *VALUES)


@pytest.mark.parametrize(
    "name", [name for name in llmcore.__all__ if _made_by_users(getattr(llmcore, name))]
)
def test_a_class_at_the_front_door_states_the_arguments_it_takes(name: str) -> None:
    value = getattr(llmcore, name)

    with pytest.raises(TypeError, match=f"{name}.*(: it takes|needs|did you mean)"):
        value(zzz=1)
