import { expect, test } from "vitest";
import { StoreError, type StoreErrorCode } from "../../store/types/store-error.ts";
import { CHAT } from "../unit/server/test-server.ts";
import { startKeyedServer } from "./keys-rig.ts";

test.each<StoreErrorCode>(["busy", "io", "full", "corrupt", "closed", "internal"])(
  "a store that is %s makes an unknown key 503; keys in memory still work",
  async (code) => {
    const server = await startKeyedServer();
    const known = await server.key();
    const unseen = await server.key();
    expect((await server.call(known.key, "GET", "/v1/models")).status).toBe(200);
    const { find } = server.store.keys;
    server.store.keys.find = () => Promise.reject(new StoreError(code, "the disk is gone: /var/lib/secret"));
    const refused = await server.call(unseen.key, "POST", "/v1/chat/completions", CHAT);
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(refused.headers.get("x-should-retry")).toBeNull();
    const text = await refused.text();
    expect(text).toContain('"code":"store_unavailable"');
    expect(text).not.toContain("/var/lib");
    expect((await server.call(known.key, "POST", "/v1/chat/completions", CHAT)).status).toBe(200);
    server.store.keys.find = find;
    expect((await server.call(unseen.key, "POST", "/v1/chat/completions", CHAT)).status).toBe(200);
  },
);
