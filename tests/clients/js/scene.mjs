// Runs the scene that the command line names, and prints what it returns as JSON.
export async function run(scenes) {
  const scene = scenes[process.argv[2]];
  if (!scene) throw new Error(`there is no scene ${process.argv[2]}`);
  process.stdout.write(JSON.stringify(await scene()) + "\n");
}
