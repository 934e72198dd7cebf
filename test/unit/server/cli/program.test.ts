import { describe, expect, it } from "vitest";
import { OptionsError } from "../../../../platform/options-error.ts";
import { buildProgram, withDefaultCommand } from "../../../../server/cli/program.ts";
import { OPTION_KEYS, OPTIONS } from "../../../../server/options/table.ts";

interface Outcome {
  called: unknown[];
  out: string;
  err: string;
}

/** Runs a command line with actions that only note their arguments. */
async function type(args: string[], serve?: () => Promise<void>): Promise<Outcome> {
  const outcome: Outcome = { called: [], out: "", err: "" };
  const program = buildProgram("9.9.9", {
    serve: serve ?? (async (flags) => void outcome.called.push("serve", flags)),
    doctor: async (flags) => void outcome.called.push("doctor", flags),
    health: async (flags) => void outcome.called.push("health", flags),
    usage: async (flags) => void outcome.called.push("usage", flags),
    plan: async (flags) => void outcome.called.push("plan", flags),
    routes: async (flags) => void outcome.called.push("routes", flags),
    upstreams: async (flags) => void outcome.called.push("upstreams", flags),
    backup: async (to, flags) => void outcome.called.push("backup", to, flags),
    restore: async (from, flags) => void outcome.called.push("restore", from, flags),
    chat: async (rest) => void outcome.called.push("chat", rest),
    models: async (rest) => void outcome.called.push("models", rest),
    files: async (rest) => void outcome.called.push("files", rest),
    keys: async (rest) => void outcome.called.push("keys", rest),
    export: async (rest) => void outcome.called.push("export", rest),
    owners: async (rest) => void outcome.called.push("owners", rest),
    batch: async (rest) => void outcome.called.push("batch", rest),
    bench: async (rest) => void outcome.called.push("bench", rest),
  });
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      getOutHelpWidth: () => 500,
      writeOut: (text) => {
        outcome.out += text;
      },
      writeErr: (text) => {
        outcome.err += text;
      },
    });
  }
  await program.parseAsync(withDefaultCommand(args), { from: "user" }).catch((error) => {
    if (!("exitCode" in error)) throw error;
  });
  return outcome;
}

it("names the base URL of each API in its help", async () => {
  const { out } = await type(["--help"]);
  expect(out).toContain(`Base URLs:
  http://127.0.0.1:8080/v1  OpenAI: chat completions, Responses
  http://127.0.0.1:8080     Anthropic: Messages
  http://127.0.0.1:8080     Ollama
`);
});

describe("commands", () => {
  it("runs serve without a command", async () => {
    expect((await type([])).called).toEqual(["serve", {}]);
    expect((await type(["--port", "9000"])).called).toEqual(["serve", { port: "9000" }]);
    expect((await type(["serve", "--port=9000"])).called).toEqual(["serve", { port: "9000" }]);
  });

  it("collects the values of a repeatable flag", async () => {
    const { called } = await type(["serve", "--model", "a=x.gguf", "--model", "y.gguf", "--data-dir", "d"]);
    expect(called[1]).toEqual({ model: ["a=x.gguf", "y.gguf"], dataDir: "d" });
  });

  it("passes all arguments after bench on, including --help", async () => {
    const args = ["throughput", "--streams", "1,8", "--help", "-x"];
    expect((await type(["bench", ...args])).called).toEqual(["bench", args]);
    expect((await type(["bench", "--help"])).called).toEqual(["bench", ["--help"]]);
  });

  it("passes flags to plan", async () => {
    expect((await type(["plan", "--url", "http://x/v1", "--json"])).called).toEqual([
      "plan",
      { url: "http://x/v1", json: true },
    ]);
  });

  it("passes directory and flags to backup and restore", async () => {
    expect((await type(["backup", "to", "--data-dir", "d"])).called).toEqual(["backup", "to", { dataDir: "d" }]);
    expect((await type(["restore", "from", "--force"])).called).toEqual(["restore", "from", { force: true }]);
    expect((await type(["backup"])).err).toMatch(/missing required argument 'dir'/);
  });

  it("passes all arguments after files on", async () => {
    const args = ["list", "--limit", "3", "--help"];
    expect((await type(["files", ...args])).called).toEqual(["files", args]);
  });

  it("suggests a command or flag for a misspelt one", async () => {
    expect((await type(["docter"])).err).toMatch(/unknown command 'docter'[\s\S]*Did you mean doctor\?/);
    expect((await type(["--prot", "1"])).err).toMatch(/unknown option '--prot'[\s\S]*Did you mean --port\?/);
    expect((await type(["serve", "extra"])).err).toMatch(/too many arguments/);
  });

  it("prints an OptionsError as its message and passes on any other error", async () => {
    const { err } = await type([], async () => {
      throw new OptionsError("--port must be a port");
    });
    expect(err).toBe("error: --port must be a port\n");
    await expect(type([], () => Promise.reject(new TypeError("a bug")))).rejects.toThrow("a bug");
  });
});

describe("help", () => {
  it("lists the commands and, for serve and doctor, every option with its default", async () => {
    expect((await type(["--help"])).out).toMatch(/serve[\s\S]*doctor[\s\S]*bench/);
    const flags = OPTION_KEYS.filter(
      (key) => !("fileOnly" in OPTIONS[key].kind || "environmentOnly" in OPTIONS[key].kind),
    );
    for (const command of ["serve", "doctor"]) {
      const { out } = await type([command, "--help"]);
      expect(out.match(/\(default: /g)).toHaveLength(flags.length + 1);
      expect(out).toMatch(/--port <n> +Port to listen on.*\(default: 8080\)/);
    }
  });

  it("prints the version", async () => {
    expect((await type(["--version"])).out).toBe("9.9.9\n");
  });
});
