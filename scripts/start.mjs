// npm start: sets up what is missing, then `nightshift serve` in this same process.
import { setUp } from "./setup.mjs";

setUp();
process.argv.splice(2, 0, "serve");
await import("../dist/server/cli.js");
