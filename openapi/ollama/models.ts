import { z } from "zod";
import { modelName } from "./fields.ts";

const named = z
  .object({ model: modelName.nullish(), name: modelName.nullish().describe("Another name of `model`.") })
  .check(({ value, issues }) => {
    if ((value.model ?? value.name) != null) return;
    const params = { code: "missing_required_parameter" };
    issues.push({ code: "custom", input: value, path: ["model"], params, message: "model is required" });
  });

/** POST /api/show */
export const ollamaShowRequest = named.safeExtend({
  verbose: z.boolean().nullish().describe("True: `model_info` has lists too, such as the vocabulary."),
});
/** POST /api/pull */
export const ollamaPullRequest = named.safeExtend({ stream: z.boolean().nullish().describe("Default true.") });

const details = z.object({
  parent_model: z.string(),
  format: z.literal("gguf"),
  family: z.string(),
  families: z.array(z.string()),
  parameter_size: z.string().describe("Such as `7.6B`; empty until the model has been loaded once."),
  quantization_level: z.string().describe("Such as `Q4_K_M`; empty until the model has been loaded once."),
  context_length: z.int().optional(),
  embedding_length: z.int().optional(),
});

const capabilities = z.array(z.enum(["completion", "tools", "insert", "thinking", "embedding"]));

const listed = {
  name: z.string().describe("With its tag, `demo:latest`."),
  model: z.string().describe("The same as `name`."),
  size: z.number().describe("Bytes of the weights; 0 until the model has been loaded once."),
  digest: z.string().describe("64 hexadecimal digits, of the name: it does not depend on the file."),
  details,
};

export const ollamaVersion = z.object({ version: z.string() });

export const ollamaTags = z.object({
  models: z.array(z.object({ ...listed, modified_at: z.string(), capabilities })),
});
export type OllamaTags = z.infer<typeof ollamaTags>;

export const ollamaLoaded = z.object({
  models: z.array(
    z.object({
      ...listed,
      expires_at: z.string(),
      size_vram: z.number().describe("Bytes of the weights and the cache on a GPU."),
      context_length: z.int(),
    }),
  ),
});
export type OllamaLoaded = z.infer<typeof ollamaLoaded>;

const scalar = z.union([z.string(), z.number(), z.boolean()]);

export const ollamaModel = z.object({
  license: z.string(),
  modelfile: z.string(),
  parameters: z.string().describe("Lines of a name and a value."),
  template: z.string(),
  system: z.string(),
  details,
  model_info: z
    .record(z.string(), z.union([scalar, z.array(scalar), z.null()]))
    .describe("The metadata of the file. Lists are null without `verbose`."),
  capabilities,
  modified_at: z.string(),
});
export type OllamaModel = z.infer<typeof ollamaModel>;

export const ollamaStatus = z.object({ status: z.string() });
