import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** `ns_<16 hex>_<43 of base64url>`: the first part identifies the key, the second has 256 random bits. */
const SECRET = /^ns_([0-9a-f]{16})_[A-Za-z0-9_-]{43}$/;

export interface Secret {
  text: string;
  prefix: string;
}

/** A new secret with a new prefix, or with the prefix of its key. */
export function newSecret(prefix = randomBytes(8).toString("hex")): Secret {
  return { text: `ns_${prefix}_${randomBytes(32).toString("base64url")}`, prefix };
}

/** Null when the text is not in the form of a secret. */
export function prefixOf(text: string): string | null {
  return SECRET.exec(text)?.[1] ?? null;
}

/** SHA-256. A secret of 256 random bits needs no slow hash, as it cannot be guessed. */
export function digestOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** Compares in constant time; digests have one length. `hash` is hex. */
export function equals(digest: Buffer, hash: string): boolean {
  return timingSafeEqual(digest, Buffer.from(hash, "hex"));
}
