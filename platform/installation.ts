import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The directory of package.json: the same for the sources, for dist/ and for an installed package. */
const installationDir = findUp(dirname(fileURLToPath(import.meta.url)));

/** The model that is served without --model. */
export const demoModelPath = join(installationDir, "models", "demo.gguf");

/** The built bundle of a program with its own process or thread; scripts/build.mjs lists them. */
export function programUrl(program: string): URL {
  return pathToFileURL(join(installationDir, "dist", `${program}.js`));
}

export function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(installationDir, "package.json"), "utf8"));
  if (typeof manifest === "object" && manifest !== null && "version" in manifest) return String(manifest.version);
  throw new Error("package.json has no version");
}

function findUp(dir: string): string {
  if (existsSync(join(dir, "package.json"))) return dir;
  const parent = dirname(dir);
  if (parent === dir) throw new Error("Nightshift's package.json is missing above its code");
  return findUp(parent);
}
