// The official `@google/genai` package: `node google.mjs SCENE`.
import { GoogleGenAI } from "@google/genai";
import { failureOf, prompt, question, run, weather } from "./scene.mjs";

const model = process.env.MODEL;
const baseUrl = process.env.BASE_URL.replace(/\/v1$/, "");
const clientOf = (apiKey) => new GoogleGenAI({ apiKey, httpOptions: { baseUrl } });
const client = clientOf(process.env.API_KEY);
const { parameters: parametersJsonSchema, ...named } = weather;
const tools = [{ functionDeclarations: [{ ...named, parametersJsonSchema }] }];
const whole = (asked) => client.models.generateContent({ model, ...asked });
const streamed = (asked) => client.models.generateContentStream({ model, ...asked });

/** Returns what the pieces of a streamed answer add up to. */
async function collected(stream) {
  const parts = [];
  let deltas = "";
  let last;
  for await (const piece of stream) {
    parts.push(...(piece.candidates?.[0]?.content?.parts ?? []));
    deltas += piece.text ?? "";
    last = piece;
  }
  return { parts, deltas, last };
}

async function loop(send) {
  const called = [];
  const contents = [{ role: "user", parts: [{ text: question }] }];
  for (;;) {
    const parts = await send({ contents, config: { tools } });
    contents.push({ role: "model", parts });
    const calls = parts.flatMap((part) => part.functionCall ?? []);
    if (!calls.length) {
      const shown = parts.filter((part) => part.text && !part.thought);
      return { called, text: shown.map((part) => part.text).join("") };
    }
    called.push(...calls.map((call) => call.args.city));
    const results = calls.map(({ id, name, args }) => ({
      functionResponse: { id, name, response: { output: `${args.city}: sunny` } },
    }));
    contents.push({ role: "user", parts: results });
  }
}

await run({
  async create() {
    const made = await whole({ contents: "Say hello." });
    return {
      text: made.text,
      reason: made.candidates[0].finishReason,
      tokens: made.usageMetadata.totalTokenCount,
    };
  },
  async stream() {
    const { deltas, last } = await collected(await streamed({ contents: prompt }));
    return {
      deltas,
      text: deltas,
      reason: last.candidates[0].finishReason,
      tokens: last.usageMetadata.totalTokenCount,
    };
  },
  tools: () => loop(async (asked) => (await whole(asked)).candidates[0].content.parts),
  tools_streamed: () => loop(async (asked) => (await collected(await streamed(asked))).parts),
  async models() {
    const ids = [];
    for await (const one of await client.models.list()) ids.push(one.name.replace("models/", ""));
    return ids;
  },
  async count() {
    const counted = await client.models.countTokens({ model, contents: "Say hello." });
    return { input_tokens: counted.totalTokens };
  },
  async errors() {
    const stranger = clientOf("wrong");
    return {
      key: await failureOf(stranger.models.generateContent({ model, contents: "x" })),
      limited: await failureOf(whole({ contents: "fail with 429" })),
      broken: await failureOf(streamed({ contents: "fail with 500" })),
    };
  },
  async cut() {
    let deltas = "";
    const failed = await failureOf(
      (async () => {
        for await (const piece of await streamed({ contents: "break off" })) {
          deltas += piece.text ?? "";
        }
      })(),
    );
    return { deltas, failed: failed !== null };
  },
});
