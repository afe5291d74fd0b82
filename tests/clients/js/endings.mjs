// Every client asks for streams that end in every way: `node endings.mjs`. The names of the endings
// are the prompts, and those of the upstreams the models: ENDINGS and UPSTREAMS, with commas.
import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { ApiError, GoogleGenAI } from "@google/genai";
import { streamText } from "ai";
import OpenAI from "openai";

const { BASE_URL: baseURL, API_KEY: apiKey, ENDINGS, UPSTREAMS } = process.env;
const root = baseURL.replace(/\/v1$/, "");
const openai = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: root, apiKey, maxRetries: 0 });
const google = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: root } });
const user = (content) => [{ role: "user", content }];

/** Streams with a provider of the AI SDK; failures are parts of its streams. */
async function withAi(model, prompt, said) {
  const stream = streamText({ model, prompt, maxRetries: 0, onError: () => {} });
  for await (const part of stream.fullStream) {
    if (part.type === "text-delta") said.text += part.text;
    if (part.type === "error") throw part.error;
  }
  said.finish = await stream.finishReason;
}

const ai = {
  "ai/openai": (model) => createOpenAI({ baseURL, apiKey }).responses(model),
  "ai/openai-chat": (model) => createOpenAI({ baseURL, apiKey }).chat(model),
  "ai/open-responses": (model) =>
    createOpenResponses({ name: "gateway", url: `${baseURL}/responses`, apiKey })(model),
  "ai/openai-compatible": (model) =>
    createOpenAICompatible({ name: "gateway", baseURL, apiKey })(model),
  "ai/anthropic": (model) => createAnthropic({ baseURL, apiKey })(model),
  "ai/google": (model) => createGoogleGenerativeAI({ baseURL: `${root}/v1beta`, apiKey })(model),
};

/** Each adds the text and the finish to `said`, and throws what its package throws. */
const clients = {
  async "openai/responses"(model, input, said) {
    const stream = openai.responses.stream({ model, input });
    stream.on("response.output_text.delta", ({ delta }) => (said.text += delta));
    const { status, error } = await stream.finalResponse();
    if (status === "failed") throw new Error(error.message);
    said.finish = status;
  },
  async "openai/chat"(model, prompt, said) {
    const stream = openai.chat.completions.stream({ model, messages: user(prompt) });
    stream.on("content", (delta) => (said.text += delta));
    said.finish = (await stream.finalChatCompletion()).choices[0].finish_reason;
  },
  async anthropic(model, prompt, said) {
    const stream = anthropic.messages.stream({ model, max_tokens: 99, messages: user(prompt) });
    stream.on("text", (text) => (said.text += text));
    said.finish = (await stream.finalMessage()).stop_reason;
  },
  async google(model, contents, said) {
    for await (const piece of await google.models.generateContentStream({ model, contents })) {
      said.text += piece.text ?? "";
      said.finish = piece.candidates?.[0]?.finishReason ?? said.finish;
    }
  },
};
for (const [name, make] of Object.entries(ai)) {
  clients[name] = (model, prompt, said) => withAi(make(model), prompt, said);
}

const isOwn = (error) =>
  error instanceof OpenAI.OpenAIError ||
  error instanceof Anthropic.AnthropicError ||
  error instanceof ApiError;

/** Returns what a client reads of one stream, and the failure that it throws. */
async function heard(ask, upstream, ending) {
  const said = { text: "", finish: null, failure: null };
  try {
    await ask(upstream, ending, said);
  } catch (error) {
    const { message = JSON.stringify(error), responseBody = "" } = error;
    said.failure = { message: `${message} ${responseBody}`, own: isOwn(error) };
  }
  return said;
}

const found = [];
for (const [client, ask] of Object.entries(clients)) {
  const asked = UPSTREAMS.split(",").flatMap((upstream) =>
    ENDINGS.split(",").map(async (ending) => {
      found.push({ client, upstream, ending, ...(await heard(ask, upstream, ending)) });
    }),
  );
  await Promise.all(asked);
}
process.stdout.write(JSON.stringify(found) + "\n");
