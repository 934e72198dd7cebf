import { expect, test } from "vitest";
import { replicaRoot } from "../../../../../engine/upstream/dialect/replica-root.ts";

test.each([
  ["http://gpu:8000/v1", "http://gpu:8000"],
  ["http://gateway/pool/v1", "http://gateway/pool"],
  ["http://chat.models/openai/v1", "http://chat.models"],
  ["http://gpu:8000/api", "http://gpu:8000/api"],
])("beside %s is %s", (base, root) => {
  expect(replicaRoot(base)).toBe(root);
});
