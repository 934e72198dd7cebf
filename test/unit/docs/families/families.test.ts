import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import type { FunctionTool } from "../../../../engine/protocol/prompt.ts";
import { ToolParser } from "../../../../engine/tools/parser.ts";
import { SequenceText } from "../../../../engine/worker/text/output/sequence-text.ts";
import { ChatTemplate } from "../../../../engine/worker/text/template/chat-template.ts";
import { withBlock } from "../../../../openapi/document/error-tables.ts";
import { reuseOf } from "../../../../server/doctor/report.ts";
import { architectureMemory } from "./architecture-memory.ts";
import { CITY, FAMILIES, type Family, THOUGHT, TOOL } from "./families.ts";

const WEATHER: FunctionTool = {
  type: "function",
  function: {
    name: TOOL,
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

const folder = mkdtempSync(join(tmpdir(), "nightshift-families-"));
afterAll(() => rmSync(folder, { recursive: true }));

function templateOf({ template }: Family): ChatTemplate {
  return new ChatTemplate(template, { bos: "", eos: "", specialTokens: [] });
}

/** The answer of the family's form, read as the engine reads it. */
function answerOf(family: Family) {
  const template = templateOf(family);
  const { reasoningTags, toolFormat } = template;
  const { startsInReasoning } = template.render([{ role: "user", content: "Weather?" }], {}, new Date(0), [WEATHER]);
  const calls = { parser: new ToolParser(toolFormat, [WEATHER]), newId: () => "id" };
  const text = new SequenceText({ stop: [], reasoningTags, startsInReasoning, calls });
  const answer = { text: "", reasoning: "", name: "", arguments: "" };
  const written = new TextEncoder().encode((family.thought ?? "") + family.call);
  for (const part of [...Array.from(written, (byte) => text.push(Uint8Array.of(byte))), text.finish()]) {
    answer.text += part.text;
    answer.reasoning += part.reasoning;
    for (const call of part.calls ?? []) {
      answer.name += call.name ?? "";
      answer.arguments += call.arguments;
    }
  }
  return answer;
}

it.each(FAMILIES.map((family) => [family.names, family] as const))("%s: reasoning and calls are read", (_, family) => {
  expect(templateOf(family).warnings).toEqual([]);
  const { arguments: json, ...answer } = answerOf(family);
  expect({ ...answer, reasoning: answer.reasoning.trim(), text: answer.text.trim() }).toEqual({
    text: "",
    reasoning: family.thought === undefined ? "" : THOUGHT,
    name: TOOL,
  });
  expect(JSON.parse(json)).toEqual({ city: CITY });
});

async function rowOf(family: Family): Promise<string[]> {
  const { reasoningTags, toolFormat } = templateOf(family);
  const memories = new Set<string>();
  for (const architecture of family.architectures) {
    memories.add(await architectureMemory(architecture, join(folder, `${architecture}.gguf`)).then(memoryText));
  }
  const byFormat = answerOf(family).reasoning === "" ? "–" : "by the format";
  const reasoning = reasoningTags === null ? byFormat : `\`${reasoningTags.open.replaceAll("|", "\\|")}\``;
  return [family.names, `\`${toolFormat.name}\``, reasoning, [...memories].join("; ")];
}

function memoryText(memory: Parameters<typeof reuseOf>[0]): string {
  return `${reuseOf(memory)} (${memory})`;
}

// After a change: npx vitest run test/unit/docs/families -u
it("README.md has the table of the families", async () => {
  const rows = [
    ["family", "tool calls", "reasoning", "prefixes are reused"],
    ["---", "---", "---", "---"],
  ];
  for (const family of FAMILIES) rows.push(await rowOf(family));
  const table = rows.map((cells) => `| ${cells.join(" | ")} |\n`).join("");
  const page = readFileSync(new URL("../../../../README.md", import.meta.url), "utf8");
  await expect(withBlock(page, "families", table)).toMatchFileSnapshot("../../../../README.md");
});
