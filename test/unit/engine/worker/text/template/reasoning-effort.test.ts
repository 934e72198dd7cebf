import { describe, expect, test } from "vitest";
import { REASONING_EFFORTS, type ReasoningEffort } from "../../../../../../engine/protocol/prompt.ts";
import { JinjaTemplate } from "../../../../../../engine/worker/text/template/jinja-template.ts";
import { type ThinkingTraits, thinkingPlan } from "../../../../../../engine/worker/text/template/reasoning-effort.ts";
import { templateMessages } from "../../../../../../engine/worker/text/template/template-messages.ts";
import { templateTraits } from "../../../../../../engine/worker/text/template/template-traits.ts";
import { PLAIN_CHATML, QWEN } from "./templates.ts";

const traitsOf = (source: string) => templateTraits(new JinjaTemplate(source)).thinking;

const HARMONY = "{{ '<|start|>system<|message|>Reasoning: ' + (reasoning_effort or 'medium') + '<|end|>' }}";
const TWO_LEVELS = `{%- if reasoning_effort is defined and reasoning_effort not in ['none', 'high'] -%}
{{ raise_exception('no such effort') }}{%- endif -%}{{ reasoning_effort }}`;
const DEEPSEEK = "{{ '<think>' if thinking is defined and thinking else '</think>' }}";
const SEED = "{% if thinking_budget is defined %}{{ 'You have ' + thinking_budget|string }}{% endif %}<seed:think>";

describe("a template's controls of reasoning", () => {
  test.each<[string, string, ThinkingTraits]>([
    ["nothing", PLAIN_CHATML, { switches: [], levels: [], budget: false }],
    ["a switch", QWEN, { switches: ["enable_thinking"], levels: [], budget: false }],
    ["a switch of another name", DEEPSEEK, { switches: ["thinking"], levels: [], budget: false }],
    ["levels that it names", HARMONY, { switches: [], levels: ["low", "medium", "high"], budget: false }],
    ["levels that it checks", TWO_LEVELS, { switches: [], levels: ["none", "high"], budget: false }],
    ["a budget that it renders", SEED, { switches: [], levels: [], budget: true }],
  ])("%s", (_, source, expected) => {
    expect(traitsOf(source)).toEqual(expected);
  });
});

describe("effort", () => {
  const plan = (source: string, effort: ReasoningEffort | null, budget: number | null = null) =>
    thinkingPlan({ effort, budget }, traitsOf(source));
  const levels = (source: string) => REASONING_EFFORTS.map((effort) => plan(source, effort).variables.reasoning_effort);

  test("not given, sets no variable", () => {
    for (const source of [QWEN, HARMONY, DEEPSEEK, SEED])
      expect(plan(source, null)).toEqual({ variables: {}, budget: null });
  });

  test("none and minimal turn a switch off, all others turn it on", () => {
    const values = REASONING_EFFORTS.map((effort) => plan(QWEN, effort).variables.enable_thinking);
    expect(values).toEqual([false, false, true, true, true, true, true]);
    expect(plan(QWEN, "none").budget).toBeNull();
  });

  test("is the nearest level that is not above, and none only where requested", () => {
    expect(levels(HARMONY)).toEqual(["low", "low", "low", "medium", "high", "high", "high"]);
    expect(levels(TWO_LEVELS)).toEqual(["none", "none", "high", "high", "high", "high", "high"]);
  });

  test("is a budget where the template has one, unless the request sets its own", () => {
    const budgets = REASONING_EFFORTS.map((effort) => plan(SEED, effort).variables.thinking_budget);
    expect(budgets).toEqual([0, 0, 1024, 4096, undefined, undefined, undefined]);
    expect(plan(SEED, "low", 77)).toMatchObject({ variables: { thinking_budget: 77 }, budget: 77 });
    expect(plan(SEED, null, Number.POSITIVE_INFINITY).variables).toEqual({});
  });

  test("none closes reasoning at once where no template can prevent it", () => {
    expect(plan(PLAIN_CHATML, "none", 50).budget).toBe(0);
    expect(plan(PLAIN_CHATML, "minimal", 50).budget).toBe(50);
    expect(plan(HARMONY, "none").budget).toBe(0);
  });
});

describe("reasoning of earlier answers", () => {
  const given = (source: string, calls = false) => {
    const call = { id: "c", type: "function" as const, function: { name: "f", arguments: "{}" } };
    const message = { role: "assistant" as const, content: "4", reasoning_content: "2 + 2" };
    const traits = templateTraits(new JinjaTemplate(source));
    return templateMessages([calls ? { ...message, tool_calls: [call] } : message], traits)[0];
  };

  test("is in the field that the template reads", () => {
    expect(given("{{ messages[0].reasoning_content }}")).toEqual({
      role: "assistant",
      content: "4",
      reasoning_content: "2 + 2",
    });
    expect(given("{{ messages[0].thinking }}")).toMatchObject({ content: "4", thinking: "2 + 2" });
    expect(given("{{ messages[0]['thinking'] }}{{ messages | tojson }}", true)).toMatchObject({
      content: "",
      thinking: "2 + 2",
    });
  });

  test("is left out where the template reads none", () => {
    expect(given(PLAIN_CHATML)).toEqual({ role: "assistant", content: "4" });
  });
});
