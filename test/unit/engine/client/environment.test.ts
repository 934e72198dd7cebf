import { expect, test } from "vitest";
import { engineEnvironment } from "../../../../engine/client/environment.ts";

test("an engine process gets what libraries and devices need, and nothing secret", () => {
  const passed = {
    PATH: "/bin",
    HOME: "/root",
    LD_LIBRARY_PATH: "/lib",
    CUDA_VISIBLE_DEVICES: "1",
    TZ: "UTC",
    LC_ALL: "C",
  };
  const kept = {
    NIGHTSHIFT_ADMIN_KEY: "a",
    OPENAI_API_KEY: "b",
    HF_TOKEN: "c",
    AWS_SECRET_ACCESS_KEY: "d",
    DATABASE_URL: "e",
    NODE_OPTIONS: "--inspect",
    HTTPS_PROXY: "http://user:password@proxy",
  };
  const environment = engineEnvironment({ ...passed, ...kept, UV_THREADPOOL_SIZE: "1" });
  expect(environment).toEqual({ ...passed, UV_THREADPOOL_SIZE: expect.stringMatching(/^[0-9]+$/) });
  expect(Number(environment.UV_THREADPOOL_SIZE)).toBeGreaterThanOrEqual(6);
});
