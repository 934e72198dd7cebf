// node scripts/command.mjs serve|doctor|bench …: sets up what is missing, then runs the command in this process.
import { setUp } from "./setup.mjs";

setUp();
await import("../dist/server/cli.js");
