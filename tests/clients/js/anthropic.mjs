// The official `@anthropic-ai/sdk` package: `node anthropic.mjs SCENE`.
import Anthropic from "@anthropic-ai/sdk";
import { failureOf, prompt, question, run, weather } from "./scene.mjs";

const model = process.env.MODEL;
const client = new Anthropic({
  baseURL: process.env.BASE_URL.replace(/\/v1$/, ""),
  apiKey: process.env.API_KEY,
  maxRetries: 0,
});
const { parameters: input_schema, ...named } = weather;
const tool = { ...named, input_schema };
const user = (content) => [{ role: "user", content }];
const body = (content) => ({ model, max_tokens: 1024, messages: user(content) });
const textOf = (made) =>
  made.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
const tokens = ({ usage }) =>
  usage.input_tokens +
  usage.cache_read_input_tokens +
  usage.cache_creation_input_tokens +
  usage.output_tokens;

async function loop(send) {
  const called = [];
  const messages = user(question);
  for (;;) {
    const made = await send({ model, max_tokens: 1024, messages, tools: [tool] });
    messages.push({ role: "assistant", content: made.content });
    const calls = made.content.filter((block) => block.type === "tool_use");
    if (!calls.length) return { called, text: textOf(made) };
    called.push(...calls.map((call) => call.input.city));
    const results = calls.map((call) => ({
      type: "tool_result",
      tool_use_id: call.id,
      content: `${call.input.city}: sunny`,
    }));
    messages.push({ role: "user", content: results });
  }
}

await run({
  async create() {
    const made = await client.messages.create(body("Say hello."));
    return { text: textOf(made), reason: made.stop_reason, tokens: tokens(made) };
  },
  async stream() {
    const stream = client.messages.stream(body(prompt));
    let deltas = "";
    stream.on("text", (text) => (deltas += text));
    const made = await stream.finalMessage();
    return { deltas, text: textOf(made), reason: made.stop_reason, tokens: tokens(made) };
  },
  tools: () => loop((asked) => client.messages.create(asked)),
  tools_streamed: () => loop((asked) => client.messages.stream(asked).finalMessage()),
  async models() {
    const ids = [];
    for await (const one of client.models.list()) ids.push(one.id);
    return ids;
  },
  async count() {
    return await client.messages.countTokens({ model, messages: user("Say hello.") });
  },
  async errors() {
    const stranger = client.withOptions({ apiKey: "wrong" });
    return {
      key: await failureOf(stranger.messages.create(body("x"))),
      limited: await failureOf(client.messages.create(body("fail with 429"))),
      broken: await failureOf(client.messages.stream(body("fail with 500")).finalMessage()),
    };
  },
  async cut() {
    const stream = client.messages.stream(body("break off"));
    let deltas = "";
    stream.on("text", (text) => (deltas += text));
    return { failed: (await failureOf(stream.finalMessage())) !== null, deltas };
  },
});
