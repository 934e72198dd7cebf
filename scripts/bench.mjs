// npm run bench -- …: sets up what is missing, then `nightshift bench …` in this same process.
import { setUp } from "./setup.mjs";

setUp();
process.argv.splice(2, 0, "bench");
await import("../dist/server/cli.js");
