import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "none" });
const runner = client.chat.completions.runTools({
  model: "demo",
  messages: [{ role: "user", content: "What is the weather in Oslo?" }],
  tools: [
    {
      type: "function",
      function: {
        name: "get_weather",
        description: "Get the weather of a city",
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        parse: JSON.parse,
        function: ({ city }) => (city === "Oslo" ? '{"temperature": 4}' : '{"temperature": 20}'),
      },
    },
  ],
});
runner.on("functionToolCall", (call) => console.log(call.name, call.arguments));
console.log(await runner.finalContent());
