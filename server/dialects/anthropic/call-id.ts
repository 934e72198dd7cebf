const PREFIX = "toolu_";
/** Before an id in base64url, which has characters that ids of this API may not have. */
const ENCODED = `${PREFIX}b64_`;

/** The id of a call for the client. Templates write the ids of some models, so the own id can be read back from it. */
export function toolUseId(id: string): string {
  return /^[\w-]+$/.test(id) ? PREFIX + id : ENCODED + Buffer.from(id).toString("base64url");
}

/** The id for the template. Ids of other servers stay equal to themselves. */
export function ownCallId(id: string): string {
  if (id.startsWith(ENCODED)) return Buffer.from(id.slice(ENCODED.length), "base64url").toString();
  return id.startsWith(PREFIX) ? id.slice(PREFIX.length) : id;
}
