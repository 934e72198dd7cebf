import { expect, test } from "vitest";
import { startKeyedServer } from "../../../faults/keys-rig.ts";

test("a rule on budgets holds once as little is left of the key's", async () => {
  const rules = [{ when: { budgetLeft: 0.5 }, model: "demo" }];
  const route = { models: ["demo"], rules, choose: "first" as const, overflow: [] };
  const { key: newKey, call } = await startKeyedServer({ routes: { chat: route } });
  const [poor, free] = await Promise.all([newKey({ budget: { daily_usd: 0.00001 } }), newKey({ owner: "b" })]);
  const reason = async (key: string) => {
    const body = { model: "chat", messages: [{ role: "user", content: "hi" }], max_tokens: 1 };
    const response = await call(key, "POST", "/v1/chat/completions", body);
    await response.text();
    return response.headers.get("x-nightshift-route");
  };
  // Three tokens at USD 1, two cached ones at 0.5 and one of the answer at 2 per million: 0.6 of the budget.
  expect(await reason(poor.key)).toBe("chat=demo;%20first");
  expect(await reason(poor.key)).toBe("chat=demo;%20rule%201");
  expect(await reason(free.key)).toBe("chat=demo;%20first");
});
