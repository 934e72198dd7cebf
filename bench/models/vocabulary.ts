import type { GgufValue } from "./gguf.ts";

const CONSONANTS = [..."bcdfghjklmnpqrstvwxz"];
const VOWELS = [..."aeiou"];
const BYTES = 256;
const SPACE = "Ġ";
const CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"];
/** Coprime with 10^6, so that steps of it visit every word of three syllables once, in mixed order. */
const STRIDE = 700_001;

export interface Vocabulary {
  tokens: string[];
  merges: string[];
  /** Ids of the control tokens: <|endoftext|>, <|im_start|>, <|im_end|>. */
  control: number[];
  /** Tokens that a model should rarely draw: the control tokens, and the bytes, which are not text by themselves. */
  unlikely: number[];
}

const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/** GPT-2's reversible map from the 256 bytes to printable characters. */
function byteSymbols(): string[] {
  let extra = 0;
  return Array.from({ length: BYTES }, (_, byte) => {
    const printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    return String.fromCodePoint(printable ? byte : BYTES + extra++);
  });
}

/**
 * A byte-level BPE vocabulary of exactly `size` tokens: the bytes, syllables, and words of up to three syllables, each
 * with the merges that build it, in an order in which every word can be built. At most about a million tokens.
 */
export function syntheticVocabulary(size: number): Vocabulary {
  const tokens = byteSymbols();
  const merges: string[] = [];
  const ordinary = size - CONTROL.length;
  if (ordinary < tokens.length) throw new RangeError(`a vocabulary holds at least ${tokens.length + CONTROL.length}`);
  const merge = (left: string, right: string) => {
    if (tokens.length === ordinary) return;
    tokens.push(left + right);
    merges.push(`${left} ${right}`);
  };
  const syllables = CONSONANTS.flatMap((consonant) => VOWELS.map((vowel) => consonant + vowel));
  for (const syllable of syllables) merge(syllable[0]!, syllable[1]!);
  for (const syllable of syllables) merge(SPACE, syllable);
  for (const first of syllables) for (const second of syllables) merge(SPACE + first, second);
  for (const first of syllables) for (const second of syllables) merge(first, second);
  for (let i = 0; i < 1_000_000 && tokens.length < ordinary; i++) {
    const word = (i * STRIDE) % 1_000_000;
    const start = SPACE + syllables[Math.floor(word / 10_000)]! + syllables[Math.floor(word / 100) % 100]!;
    merge(start, syllables[word % 100]!);
  }
  if (tokens.length < ordinary) throw new RangeError(`a synthetic vocabulary of ${size} tokens is too large`);
  const control = CONTROL.map((_, i) => tokens.length + i);
  const unlikely = [...Array(BYTES).keys(), ...control];
  return { tokens: [...tokens, ...CONTROL], merges, control, unlikely };
}

/** The header entries of the vocabulary and its ChatML template. */
export function vocabularyMetadata(vocabulary: Vocabulary): Record<string, GgufValue> {
  const [end, , turnEnd] = vocabulary.control as [number, number, number];
  const control = new Set(vocabulary.control);
  return {
    "tokenizer.ggml.model": { type: "string", value: "gpt2" },
    "tokenizer.ggml.pre": { type: "string", value: "qwen2" },
    "tokenizer.ggml.tokens": { type: "strings", value: vocabulary.tokens },
    "tokenizer.ggml.token_type": { type: "int32s", value: vocabulary.tokens.map((_, id) => (control.has(id) ? 3 : 1)) },
    "tokenizer.ggml.merges": { type: "strings", value: vocabulary.merges },
    "tokenizer.ggml.bos_token_id": { type: "uint32", value: end },
    "tokenizer.ggml.eos_token_id": { type: "uint32", value: turnEnd },
    "tokenizer.ggml.padding_token_id": { type: "uint32", value: end },
    "tokenizer.ggml.add_bos_token": { type: "bool", value: false },
    "tokenizer.chat_template": { type: "string", value: CHATML },
  };
}
