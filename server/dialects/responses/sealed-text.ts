import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from "node:crypto";

const CIPHER = "aes-256-gcm";
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;
/** NIST SP 800-38D allows 2^32 nonces of 96 bits that are as random ones for one key: a key is derived for each owner. */
const KEY_BYTES = 32;

/**
 * Texts that clients carry and only this server reads, such as the reasoning of a response that is not stored. A sealed text
 * is base64 of a version byte, a nonce, a tag and the ciphertext; one of another server or owner, or a changed one, does not
 * open. The nonce is a keyed hash of the text, so that a response is written equally each time.
 */
export class Seal {
  readonly #secret: Buffer;
  /** The keys that were used last: a request may have thousands of texts, and a derivation takes longer than a short text. */
  #last: { owner: string; keys: { text: Buffer; nonces: Buffer } } | null = null;

  /** `secret` is 32 random bytes of the server. */
  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  seal(text: string, owner: string): string {
    const keys = this.#keys(owner);
    const nonce = createHmac("sha256", keys.nonces).update(text).digest().subarray(0, NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, keys.text, nonce, { authTagLength: TAG_BYTES });
    const hidden = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), hidden]).toString("base64");
  }

  /** The text; null for one that this server did not seal for this owner. */
  open(sealed: string, owner: string): string | null {
    const bytes = Buffer.from(sealed, "base64");
    if (bytes.length < HEAD_BYTES || bytes[0] !== VERSION) return null;
    const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#keys(owner).text, nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(1 + NONCE_BYTES, HEAD_BYTES));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES)), decipher.final()]).toString();
    } catch {
      return null;
    }
  }

  #keys(owner: string): { text: Buffer; nonces: Buffer } {
    if (this.#last?.owner !== owner) {
      const derived = Buffer.from(hkdfSync("sha256", this.#secret, "", `sealed text of ${owner}`, 2 * KEY_BYTES));
      this.#last = { owner, keys: { text: derived.subarray(0, KEY_BYTES), nonces: derived.subarray(KEY_BYTES) } };
    }
    return this.#last.keys;
  }
}
