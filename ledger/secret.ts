import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** `ns_<16 hex>_<43 of base64url>`: the first part finds the key, the second has 256 bits. */
const SECRET = /^ns_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/;

export interface Secret {
  text: string;
  prefix: string;
}

/** With a new prefix, or for the key that has this one. */
export function newSecret(prefix = randomBytes(8).toString("hex")): Secret {
  return { text: `ns_${prefix}_${randomBytes(32).toString("base64url")}`, prefix };
}

/** Null for what no secret of ours can be. */
export function prefixOf(text: string): string | null {
  return SECRET.exec(text)?.[1] ?? null;
}

/** SHA-256. A secret of 256 random bits needs no slow hash: there is nothing to guess. */
export function digestOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Takes the same time wherever they differ; digests have one length. `hash` is hex. */
export function equals(digest: Buffer, hash: string): boolean {
  return timingSafeEqual(digest, Buffer.from(hash, "hex"));
}
