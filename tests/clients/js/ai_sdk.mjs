// The AI SDK with its providers for OpenAI, Open Responses, Chat servers, Anthropic and Google.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { generateText, isStepCount, Output, streamText, tool } from "ai";
import { z } from "zod";
import { run } from "./scene.mjs";

const { BASE_URL: baseURL, API_KEY: apiKey, MODEL, PROVIDER } = process.env;
const models = {
  openai: () => createOpenAI({ baseURL, apiKey }).responses(MODEL),
  "open-responses": () =>
    createOpenResponses({ name: "gateway", url: `${baseURL}/responses`, apiKey })(MODEL),
  "openai-chat": () => createOpenAI({ baseURL, apiKey }).chat(MODEL),
  "openai-compatible": () =>
    createOpenAICompatible({
      name: "gateway",
      baseURL,
      apiKey,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })(MODEL),
  anthropic: () => createAnthropic({ baseURL, apiKey })(MODEL),
  google: () =>
    createGoogleGenerativeAI({ baseURL: baseURL.replace(/\/v1$/, "/v1beta"), apiKey })(MODEL),
};
const model = models[PROVIDER ?? "openai"]();

const tools = {
  get_weather: tool({
    description: "Get the weather in a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => ({ weather: `${city}: sunny` }),
  }),
};
const question = "What is the weather in Oslo and in Rome?";

async function loop(options) {
  const made = await generateText({
    model,
    tools,
    stopWhen: isStepCount(5),
    prompt: question,
    maxRetries: 0,
    providerOptions: { openai: options },
  });
  return {
    text: made.text,
    called: made.steps.flatMap((step) => step.toolCalls.map((call) => call.input.city)),
    warnings: made.warnings ?? [],
  };
}

await run({
  async create() {
    const made = await generateText({
      model,
      instructions: "Be brief.",
      prompt: "Say hello.",
      maxOutputTokens: 16,
      maxRetries: 0,
    });
    return { text: made.text, reason: made.finishReason, usage: made.usage };
  },

  async stream() {
    const stream = streamText({ model, prompt: "Say hello.", maxOutputTokens: 16, maxRetries: 0 });
    const types = [];
    let deltas = "";
    for await (const part of stream.fullStream) {
      if (part.type === "error") throw part.error;
      types.push(part.type);
      if (part.type === "text-delta") deltas += part.text;
    }
    return { types, deltas, text: await stream.text, reason: await stream.finishReason };
  },

  async object() {
    const made = await generateText({
      model,
      prompt: "Is water wet?",
      temperature: 0,
      maxRetries: 0,
      output: Output.object({ schema: z.object({ yes: z.boolean() }) }),
    });
    return { object: made.output };
  },

  tools: () => loop({}),
  tools_without_store: () => loop({ store: false, include: ["reasoning.encrypted_content"] }),

  async tools_streamed() {
    const stream = streamText({
      model,
      tools,
      stopWhen: isStepCount(5),
      prompt: question,
      maxRetries: 0,
      onError: ({ error }) => {
        throw error;
      },
    });
    const types = new Set();
    const called = [];
    for await (const part of stream.fullStream) {
      if (part.type === "error") throw part.error;
      types.add(part.type);
      if (part.type === "tool-call") called.push(part.input.city);
    }
    return { text: await stream.text, called, types: [...types].sort() };
  },

  async reasoning_streamed() {
    const stream = streamText({
      model,
      tools,
      stopWhen: isStepCount(5),
      prompt: question,
      maxRetries: 0,
      providerOptions: { openai: { reasoningSummary: "auto", forceReasoning: true } },
    });
    let thoughts = "";
    for await (const part of stream.fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "reasoning-delta") thoughts += part.text;
    }
    return { thoughts };
  },

  async many_options() {
    const made = await generateText({
      model,
      prompt: "Say hello.",
      maxRetries: 0,
      tools,
      providerOptions: {
        openai: {
          textVerbosity: "low",
          maxToolCalls: 3,
          metadata: { a: "b" },
          parallelToolCalls: false,
          user: "u1",
          serviceTier: "flex",
          promptCacheKey: "k1",
          safetyIdentifier: "s1",
          truncation: "auto",
          reasoningEffort: "low",
          reasoningSummary: "auto",
          forceReasoning: true,
        },
      },
    });
    return { text: made.text };
  },

  async previous_response() {
    const first = await generateText({ model, prompt: "Say hello.", maxRetries: 0 });
    const { responseId } = first.providerMetadata.openai;
    const second = await generateText({
      model,
      prompt: "Again.",
      maxRetries: 0,
      providerOptions: { openai: { previousResponseId: responseId } },
    });
    return { first: first.text, second: second.text };
  },

  async errors() {
    const failure = (prompt) =>
      generateText({ model, prompt, maxRetries: 0 }).then(
        () => null,
        (error) => ({ kind: error.name, status: error.statusCode, message: error.message }),
      );
    return { limited: await failure("fail with 429"), broken: await failure("fail with 500") };
  },
});
