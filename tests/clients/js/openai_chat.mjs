// The official `openai` package over Chat Completions: `node openai_chat.mjs SCENE`.
import OpenAI from "openai";
import { failureOf, prompt, question, run, weather } from "./scene.mjs";

const model = process.env.MODEL;
const client = new OpenAI({
  baseURL: process.env.BASE_URL,
  apiKey: process.env.API_KEY,
  maxRetries: 0,
});
const tool = { type: "function", function: { ...weather, strict: true } };
const user = (content) => [{ role: "user", content }];
const ask = (content, more = {}) =>
  client.chat.completions.create({ model, messages: user(content), ...more });

async function loop(send) {
  const called = [];
  const messages = user(question);
  for (;;) {
    const { message } = (await send({ model, messages, tools: [tool] })).choices[0];
    messages.push(message);
    if (!message.tool_calls?.length) return { called, text: message.content };
    for (const call of message.tool_calls) {
      const { city } = JSON.parse(call.function.arguments);
      called.push(city);
      messages.push({ role: "tool", tool_call_id: call.id, content: `${city}: sunny` });
    }
  }
}

await run({
  async create() {
    const made = await ask("Say hello.");
    const [choice] = made.choices;
    return {
      text: choice.message.content,
      reason: choice.finish_reason,
      tokens: made.usage.total_tokens,
    };
  },
  async stream() {
    const stream = client.chat.completions.stream({
      model,
      messages: user(prompt),
      stream_options: { include_usage: true },
    });
    let deltas = "";
    for await (const chunk of stream) deltas += chunk.choices[0]?.delta.content ?? "";
    const made = await stream.finalChatCompletion();
    const [choice] = made.choices;
    return {
      deltas,
      text: choice.message.content,
      reason: choice.finish_reason,
      tokens: made.usage.total_tokens,
    };
  },
  tools: () => loop((body) => client.chat.completions.create(body)),
  tools_streamed: () =>
    loop((body) => client.chat.completions.stream(body).finalChatCompletion()),
  async models() {
    const ids = [];
    for await (const one of client.models.list()) ids.push(one.id);
    return ids;
  },
  async errors() {
    const stranger = client.withOptions({ apiKey: "wrong" });
    return {
      key: await failureOf(stranger.chat.completions.create({ model, messages: user("x") })),
      limited: await failureOf(ask("fail with 429")),
      broken: await failureOf(ask("fail with 500", { stream: true })),
    };
  },
  async cut() {
    const stream = await ask("break off", { stream: true });
    let deltas = "";
    const failed = await failureOf(
      (async () => {
        for await (const chunk of stream) deltas += chunk.choices[0]?.delta.content ?? "";
      })(),
    );
    return { deltas, failed: failed !== null };
  },
});
