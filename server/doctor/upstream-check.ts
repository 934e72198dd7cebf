import { randomUUID } from "node:crypto";
import type { OwnFault } from "../../engine/upstream/answer/answer-class.ts";
import { AttemptFailure } from "../../engine/upstream/attempt.ts";
import type { UpstreamConfig, UpstreamKind } from "../../engine/upstream/dialect/upstream-config.ts";
import { replicaModels } from "../../engine/upstream/discovery.ts";
import { LoadScrape, metricsOf } from "../../engine/upstream/load-scrape.ts";
import type { Replica } from "../../engine/upstream/replica/replica.ts";
import { UpstreamAccess } from "../../engine/upstream/upstream-access.ts";

/** A replica as one look at it found it. */
export interface ReplicaCheck {
  url: string;
  /** With the longest request in tokens, null where it does not say. Null for a replica that does not list them. */
  models: { id: string; context: number | null }[] | null;
  /** Why it does not; `fault` where this server's settings are wrong for it. */
  failure: { reason: string; fault: OwnFault | null } | null;
  /** True where its load was read; null for a kind whose metrics are not known. */
  metrics: boolean | null;
}

export interface UpstreamCheck {
  name: string;
  /** Null where no replica says. */
  kind: UpstreamKind | null;
  replicas: ReplicaCheck[];
}

const CLOCK = { now: () => performance.now(), epochMs: () => Date.now() };
const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Asks each replica of an upstream for its models and its load, as a server would; it computes nothing there. */
export async function checkUpstream(config: UpstreamConfig): Promise<UpstreamCheck> {
  const access = new UpstreamAccess(config, {
    clock: CLOCK,
    random: Math.random,
    randomId: randomUUID,
    log: SILENT,
    observer: { ended: () => {}, retried: () => {}, hedged: () => {}, estimated: () => {}, dropped: () => {} },
  });
  try {
    const lists = await Promise.all(access.replicas.map((replica) => listOf(replica, access)));
    const replicas = await Promise.all(
      lists.map(async ({ replica, ...list }): Promise<ReplicaCheck> => {
        return { url: replica.url, ...list, metrics: await readsLoad(replica, access) };
      }),
    );
    const known = config.kind !== null || lists.some(({ models }) => (models?.length ?? 0) > 0);
    return { name: config.name, kind: known ? access.kind : null, replicas };
  } finally {
    await access.close();
  }
}

async function listOf(replica: Replica, access: UpstreamAccess) {
  try {
    const models = await replicaModels(replica.url, access.headers, access, new AbortController().signal);
    if (models[0] !== undefined) access.found(models[0].kind);
    replica.healthy = true;
    return { replica, models: models.map(({ id, context }) => ({ id, context })), failure: null };
  } catch (error) {
    if (!(error instanceof AttemptFailure)) throw error;
    const { failure } = error;
    const {
      class: name,
      fault,
      error: said,
    } = access.classify(failure, {
      content: false,
      healthy: false,
      priority: false,
    });
    return { replica, models: null, failure: { reason: said?.message || name, fault } };
  }
}

async function readsLoad(replica: Replica, access: UpstreamAccess): Promise<boolean | null> {
  if (metricsOf(access.kind) === null) return null;
  await new LoadScrape(replica, access).look([], new AbortController().signal);
  return replica.loadAt !== null;
}
