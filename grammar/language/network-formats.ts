/** Formats of names and addresses in networks, as right-hand sides in GBNF over plain ASCII characters. */

const OCTET = '("25" [0-5] | "2" [0-4] [0-9] | "1" [0-9]{2} | [1-9]? [0-9])';
const HEX = "[0-9A-Fa-f]";
const GROUP = `${HEX}{1,4}`;

export const IPV4 = `${OCTET} ("." ${OCTET}){3}`;
/** RFC 4291, 2.2: all groups, or `::` for one or more of them; an IPv4 address may be the last two. */
export const IPV6 = ipv6();

const LETTER = "[A-Za-z]";
const ALNUM = "[0-9A-Za-z]";
const LDH = "[0-9A-Za-z-]";
/**
 * RFC 1123, 2.1, and RFC 5890, 2.3.1: names of at most 253 characters, of many short or of few long labels. Without labels
 * that have hyphens as third and fourth character: those mark punycode, which is valid only if it can be decoded. Without
 * a last label of digits, as in an IPv4 address.
 */
export const HOSTNAME = [
  [63, 3],
  [28, 7],
  [14, 15],
]
  .map(([length, labels]) => `(${label(ALNUM, length!)} "."){0,${labels}} ${lastLabel(Math.min(length!, 61))}`)
  .join(" | ");

/** RFC 5321: a dot-string of at most 64 characters, and a domain or an address; without quoted names. */
const ATOM = "[0-9A-Za-z!#$%&'*+/=?^_`{|}~-]";
const DOMAIN = `(${ALNUM} (${LDH}{0,59} ${ALNUM})? "."){0,3} ${LETTER} (${LDH}{0,59} ${ALNUM})?`;
export const EMAIL = `(${ATOM}{1,64} | ${ATOM} ("."? ${ATOM}){1,31}) "@" (${DOMAIN} | "[" ${IPV4} "]" | "[IPv6:" (${IPV6}) "]")`;
/** The addresses that zod accepts too. */
export const ZOD_EMAIL =
  `([A-Za-z0-9_'+-] ("."? [A-Za-z0-9_'+-]){0,29} "."?)? [A-Za-z0-9_+-] "@" ` +
  `(${ALNUM} (${LDH}{0,59} ${ALNUM})? "."){1,3} ${LETTER}{2,24}`;

/** RFC 3986, 3, with hosts and ports that the WHATWG's URL parser accepts. */
export const URI = uri();

/** A label without hyphens as both its third and its fourth character. */
function label(first: string, most: number): string {
  const long = `${LDH} (${ALNUM} ${LDH} | "-" ${ALNUM}) ${LDH}{0,${most - 5}} ${ALNUM}`;
  return `${first} (${ALNUM} | ${LDH} ${ALNUM} | ${LDH} ${ALNUM} ${ALNUM} | ${LDH} "-" ${ALNUM} | ${long})?`;
}

function lastLabel(most: number): string {
  return `(${label(LETTER, most)} | [0-9]{1,3} ${LETTER} ${ALNUM}{0,${most - 4}})`;
}

function ipv6(): string {
  const groups = (count: number) => (count === 1 ? GROUP : `${GROUP} (":" ${GROUP}){${count - 1}}`);
  const upTo = (most: number): string => {
    const parts = [`${GROUP} (":" ${GROUP}){0,${most - 1}}`];
    if (most === 2) parts.push(IPV4);
    if (most > 2) parts.push(`(${GROUP} ":"){0,${most - 2}} ${IPV4}`);
    return `(${parts.join(" | ")})?`;
  };
  const alternatives = [groups(8), `(${GROUP} ":"){6} ${IPV4}`, `"::" ${upTo(7)}`];
  for (let left = 1; left <= 6; left++) alternatives.push(`${groups(left)} "::" ${upTo(7 - left)}`);
  return [...alternatives, `${groups(7)} "::"`].join(" | ");
}

function uri(): string {
  const encoded = `"%" ${HEX}{2}`;
  const pchar = `([A-Za-z0-9._~!$&'()*+,;=:@-] | ${encoded})`;
  const segments = `("/" ${pchar}*)*`;
  const rooted = `${pchar}+ ${segments}`;
  const user = `(([A-Za-z0-9._~!$&'()*+,;=:-] | ${encoded})* "@")?`;
  const name = `([A-Za-z0-9._~!$&'()*+,;=-] | ${encoded})+`;
  const port = `(":" ([1-9] [0-9]{0,3} | [1-5] [0-9]{4} | "6" [0-4] [0-9]{3} | "65" [0-4] [0-9]{2} | "655" [0-2] [0-9] | "6553" [0-5]))?`;
  const host = `(${ALNUM} ("-"* ${ALNUM})* ".")* ${LETTER} ("-"* ${ALNUM})*`;
  const address = `"[" (${IPV6}) "]"`;
  const web = `(${["http", "https", "ws", "wss", "ftp"].map(anyCase).join(" | ")})`;
  const parts = [
    `${web} "://" ${user} (${host} | ${IPV4} | ${address}) ${port} ${segments}`,
    `${anyCase("file")} "://" (${host})? ("/" ${pchar}*)+`,
    `${otherScheme(["http", "https", "ws", "wss", "ftp", "file"])} ":" ` +
      `("//" (${user} (${name} | ${address}) ${port})? ${segments} | "/" (${rooted})? | (${rooted})?)`,
  ];
  const more = `([A-Za-z0-9._~!$&'()*+,;=:@/?-] | ${encoded})*`;
  return `(${parts.join(" | ")}) ("?" ${more})? ("#" ${more})?`;
}

function anyCase(word: string): string {
  return [...word].map((letter) => `[${letter}${letter.toUpperCase()}]`).join(" ");
}

/** A scheme that is none of these words, in any case. */
function otherScheme(words: readonly string[]): string {
  const after = (beginning: string): string => {
    const next = [...new Set(words.filter((word) => word.startsWith(beginning)).map((word) => word[beginning.length]))];
    const taken = next.filter((letter) => letter !== undefined);
    const free = [..."abcdefghijklmnopqrstuvwxyz"].filter((letter) => !taken.includes(letter));
    const others = free.map((letter) => letter + letter.toUpperCase()).join("");
    const parts = [`[${others}${beginning === "" ? "" : "0-9+.-"}] [A-Za-z0-9+.-]*`];
    for (const letter of taken) parts.push(`${anyCase(letter)} ${after(beginning + letter)}`);
    if (beginning !== "" && !words.includes(beginning)) parts.push('""');
    return `(${parts.join(" | ")})`;
  };
  return after("");
}
