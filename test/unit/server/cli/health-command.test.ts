import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { checkHealth } from "../../../../server/cli/health-command.ts";

async function listening(status: number): Promise<number> {
  const server = createServer((_, response) => response.writeHead(status).end("{}"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

it("reports a listening server as healthy, also one that listens on every address", async () => {
  const port = await listening(200);
  await checkHealth({ host: "127.0.0.1", port, uds: null });
  await checkHealth({ host: "0.0.0.0", port, uds: null });
});

it("fails with the reason for a server that refuses or does not listen", async () => {
  const port = await listening(503);
  await expect(checkHealth({ host: "127.0.0.1", port, uds: null })).rejects.toThrow(
    `http://127.0.0.1:${port}/health answers with status 503`,
  );
  await expect(checkHealth({ host: "127.0.0.1", port: 1, uds: null })).rejects.toThrow(
    "http://127.0.0.1:1/health does not answer",
  );
});
