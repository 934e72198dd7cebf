// node scripts/command.mjs serve|doctor|bench …: sets up what is missing, then the command in this same process.
import { setUp } from "./setup.mjs";

setUp();
await import("../dist/server/cli.js");
