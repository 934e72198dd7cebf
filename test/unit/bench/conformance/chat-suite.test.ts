import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { chatRows, runChatSuite } from "../../../../bench/conformance/chat-suite.ts";
import { chatTests } from "../../../../bench/conformance/chat-tests.ts";
import { QWEN } from "../../engine/worker/text/template/templates.ts";

const SOURCE = String.raw`
static common_chat_tool f_tool{ "f", /* text */ "does f", R"({"type": "object", "properties": {"a": {"type": "integer"}}})" };
const common_chat_msg hello = simple_assist_msg("Hello,\n" "you");

static void test_family(const std::string & template_path, bool debug) {
    auto tst = peg_tester(template_path, debug);
    tst.test("Hello,\nyou").expect(hello).run();
}

static void test_parsers(bool debug) {
    if (filter) { skip(); }
    {
        auto tst = peg_tester("t/qwen.jinja", debug);
        const std::string call = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";
        common_chat_msg user;
        user.role    = "user";
        user.content = "Call it.";
        tst.test("I call.\n" + call)
            .tools({ f_tool, { "g", "", "{}" } })
            .messages({ user })
            .reasoning_format(COMMON_REASONING_FORMAT_AUTO)
            .expect_content("I call.")
            .expect_tool_calls({ { "f", R"({"a":1})", {} } })
            .run();
        tst.test(call).expect(message_with_tool_calls("f", "{}")).tools({ f_tool }).run();
        tst.test(" more").continue_final_message(x).run();
    }
    for (const auto & path : { "t/qwen.jinja", "t/other.jinja" }) {
        test_family(path, debug);
    }
}
`;

test("messages are read with their templates, tools and expectations", () => {
  const { tests, continued } = chatTests(SOURCE);
  expect(tests.map(({ template, input }) => [template, input.slice(0, 5)])).toEqual([
    ["t/qwen.jinja", "I cal"],
    ["t/qwen.jinja", "<tool"],
    ["t/qwen.jinja", "Hello"],
    ["t/other.jinja", "Hello"],
  ]);
  expect(tests[0]).toMatchObject({
    tools: [{ name: "f" }, { name: "g", parameters: "{}" }],
    messages: [{ role: "user", content: "Call it." }],
    splitsReasoning: true,
    expected: { content: "I call.", reasoning: "", calls: [{ name: "f", arguments: '{"a":1}', id: "" }] },
  });
  expect(continued).toHaveLength(1);
});

test("equal messages are counted by template, and others are named with their reason", () => {
  const directory = mkdtempSync(join(tmpdir(), "nightshift-chats-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const folder of ["tests", "t"]) mkdirSync(join(directory, folder));
  writeFileSync(join(directory, "tests", "test-chat.cpp"), SOURCE);
  writeFileSync(join(directory, "t", "qwen.jinja"), QWEN);
  writeFileSync(join(directory, "t", "other.jinja"), "{% for message in messages %}{{ message.content }}{% endfor %}");
  const suite = runChatSuite(directory);
  expect(chatRows(suite)).toEqual([
    ["qwen", "hermes", "3", "2", "2", "1"],
    ["other", "hermes", "1", "1", "0", "0"],
    ["all", "", "4", "3", "2", "1"],
  ]);
  expect(suite.differences).toEqual([
    { line: 25, template: "qwen", reason: 'calls are [["f","{\\"a\\":1}",""]], not [["f","{}",""]]' },
  ]);
  expect(suite.unstable).toEqual([]);
});
