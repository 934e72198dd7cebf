import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { variableName } from "../../../../server/options/name.ts";
import { readOptions, resolveOptions } from "../../../../server/options/read.ts";
import { keysAreOn } from "../../../../server/options/rules.ts";
import { OPTION_KEYS, OPTIONS } from "../../../../server/options/table.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "nightshift-options-"));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

function write(text: string, name = "nightshift.yaml"): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

describe("precedence", () => {
  it("takes the default of every option when nothing is set", async () => {
    const options = await readOptions({}, {}, dir);
    for (const key of OPTION_KEYS) expect(options[key]).toEqual(OPTIONS[key].default);
  });

  it("prefers the flag to the environment to the file", async () => {
    write("port: 1001\nsequences: 4\nlogLevel: warn\n");
    const env = { NIGHTSHIFT_PORT: "1002", NIGHTSHIFT_SEQUENCES: "5" };
    const options = await readOptions({ port: "1003" }, env, dir);
    expect([options.port, options.sequences, options.logLevel]).toEqual([1003, 5, "warn"]);
  });

  it("treats an empty variable as unset", async () => {
    write("port: 1001\n");
    expect((await readOptions({}, { NIGHTSHIFT_PORT: "", NIGHTSHIFT_CONFIG: "" }, dir)).port).toBe(1001);
  });

  it("prefers the file of --config to those of the environment and working directory", async () => {
    write("port: 1001\n");
    const fromEnv = write("port: 1002\n", "env.yaml");
    const fromFlag = write("port: 1003\n", "flag.yaml");
    expect((await readOptions({}, { NIGHTSHIFT_CONFIG: fromEnv }, dir)).port).toBe(1002);
    expect((await readOptions({ config: fromFlag }, { NIGHTSHIFT_CONFIG: fromEnv }, dir)).port).toBe(1003);
  });
});

