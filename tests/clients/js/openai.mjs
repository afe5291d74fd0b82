// The official `openai` package: `node openai.mjs SCENE`, the gateway's address in BASE_URL.
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { failureOf, run } from "./scene.mjs";

const model = process.env.MODEL;
const client = new OpenAI({
  baseURL: process.env.BASE_URL,
  apiKey: process.env.API_KEY,
  maxRetries: 0,
});

const weather = {
  type: "function",
  name: "get_weather",
  description: "Get the weather in a city.",
  strict: true,
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
};
const question = { role: "user", content: "What is the weather in Oslo and in Rome?" };
const result = (call) => ({
  type: "function_call_output",
  call_id: call.call_id,
  output: `${JSON.parse(call.arguments).city}: sunny`,
});
const callsOf = (response) => response.output.filter((item) => item.type === "function_call");

async function collected(stream) {
  const types = [];
  let deltas = "";
  for await (const event of stream) {
    types.push(event.type);
    if (event.type.endsWith(".delta")) deltas += event.delta;
  }
  return { types, deltas };
}

/** Send everything again and again until there are no calls. */
async function loop(send) {
  const called = [];
  let response = await send([question], undefined);
  while (callsOf(response).length) {
    const calls = callsOf(response);
    called.push(...calls.map((call) => JSON.parse(call.arguments).city));
    response = await send(calls.map(result), response);
  }
  return { called, text: response.output_text, usage: response.usage };
}

await run({
  async create() {
    const made = await client.responses.create({
      model,
      instructions: "Be brief.",
      input: "Say hello.",
      max_output_tokens: 16,
    });
    return { text: made.output_text, status: made.status, usage: made.usage, id: made._request_id };
  },

  async stream() {
    const stream = client.responses.stream({ model, input: "Say hello.", max_output_tokens: 16 });
    const { types, deltas } = await collected(stream);
    const final = await stream.finalResponse();
    return { types, deltas, text: final.output_text, status: final.status };
  },

  async raw_events() {
    const stream = await client.responses.create({ model, input: "Say hello.", stream: true });
    return await collected(stream);
  },

  async parse() {
    const Answer = z.object({ yes: z.boolean() });
    const made = await client.responses.parse({
      model,
      input: "Is water wet?",
      temperature: 0,
      text: { format: zodTextFormat(Answer, "answer") },
    });
    return { parsed: made.output_parsed };
  },

  async tools_by_previous_response() {
    return await loop((input, before) =>
      client.responses.create({
        model,
        input,
        tools: [weather],
        previous_response_id: before?.id,
      }),
    );
  },

  async tools_with_encrypted_reasoning() {
    const items = [];
    return await loop((input, before) => {
      items.push(...(before?.output ?? []), ...input);
      return client.responses.create({
        model,
        input: items,
        tools: [weather],
        store: false,
        include: ["reasoning.encrypted_content"],
      });
    });
  },

  async tools_streamed() {
    return await loop((input, before) =>
      client.responses
        .stream({ model, input, tools: [weather], previous_response_id: before?.id })
        .finalResponse(),
    );
  },

  async required_tool() {
    const made = await client.responses.create({
      model,
      input: "What is the weather in Rome?",
      tools: [weather],
      tool_choice: "required",
      temperature: 0,
      max_output_tokens: 64,
    });
    return callsOf(made).map((call) => [call.name, Object.keys(JSON.parse(call.arguments))]);
  },

  async stored() {
    const made = await client.responses.create({ model, input: [question] });
    const again = await client.responses.retrieve(made.id);
    const items = [];
    for await (const item of client.responses.inputItems.list(made.id)) items.push(item.type);
    await client.responses.delete(made.id);
    const gone = await client.responses.retrieve(made.id).catch((error) => error.status);
    return { same: again.output_text === made.output_text, items, gone };
  },

  async errors() {
    const failure = (promise) =>
      promise.then(
        () => null,
        (error) => ({ kind: error.constructor.name, status: error.status, code: error.code }),
      );
    const ask = (more) => client.responses.create({ model, input: "x", ...more });
    return {
      missing: await failure(ask({ previous_response_id: "resp_none" })),
      reference: await failure(ask({ input: [{ type: "item_reference", id: "msg_none" }] })),
      key: await failure(client.withOptions({ apiKey: "wrong" }).responses.create({ model, input: "x" })),
      limited: await failure(ask({ input: "fail with 429" })),
      broken: await failure(ask({ input: "fail with 500", stream: true })),
    };
  },

  async cut() {
    const stream = await client.responses.create({ model, input: "break off", stream: true });
    return await failureOf(collected(stream));
  },
});
