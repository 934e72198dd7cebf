import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { INT32_MAX } from "../generation/int32.ts";

const MOST_STOPS = 64;
const MOST_STOP_CHARACTERS = 256;

/** The options of a generation, with defaults of Ollama, which are not those of OpenAI's endpoints. Others are ignored. */
export const ollamaOptions = z.object({
  temperature: z.number().min(0).max(2).nullish().describe("0 for greedy decoding. Default 0.8."),
  top_k: z.int().min(-1).max(INT32_MAX).nullish().describe("0 and -1 for off. Default 40."),
  top_p: z.number().min(0).max(1).nullish().describe("Default 0.9."),
  min_p: z.number().min(0).max(1).nullish().describe("Default 0."),
  typical_p: z.number().min(0).max(1).nullish().describe("Default 1."),
  repeat_penalty: z.number().gt(0).max(2).nullish().describe("Default 1."),
  repeat_last_n: z
    .int()
    .min(-1)
    .max(INT32_MAX)
    .nullish()
    .describe("Last tokens that the three penalties count; -1 for all, 0 for none. Default 64."),
  presence_penalty: z.number().min(-2).max(2).nullish().describe("Default 0."),
  frequency_penalty: z.number().min(-2).max(2).nullish().describe("Default 0."),
  seed: z
    .number()
    .min(-(2 ** 63))
    .max(2 ** 63)
    .refine(Number.isInteger, { error: "expected an integer" })
    .meta({ type: "integer" })
    .nullish()
    .describe("Equal seeds give equal results on the same model and machine; -1 for a random one. Default -1."),
  num_predict: z
    .int()
    .min(-2)
    .max(INT32_MAX)
    .nullish()
    .describe("Most tokens of the answer; 0 and less for as many as the context has room for. Default -1."),
  stop: boundedList(z.string().max(MOST_STOP_CHARACTERS), { max: MOST_STOPS })
    .nullish()
    .describe("Texts that end the answer, which ends before them. Empty ones are ignored."),
});
export type OllamaOptions = z.infer<typeof ollamaOptions>;
