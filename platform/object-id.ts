import { randomBytes } from "node:crypto";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const LENGTH = 24;

export type IdPrefix =
  | "file-"
  | "upload_"
  | "part_"
  | "batch_"
  | "resp_"
  | "evt_"
  | "download_"
  | "conv_"
  | "msg_"
  | "rs_"
  | "fc_"
  | "fco_"
  | "ctc_"
  | "ctco_"
  | "cmp_"
  | "item_";

/** The prefix and 24 random base62 digits (142 bits). */
export function objectId(prefix: IdPrefix, random: (count: number) => Uint8Array = randomBytes): string {
  let digits = "";
  while (digits.length < LENGTH) {
    for (const byte of random(2 * LENGTH)) {
      // 248 = 4 × 62: bytes from there on would make some digits likelier than others.
      if (byte < 248 && digits.length < LENGTH) digits += DIGITS[byte % 62];
    }
  }
  return prefix + digits;
}

/** True for a well-formed id. Only such text becomes part of a path. */
export function isObjectId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(prefix) && /^[0-9A-Za-z]{24}$/.test(text.slice(prefix.length));
}