describe("values", () => {
  const read = (env: Record<string, string>) => resolveOptions({ flags: {}, env, file: null });
  const fromFile = (key: string, value: unknown) =>
    resolveOptions({ flags: {}, env: {}, file: { path: "f.yaml", values: new Map([[key, value]]) } });

  it.each([
    ["512MB", 512_000_000],
    ["8GiB", 8 * 2 ** 30],
    ["1.5 GB", 1_500_000_000],
    ["2097152", 2_097_152],
    ["2gib", 2 * 2 ** 30],
  ])("reads the size %s", (text, bytes) => {
    expect(read({ NIGHTSHIFT_MEMORY: text }).memory).toBe(bytes);
  });

  it.each([
    ["auto", "auto"],
    ["off", "off"],
    ["20", 20],
  ])("reads --gpu %s", (text, value) => {
    expect(read({ NIGHTSHIFT_GPU: text }).gpu).toBe(value);
    expect(fromFile("gpu", value).gpu).toBe(value);
  });

  it("reads YAML booleans as on and off", () => {
    expect(fromFile("apiKeys", true).apiKeys).toBe("on");
    expect(fromFile("gpu", false).gpu).toBe("off");
  });

  it("reads models from repeated flags, a variable, a list or a map", () => {
    const both = ["small=a.gguf", "hf:owner/repo:Q4_K_M"];
    expect(resolveOptions({ flags: { model: both }, env: {}, file: null }).model).toEqual(both);
    expect(read({ NIGHTSHIFT_MODEL: "small=a.gguf, hf:owner/repo:Q4_K_M," }).model).toEqual(both);
    expect(fromFile("model", both).model).toEqual(both);
    expect(fromFile("model", "a.gguf").model).toEqual(["a.gguf"]);
    expect(fromFile("model", { small: "a.gguf", big: "hf:x/y" }).model).toEqual(["small=a.gguf", "big=hf:x/y"]);
  });

  it("treats null in the file as unset", () => {
    expect(fromFile("port", null).port).toBe(8080);
  });

  it.each([
    ["port", "65536"],
    ["port", "80x"],
    ["port", "-1"],
    ["port", "1e3"],
    ["sequences", "0"],
    ["sequences", "257"],
    ["sequences", "2.5"],
    ["memory", "12XB"],
    ["memory", "lots"],
    ["kv", "both"],
    ["gpu", "maybe"],
    ["gpu", "-1"],
    ["logLevel", "loud"],
    ["engineTimeout", "0"],
    ["cacheTypeK", "q3"],
  ])("refuses %s = %s and names flag, variable or key, and what is allowed", (key, value) => {
    const variable = variableName(key);
    const { allowed } = OPTIONS[key as keyof typeof OPTIONS].kind;
    const says = (source: string) => `${source} must be ${allowed}; it is "${value}".`;
    const flag = `--${variable.slice("NIGHTSHIFT_".length).toLowerCase().replaceAll("_", "-")}`;
    expect(() => resolveOptions({ flags: { [key]: value }, env: {}, file: null })).toThrow(says(flag));
    expect(() => read({ [variable]: value })).toThrow(says(variable));
    expect(() => fromFile(key, value)).toThrow(says(`"${key}" in f.yaml`));
  });

  it.each([
    ["30", 30],
    ["30s", 30],
    ["1.5m", 90],
    ["1h", 3600],
    ["500ms", 0.5],
  ])("reads %s as a length of time in seconds", (text, seconds) => {
    expect(read({ NIGHTSHIFT_SHUTDOWN_GRACE: text }).shutdownGrace).toBe(seconds);
    expect(fromFile("shutdownGrace", text).shutdownGrace).toBe(seconds);
  });

  it.each([
    ["250", 250],
    ["250ms", 250],
    ["2s", 2000],
  ])("reads %s as a length of time in milliseconds", (text, milliseconds) => {
    expect(read({ NIGHTSHIFT_MAX_WAIT_MS: text }).maxWaitMs).toBe(milliseconds);
  });

  it("reads an escaped comma as part of a value, and a new line as a separator", () => {
    expect(read({ NIGHTSHIFT_MODEL: "m=a\\,b/m.gguf, n=n.gguf\no.gguf" }).model).toEqual([
      "m=a,b/m.gguf",
      "n=n.gguf",
      "o.gguf",
    ]);
  });

  it("accepts an origin with a trailing slash, and refuses one with a path", () => {
    expect(read({ NIGHTSHIFT_CORS_ORIGIN: "https://app.example/, *" }).corsOrigin).toEqual([
      "https://app.example",
      "*",
    ]);
    for (const origin of ["https://app.example/chat", "app.example", "ftp://app.example"])
      expect(() => read({ NIGHTSHIFT_CORS_ORIGIN: origin })).toThrow(/must be a web origin without a path/);
  });

  it("accepts only host names without a port", () => {
    expect(read({ NIGHTSHIFT_ALLOWED_HOST: "LLM.example.com" }).allowedHost).toEqual(["llm.example.com"]);
    for (const name of ["example.com:8080", "https://example.com", "a b"])
      expect(() => read({ NIGHTSHIFT_ALLOWED_HOST: name })).toThrow(/must be a host name without a port/);
  });

  it("refuses a token that YAML reads as a number, and does not show it", () => {
    const reading = () => fromFile("metricsToken", 12345678901234567000);
    expect(reading).toThrow('"metricsToken" in f.yaml must be text of 1 to 1,024 characters: put it in quotes.');
  });

  it("reports the wrong length of a secret without showing it", () => {
    const reading = () => read({ NIGHTSHIFT_ADMIN_KEY: "short" });
    expect(reading).toThrow("NIGHTSHIFT_ADMIN_KEY must be text of 20 to 1,024 characters: it is too short.");
  });

  it.each([[{ a: 1 }], [[1, 2]], [true]])("refuses the YAML value %j for a port", (value) => {
    expect(() => fromFile("port", value)).toThrow(/^"port" in f\.yaml must be a whole number/);
  });
});

