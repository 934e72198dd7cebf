import type { Execute, Executed } from "../../batch/lines/line-execution.ts";
import { ApiError } from "../../openapi/api-error.ts";
import type { BatchEndpoint } from "../../openapi/resources/batches.ts";
import { ModelLoad } from "../admission/model-load.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import { chatDialect } from "../dialects/chat.ts";
import { completionDialect } from "../dialects/completions.ts";
import { embeddingsReader } from "../dialects/embeddings.ts";
import { responsesDialect } from "../dialects/responses/responses.ts";
import type { Dialect } from "../generation/generation-endpoint.ts";
import { BackgroundLine } from "./background-line.ts";
import { embedLine } from "./embedding-line.ts";
import { generateLine } from "./generation-line.ts";
import { type ExecuteDeps, grammarOwner, type LineContext } from "./line-deps.ts";
import { refusedLine } from "./line-outcome.ts";
import { checkLineModel, messageLineDialect } from "./message-line.ts";

/** Reads a line's body, and returns what runs it. Both throw the ApiError that is the line's answer. */
type Reader = (body: unknown, owner: string) => (ready: ReadyModel, line: LineContext) => Promise<Executed>;

/**
 * Runs a batch line through the code of the synchronous endpoints, at tier batch also where its body names another. A line does
 * not wait in the online queue, and takes no place in it.
 */
export function lineExecutor(deps: ExecuteDeps): Execute {
  const generation =
    (dialect: Dialect): Reader =>
    (body, owner) => {
      const request = dialect.read(body, owner);
      return (ready, line) => generateLine(deps, { dialect, request, ready, line });
    };
  const readInput = embeddingsReader(deps.limits);
  const readers: Record<BatchEndpoint, Reader> = {
    "/v1/chat/completions": generation(chatDialect(deps.limits, deps.completions)),
    "/v1/completions": generation(completionDialect(deps.limits)),
    "/v1/messages": generation(messageLineDialect(deps.limits)),
    "/v1/responses": generation(responsesDialect({ limits: deps.limits, seal: deps.seal, state: null })),
    "/v1/embeddings": (body) => {
      const request = readInput(body);
      return (ready, line) => embedLine(deps, request, ready, line);
    },
  };
  // Apart from the online loads, so that batch lines neither fill a queue nor lengthen a Retry-After.
  const batchLoads = new Map<string, ModelLoad>();
  const execute = async (
    endpoint: BatchEndpoint,
    body: unknown,
    { owner, model: id, signal, background }: LineContext & { model: string },
  ): Promise<Executed> => {
    try {
      if (endpoint === "/v1/messages") checkLineModel(body, (name) => deps.models.get(name)?.id, id);
      const run = await deps.grammars.run(() => readers[endpoint](body, owner), grammarOwner(owner), signal);
      const model = deps.models.get(id);
      if (model === undefined) return { how: "passing", reason: `the model '${id}' is not served` };
      const { state, facts } = model.engine;
      if (state.name !== "ready" || facts === null) return { how: "passing", reason: `the engine is ${state.name}` };
      const load = batchLoads.get(model.id) ?? new ModelLoad(() => deps.clock.now());
      batchLoads.set(model.id, load);
      return await run({ model, facts, load }, { owner, signal, background });
    } catch (error) {
      if (signal.aborted) return { how: "stopped" };
      if (error instanceof ApiError && error.status === 503) return { how: "passing", reason: error.message };
      if (error instanceof ApiError) {
        return refusedLine(error, endpoint, deps.models.get(id)?.engine.facts?.fingerprint ?? "");
      }
      return fault(error);
    }
  };
  return async (endpoint, body, { batchId, ...context }) => {
    if (endpoint !== "/v1/responses") return execute(endpoint, body, { ...context, background: null });
    try {
      const begun = await deps.background.begin(context.owner, batchId);
      const background = begun === null ? null : new BackgroundLine(begun, deps.background, deps.clock);
      const version = deps.models.get(context.model)?.engine.facts?.fingerprint ?? "";
      const ended = await background?.ended(version);
      if (ended != null) return ended;
      const executed = await execute(endpoint, body, { ...context, background });
      await background?.settle(executed);
      return executed;
    } catch (error) {
      return fault(error);
    }
  };
}

function fault(error: unknown): Executed {
  return { how: "fault", reason: error instanceof Error ? error.message : String(error) };
}
