import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { OptionsError } from "../../../../platform/options-error.ts";
import { download } from "../../../../server/cli/files-command.ts";

it("an interrupted download to stdout ends with an error message", async () => {
  const body = new ReadableStream({
    pull: (controller) => controller.error(new TypeError("terminated")),
  });
  const client = { download: async () => new Response(body) } as unknown as Parameters<typeof download>[0];
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done() });
  const deps = { stdout } as unknown as Parameters<typeof download>[3];
  const cut = download(client, "file-a", null, deps);
  await expect(cut).rejects.toThrow(new OptionsError("file-a was interrupted: terminated"));
});