describe("the file", () => {
  it("names the nearest key when one is unknown", async () => {
    write("prot: 1\n");
    await expect(readOptions({}, {}, dir)).rejects.toThrow(/there is no option "prot"\. Did you mean "port"\?/);
    write("data-dir: x\n");
    await expect(readOptions({}, {}, dir)).rejects.toThrow(/"data-dir"\. Did you mean "dataDir"\?/);
    write("somethingElseEntirely: x\n");
    await expect(readOptions({}, {}, dir)).rejects.toThrow(/there is no option "somethingElseEntirely"\.$/);
  });

  it("merges maps, and ignores keys that begin with x-", async () => {
    write("x-common: &common {demo: {input: 1, cachedInput: 1, output: 1}}\nprices:\n  <<: *common\n");
    expect((await readOptions({}, {}, dir)).prices).toEqual({ demo: { input: 1, cachedInput: 1, output: 1 } });
  });

  it("must be a YAML map", async () => {
    write("- port\n");
    await expect(readOptions({}, {}, dir)).rejects.toThrow(/must hold a map/);
    write("port: [1\n");
    await expect(readOptions({}, {}, dir)).rejects.toThrow(/is not valid YAML: .* at line 2/s);
    write("port: *nowhere\n");
    await expect(readOptions({}, {}, dir)).rejects.toThrow(/is not valid YAML: .*nowhere/s);
  });

  it("errors name the line", async () => {
    write("# the port\nport: 1001\nsequences: many\n");
    await expect(readOptions({}, {}, dir)).rejects.toThrow(/^"sequences" in .*nightshift\.yaml, line 3, must be/);
    write("port: 1001\n\nprot: 1\n");
    await expect(readOptions({}, {}, dir)).rejects.toThrow(/nightshift\.yaml, line 3: there is no option "prot"/);
    write("port: 1001\nsequences: 4\nport: 1002\n");
    await expect(readOptions({}, {}, dir)).rejects.toThrow(/Map keys must be unique at line 3/);
  });

  it("may be empty, and may be missing unless it is named", async () => {
    write("# nothing\n");
    expect((await readOptions({}, {}, dir)).port).toBe(8080);
    await expect(readOptions({ config: join(dir, "absent.yaml") }, {}, dir)).rejects.toThrow(/Cannot read/);
  });
});

describe("rules", () => {
  it.each(["0.0.0.0", "::", "192.168.1.4", "example.org"])("refuses to listen on %s without keys", async (host) => {
    await expect(readOptions({ host, apiKeys: "off" }, {}, dir)).rejects.toThrow(
      /can be reached from other machines.*API key/,
    );
  });

  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["127.1.2.3", "127.1.2.3"],
    ["::1", "::1"],
    ["[::1]", "::1"],
    ["localhost", "localhost"],
    ["LOCALHOST", "localhost"],
    ["::ffff:127.0.0.1", "127.0.0.1"],
  ])("listens on %s without keys, as %s everywhere", async (given, host) => {
    expect((await readOptions({ host: given, apiKeys: "off" }, {}, dir)).host).toBe(host);
  });

  it.each([
    ["127.0.0.1", {}, {}, false],
    ["127.0.0.1", {}, { NIGHTSHIFT_ADMIN_KEY: "twenty characters ok" }, true],
    ["127.0.0.1", { apiKeys: "off" }, { NIGHTSHIFT_ADMIN_KEY: "twenty characters ok" }, false],
    ["127.0.0.1", { apiKeys: "on" }, {}, true],
    ["0.0.0.0", {}, {}, true],
  ])("on %s with %j and %j keys are on: %s", async (host, flags, env, on) => {
    expect(keysAreOn(await readOptions({ host, ...flags }, env, dir))).toBe(on);
  });

  it("accepts the administrator's key only from the environment, and never shows it", async () => {
    const read = readOptions({}, { NIGHTSHIFT_ADMIN_KEY: "nineteen characters" }, dir);
    await expect(read).rejects.toThrow(/^NIGHTSHIFT_ADMIN_KEY must be text of 20 to 1,024 characters/);
    await expect(read).rejects.not.toThrow(/nineteen/);
    expect((await readOptions({ adminKey: "x".repeat(20) }, {}, dir)).adminKey).toBeNull();
    write(`adminKey: ${"x".repeat(20)}\n`);
    await expect(readOptions({}, {}, dir)).rejects.toThrow(/there is no option "adminKey"/);
  });

  it.each(["0.0.0.0/0", "::/0", "10.0.0.0/33", "proxy.example", "10.0.0.1/", "::/129"])(
    "refuses to trust %s",
    async (address) => {
      await expect(readOptions({ trustedProxy: [address] }, {}, dir)).rejects.toThrow(/--trusted-proxy must be an IP/);
    },
  );
});
