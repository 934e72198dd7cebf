import type { Asked } from "../../../engine/engine.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { ignoredNames } from "../../../openapi/ignored-fields.ts";
import { answerBound, type InfillRequest, infillRequest, namesInfillSampler } from "../../../openapi/infill/infill.ts";
import type { RequestLimits } from "../../../openapi/request-limits.ts";
import { answerForm, formRule } from "../../generation/answer-form.ts";
import type { Dialect } from "../../generation/generation-endpoint.ts";
import { generationSettings, leavesTier, tierOf } from "../../generation/generation-settings.ts";
import type { GenerationRequest } from "../../generation/request.ts";
import { unusedSamplerFields } from "../../generation/unused-samplers.ts";
import { InfillEvents, infillBody } from "./infill-response.ts";

/** llama-server's name of a file without one. */
const UNNAMED_FILE = "tmp";

/** A seed that stands for a random one. */
const RANDOM_SEED = -1;

/** POST /infill of llama-server. */
export function infillDialect(limits: RequestLimits): Dialect {
  return { endpoint: "/infill", idPrefix: "infill-", read: infillReader(limits) };
}

function infillReader(limits: RequestLimits): (body: unknown) => GenerationRequest {
  const schema = infillRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    return {
      model: body.model ?? null,
      tier: tierOf(body.service_tier),
      openTier: leavesTier(body.service_tier),
      submissions: [infillSubmission(body)],
      toolChoice: null,
      stream: body.stream ?? false,
      ignored: [
        ...ignoredNames(Object(json), schema),
        ...unusedSamplerFields({ ...body, n: 1 }),
        ...(namesInfillSampler(Object(json).samplers) ? ["samplers.infill"] : []),
      ],
      dryRun: body.nightshift?.dry_run ?? false,
      chunks: (identity) => new InfillEvents(identity),
      whole: infillBody,
    };
  };
}

function infillSubmission(body: InfillRequest): Asked {
  const maxTokens = answerBound(body);
  const files = (body.input_extra ?? []).map(({ filename, text }) => ({ name: filename ?? UNNAMED_FILE, text }));
  const seed = body.seed === RANDOM_SEED ? null : body.seed;
  return {
    ...generationSettings({ ...body, seed, n: 1 }, { maxTokens, logprobs: null }),
    prompt: {
      kind: "infill",
      prefix: body.input_prefix,
      suffix: body.input_suffix,
      middle: body.prompt ?? "",
      repository: { files, answerTokens: maxTokens },
    },
    grammar: formRule(answerForm(body)),
    echo: false,
  };
}
