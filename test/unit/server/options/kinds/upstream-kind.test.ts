import { describe, expect, it, test } from "vitest";
import { DEFAULT_TIMEOUTS, NO_CAPS, UPSTREAM_KINDS } from "../../../../../engine/upstream/dialect/upstream-config.ts";
import { upstreams } from "../../../../../server/options/kinds/upstream-kind.ts";
import { resolveOptions } from "../../../../../server/options/read.ts";

const { schema } = upstreams();
const DEFAULTS = {
  ...{ kind: null, models: null, apiKeyEnv: null, apiKeyFile: null, priority: "none", context: null, trusted: false },
  timeouts: DEFAULT_TIMEOUTS,
  rate: NO_CAPS,
  hedge: false,
};
const URL = "http://gpu-1:8000/v1";
const even = (urls: string[]) => urls.map((url) => ({ url, weight: 1 }));

describe("upstreams", () => {
  it.each<[string, unknown, object[]]>([
    ["one", `gpu=${URL}`, [{ name: "gpu", replicas: even([URL]) }]],
    ["spaces", " gpu = http://a ", [{ name: "gpu", replicas: even(["http://a/v1"]) }]],
    [
      "several",
      ["a=http://a", "b=https://b/x/"],
      [
        { name: "a", replicas: even(["http://a/v1"]) },
        { name: "b", replicas: even(["https://b/x"]) },
      ],
    ],
    [
      "a map of URLs",
      { a: "http://a", b: ["http://b:1", "http://b:2"] },
      [
        { name: "a", replicas: even(["http://a/v1"]) },
        { name: "b", replicas: even(["http://b:1/v1", "http://b:2/v1"]) },
      ],
    ],
    ["a list of maps", [{ name: "a", url: "http://a" }], [{ name: "a", replicas: even(["http://a/v1"]) }]],
    [
      "a list of models",
      { a: { url: "http://a", models: ["x"] } },
      [{ name: "a", replicas: even(["http://a/v1"]), models: { x: "x" } }],
    ],
    [
      "all fields",
      {
        a: {
          ...{ replicas: ["http://a", "http://b"], kind: "vllm", models: { chat: "x" }, apiKeyEnv: "KEY" },
          ...{ priority: "vllm", context: 4096, trusted: true },
        },
      },
      [
        {
          ...{
            name: "a",
            replicas: even(["http://a/v1", "http://b/v1"]),
            kind: "vllm",
            models: { chat: "x" },
            apiKeyEnv: "KEY",
          },
          ...{ priority: "vllm", context: 4096, trusted: true },
        },
      ],
    ],
    ["auto", { a: { url: "http://a", kind: "auto" } }, [{ name: "a", replicas: even(["http://a/v1"]), kind: null }]],
    [
      "timeouts in seconds and as durations",
      { a: { url: "http://a", timeouts: { connect: "250ms", firstEvent: "1h", silence: 0.5, batchSilence: "2m" } } },
      [
        {
          ...{ name: "a", replicas: even(["http://a/v1"]) },
          timeouts: { connect: 250, firstEvent: 3_600_000, silence: 500, batchSilence: 120_000 },
        },
      ],
    ],
    [
      "one timeout",
      { a: { url: "http://a", timeouts: { silence: 5 } } },
      [{ name: "a", replicas: even(["http://a/v1"]), timeouts: { ...DEFAULT_TIMEOUTS, silence: 5000 } }],
    ],
    [
      "weights",
      { a: { replicas: [{ url: "http://a", weight: 2.5 }, { url: "http://b" }, "http://c"] } },
      [{ name: "a", replicas: [{ url: "http://a/v1", weight: 2.5 }, ...even(["http://b/v1", "http://c/v1"])] }],
    ],
    [
      "a rate",
      { a: { url: "http://a", rate: { requestsPerMinute: 500 } } },
      [{ name: "a", replicas: even(["http://a/v1"]), rate: { requestsPerMinute: 500, tokensPerMinute: null } }],
    ],
    [
      "a second attempt",
      { a: { replicas: ["http://a", "http://b"], hedge: true } },
      [{ name: "a", replicas: even(["http://a/v1", "http://b/v1"]), hedge: true }],
    ],
    ["none", [], []],
  ])("are read of %s", (_, value, settings) => {
    expect(schema.parse(value)).toEqual(settings.map((one) => ({ ...DEFAULTS, ...one })));
  });

  test.each(UPSTREAM_KINDS)("may be of the kind %s", (kind) => {
    expect(schema.parse({ a: { url: "http://a", kind } })).toMatchObject([{ kind }]);
  });

  it.each<[string, unknown, string]>([
    ["no name", "http://a", "expected object"],
    ["an empty name", "=http://a", ""],
    ["a wrong name", "a b=http://a", "is not a name"],
    ["no URL", "a=", ""],
    ["another scheme", "a=ftp://a", "is not an http or https URL"],
    ["no URL at all", "a=gpu 1", "is not a URL"],
    ["a query", "a=http://a/v1?x=1", "has a query or a fragment"],
    ["a fragment", "a=http://a/v1#x", "has a query or a fragment"],
    ["one name twice", ["a=http://a", "a=http://b"], "two have the same name"],
    ["one replica twice", { a: ["http://a", "http://a/v1/"] }, "has a replica twice"],
    ["url and replicas", { a: { url: "http://a", replicas: ["http://b"] } }, "neither or both"],
    ["neither", { a: {} }, "neither or both"],
    ["one replica twice by weight", { a: ["http://a", { url: "http://a", weight: 2 }] }, "has a replica twice"],
    ["a replica without URL", { a: { replicas: [{ weight: 1 }] } }, "url"],
    ["a weight of nothing", { a: { replicas: [{ url: "http://a", weight: 0 }] } }, "0.01"],
    ["a greater weight", { a: { replicas: [{ url: "http://a", weight: 101 }] } }, "100"],
    ["no replicas", { a: { replicas: [] } }, ""],
    ["65 replicas", { a: Array.from({ length: 65 }, (_, nth) => `http://a${nth}`) }, ""],
    ["an unknown kind", { a: { url: "http://a", kind: "gpt" } }, ""],
    ["an unknown field", { a: { url: "http://a", apiKey: "sk-1" } }, "apiKey"],
    ["two sources of a key", { a: { url: "http://a", apiKeyEnv: "A", apiKeyFile: "b" } }, "both"],
    ["an unknown priority", { a: { url: "http://a", priority: "high" } }, ""],
    ["a context of nothing", { a: { url: "http://a", context: 0 } }, ""],
    ["a timeout of nothing", { a: { url: "http://a", timeouts: { connect: 0 } } }, "must be seconds from 0.1 to 60"],
    ["a longer timeout", { a: { url: "http://a", timeouts: { silence: "2h" } } }, "must be seconds from 0.1 to 3,600"],
    ["an unknown timeout", { a: { url: "http://a", timeouts: { total: 1 } } }, "total"],
    ["a second attempt of a number", { a: { url: "http://a", hedge: 1 } }, "hedge"],
    ["a rate of nothing", { a: { url: "http://a", rate: { tokensPerMinute: 0 } } }, "tokensPerMinute"],
    ["an empty rate", { a: { url: "http://a", rate: {} } }, "has neither requestsPerMinute nor"],
    ["a rate of half a request", { a: { url: "http://a", rate: { requestsPerMinute: 0.5 } } }, "requestsPerMinute"],
    ["an unknown rate", { a: { url: "http://a", rate: { requestsPerDay: 1 } } }, "requestsPerDay"],
    ["a number", 7, ""],
    ["null", { a: null }, "neither or both"],
  ])("are refused with %s", (_, value, message) => {
    const { error } = schema.safeParse(value);
    expect(JSON.stringify(error?.issues)).toContain(message);
  });

  it.each<[unknown, string, string]>([
    [{ a: "http://a", b: { url: "http://b", kind: "gpt" } }, "b.kind", "expected one of"],
    [{ a: "ftp://a" }, "a.url.0.url", "is not an http or https URL"],
  ])("the error of %j says where it is and why", (value, path, message) => {
    const issues = schema.safeParse(value).error?.issues ?? [];
    expect(issues.map((issue) => issue.path.join("."))).toEqual([path]);
    expect(issues[0]!.message).toContain(message);
  });

  it.each([
    ["on the command line", { flags: { upstream: ["a=http://me:hunter2@a/v1"] }, env: {}, file: null }],
    ["in the environment", { flags: {}, env: { NIGHTSHIFT_UPSTREAM: "a=http://me:hunter2@a/v1" }, file: null }],
    [
      "in the file",
      {
        ...{ flags: {}, env: {} },
        file: {
          path: "n.yaml",
          values: new Map<string, unknown>([["upstream", { a: { url: "http://a", apiKey: "hunter2" } }]]),
        },
      },
    ],
    [
      "in a password of the file",
      {
        ...{ flags: {}, env: {} },
        file: { path: "n.yaml", values: new Map<string, unknown>([["upstream", { a: "http://me:hunter2@a" }]]) },
      },
    ],
  ])("are refused without a word of a secret: %s", (_, sources) => {
    const refused = () => resolveOptions(sources);
    expect(refused).toThrow(/upstream/i);
    expect(refused).not.toThrow(/hunter2/);
  });
});
