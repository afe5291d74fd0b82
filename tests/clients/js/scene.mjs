// What the programs share: scenes, a question with a tool, errors as data.

export const question = "What is the weather in Oslo and in Rome?";

/** What the scene `stream` asks. */
export const prompt = process.env.PROMPT ?? "Say hello.";

export const weather = {
  name: "get_weather",
  description: "Get the weather in a city.",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
};

/** Runs the scene that the command line names, and prints what it returns as JSON. */
export async function run(scenes) {
  const scene = scenes[process.argv[2]];
  if (!scene) throw new Error(`there is no scene ${process.argv[2]}`);
  process.stdout.write(JSON.stringify(await scene()) + "\n");
}

/** Returns what a promise was rejected with, null if it was not. */
export const failureOf = (promise) =>
  promise.then(
    () => null,
    ({ status, statusCode, message }) => ({ status: status ?? statusCode, message }),
  );
