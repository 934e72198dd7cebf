/** A token of C++ source. The text of a string is its value. */
export interface CppToken {
  kind: "string" | "number" | "name" | "sign";
  text: string;
  line: number;
}

const SPACE = /\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const RAW = /R"([^()\s\\]{0,16})\(([\s\S]*?)\)\1"/y;
const STRING = /"((?:[^"\\\n]|\\[\s\S])*)"/y;
const CHARACTER = /'(?:[^'\\\n]|\\.[^']*)'/y;
const NUMBER = /\d[\w.]*/y;
const NAME = /[A-Za-z_]\w*/y;
const SIGN = /::|->|[\s\S]/y;

const KINDS: [RegExp, CppToken["kind"] | null, (match: RegExpExecArray) => string][] = [
  [SPACE, null, () => ""],
  [RAW, "string", ([, , text]) => text!],
  [STRING, "string", ([, text]) => unescaped(text!)],
  [CHARACTER, "sign", ([text]) => text!],
  [NUMBER, "number", ([text]) => text!],
  [NAME, "name", ([text]) => text!],
  [SIGN, "sign", ([text]) => text!],
];

/** The tokens of a C++ source, without comments; string literals that follow one another are one. */
export function cppTokens(source: string): CppToken[] {
  const tokens: CppToken[] = [];
  let line = 1;
  for (let at = 0; at < source.length; ) {
    for (const [pattern, kind, textOf] of KINDS) {
      pattern.lastIndex = at;
      const match = pattern.exec(source);
      if (match === null) continue;
      const last = tokens.at(-1);
      if (kind === "string" && last?.kind === "string") last.text += textOf(match);
      else if (kind !== null) tokens.push({ kind, text: textOf(match), line });
      line += match[0].split("\n").length - 1;
      at = pattern.lastIndex;
      break;
    }
  }
  return tokens;
}

const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", "0": "\0" };

function unescaped(text: string): string {
  return text.replace(/\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|([\s\S]))/g, (_, byte, unit, letter: string) => {
    const code: string | undefined = byte ?? unit;
    return code === undefined ? (ESCAPES[letter] ?? letter) : String.fromCharCode(Number.parseInt(code, 16));
  });
}
