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
export const EMAIL = `${dotString(64, 31)} "@" (${domain(61, 3)} | "[" ${IPV4} "]" | "[IPv6:" (${IPV6}) "]")`;
/** The addresses that zod accepts too. */
export const ZOD_EMAIL = zodEmail(29, 61, 3);

/** RFC 3986, 3, with hosts and ports that the WHATWG's URL parser accepts. */
export const URI = uri();

/**
 * Parts of a format whose texts have at most a number of characters, the longest first. To count the characters of the
 * whole format would take too many states.
 */
export const SHORTER: ReadonlyMap<string, readonly (readonly [most: number, body: string])[]> = new Map([
  [
    EMAIL,
    [
      [312, EMAIL],
      [249, `${dotString(63, 31)} "@" ${domain(61, 2)}`],
      [118, `${dotString(31, 15)} "@" ${domain(28, 2)}`],
      [62, `${dotString(17, 8)} "@" ${domain(14, 2)}`],
    ],
  ],
  [
    ZOD_EMAIL,
    [
      [272, ZOD_EMAIL],
      [210, zodEmail(29, 61, 2)],
      [110, zodEmail(12, 28, 2)],
      [55, zodEmail(6, 14, 1)],
    ],
  ],
  [
    HOSTNAME,
    [
      [253, HOSTNAME],
      [115, `(${label(ALNUM, 28)} "."){0,3} ${label(LETTER, 28)}`],
      [59, `(${label(ALNUM, 14)} "."){0,3} ${label(LETTER, 14)}`],
      [29, `(${label(ALNUM, 14)} ".")? ${label(LETTER, 14)}`],
    ],
  ],
  [
    URI,
    [
      [1930, webUri(28, 500, 100)],
      [910, webUri(28, 200, 60)],
      [250, webUri(28, 30, 10)],
      [109, webUri(10, 13, 4)],
    ],
  ],
]);

/** A dot-string of `most` characters, or of `dots` dots and one character more. */
function dotString(most: number, dots: number): string {
  return `(${ATOM}{1,${most}} | ${ATOM} ("."? ${ATOM}){1,${dots}})`;
}

/** A domain of labels of at most `most` characters, the last one besides `labels` others. */
function domain(most: number, labels: number): string {
  return `(${ALNUM} (${LDH}{0,${most - 2}} ${ALNUM})? "."){0,${labels}} ${LETTER} (${LDH}{0,${most - 2}} ${ALNUM})?`;
}

function zodEmail(dots: number, most: number, labels: number): string {
  return (
    `([A-Za-z0-9_'+-] ("."? [A-Za-z0-9_'+-]){0,${dots}} "."?)? [A-Za-z0-9_+-] "@" ` +
    `(${ALNUM} (${LDH}{0,${most - 2}} ${ALNUM})? "."){1,${labels}} ${LETTER}{2,24}`
  );
}

/**
 * An address in the web with at most these numbers of characters in a label,
 * and of characters and escapes in path and query, and in the fragment.
 */
function webUri(most: number, path: number, fragment: number): string {
  const unit = `([A-Za-z0-9._~!$&'()*+,;=:@/?-] | "%" ${HEX}{2})`;
  const host = `(${label(ALNUM, most)} "."){0,3} ${label(LETTER, most)}`;
  const port = '(":" [1-9] [0-9]{0,3})?';
  return `("http" "s"? | "ftp") "://" ${host} ${port} ("/" ${unit}{0,${path}})? ("#" ${unit}{0,${fragment}})?`;
}

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
