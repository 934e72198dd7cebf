import { isIP } from "node:net";
import type { EVENT_TYPES } from "./event-types.ts";
import { isPublicAddress } from "./public-address.ts";

export type EventType = (typeof EVENT_TYPES)[number];

export interface WebhookEndpoint {
  /**
   * Normalized by the URL class, so that equal URLs are equal texts. It may contain a token and is never logged whole.
   */
  url: string;
  /** `whsec_` and base64, or any other text. Never logged. */
  secret: string;
  events: readonly EventType[];
}

/** The configured endpoints of this process, without those that answered 410 Gone since their configuration. */
export class WebhookEndpoints {
  #byUrl: ReadonlyMap<string, WebhookEndpoint> = new Map();
  readonly #gone = new Set<string>();

  constructor(endpoints: readonly WebhookEndpoint[]) {
    this.replace(endpoints);
  }

  /** Replaces the configuration; endpoints that answered 410 are enabled again. */
  replace(endpoints: readonly WebhookEndpoint[]): void {
    this.#byUrl = new Map(endpoints.map((endpoint) => [endpoint.url, endpoint]));
    this.#gone.clear();
  }

  /** Active endpoints that subscribe to this type. */
  subscribedTo(type: EventType): WebhookEndpoint[] {
    return [...this.#byUrl.values()].filter(({ url, events }) => !this.#gone.has(url) && events.includes(type));
  }

  /** Finds an endpoint, also one that is gone; undefined for one that is not configured. */
  get(url: string): WebhookEndpoint | undefined {
    return this.#byUrl.get(url);
  }

  isGone(url: string): boolean {
    return this.#gone.has(url);
  }

  disable(url: string): void {
    this.#gone.add(url);
  }
}

/** The reason that no event can be sent to this URL, as the end of a sentence; null when it is usable. */
export function endpointProblem(text: string, allowPrivate: boolean): string | null {
  if (!URL.canParse(text)) return "is not a URL";
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return "is neither https nor http";
  if (url.username !== "" || url.password !== "") return "holds a user name or password; receivers check the signature";
  if (allowPrivate) return null;
  if (url.protocol === "http:") return "is not https; http is for private addresses, with webhookAllowPrivate on";
  const host = hostOf(url);
  if (host === "localhost" || (isIP(host) !== 0 && !isPublicAddress(host))) {
    return "leads to this machine or a private network; to allow that, set webhookAllowPrivate to on";
  }
  return null;
}

/** The host name, or an IPv6 address without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}
