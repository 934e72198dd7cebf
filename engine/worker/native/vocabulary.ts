import type { Llama } from "./bindings.ts";
import { call } from "./call.ts";
import type { Pointer } from "./structs.ts";

const UNKNOWN = 1;
const CONTROL = 8;
/** Above this many bytes a text is tokenized on another thread: below, the way there would cost more than the work. */
const LONG_TEXT = 16 * 1024;
const PIECE_BYTES = 512;

/** Text to tokens and back. Everything here may be called while a decode runs. */
export class Vocabulary {
  readonly size: number;
  /** −1 where the vocabulary has none. */
  readonly bos: number;
  readonly eos: number;
  readonly addBos: boolean;
  /** What a model that ranks expects at the end of a text, and between two; −1 for nothing. */
  readonly closing: number;
  readonly separator: number;
  /** Tokens that end a generation. */
  readonly endTokens: number[] = [];
  /** The texts that tokenize to control tokens when a template writes them, and must not when a user does. */
  readonly specialTexts: string[] = [];
  readonly #llama: Llama;
  readonly #vocab: Pointer;
  readonly #pieces: (Uint8Array | undefined)[];
  readonly #buffer = new Uint8Array(PIECE_BYTES);
  readonly #ends: Set<number>;

  constructor(llama: Llama, vocab: Pointer) {
    this.#llama = llama;
    this.#vocab = vocab;
    this.size = llama.llama_vocab_n_tokens(vocab);
    this.bos = llama.llama_vocab_bos(vocab);
    this.eos = llama.llama_vocab_eos(vocab);
    this.addBos = llama.llama_vocab_get_add_bos(vocab) && this.bos >= 0;
    this.closing = llama.llama_vocab_get_add_eos(vocab) ? this.eos : -1;
    this.separator = llama.llama_vocab_get_add_sep(vocab) ? llama.llama_vocab_sep(vocab) : -1;
    this.#pieces = new Array<Uint8Array | undefined>(this.size);
    for (let token = 0; token < this.size; token++) {
      if (llama.llama_vocab_is_eog(vocab, token)) this.endTokens.push(token);
      const attributes = llama.llama_vocab_get_attr(vocab, token);
      if ((attributes & (UNKNOWN | CONTROL)) !== 0) {
        const text = this.text(token);
        if (text !== "") this.specialTexts.push(text);
      }
    }
    this.#ends = new Set(this.endTokens);
  }

  isEnd(token: number): boolean {
    return this.#ends.has(token);
  }

  /** Whether one token, of whatever kind, has exactly this text. */
  isToken(text: string): boolean {
    const bytes = Buffer.from(text);
    const tokens = new Int32Array(bytes.length + 8);
    const count = this.#llama.llama_tokenize(this.#vocab, bytes, bytes.length, tokens, tokens.length, false, true);
    return count === 1 && this.text(tokens[0]!) === text;
  }

  /** Lets these control tokens show in the output as their text: marks that the server itself looks for there. */
  show(texts: readonly string[]): void {
    for (const [token, bytes] of this.hidden(texts)) this.#pieces[token] = bytes;
  }

  /** The tokens of these texts that do not show in the output, with the bytes that they would show. */
  hidden(texts: readonly string[]): Map<number, Uint8Array> {
    const found = new Map<number, Uint8Array>();
    for (let token = 0; texts.length > 0 && token < this.size; token++) {
      if (this.#render(token, false).length > 0) continue;
      if (texts.includes(this.text(token))) found.set(token, this.#render(token, true));
    }
    return found;
  }

  /** The text of any token, control tokens included; empty for −1. */
  text(token: number): string {
    return token < 0 ? "" : Buffer.from(this.bytes(token)).toString();
  }

  /** The same as bytes, which may be half a character. */
  bytes(token: number): Uint8Array {
    return this.#render(token, true);
  }

  /** The bytes that a generated token adds to the output: none for control tokens, perhaps half a character. */
  piece(token: number): Uint8Array {
    this.#pieces[token] ??= this.#render(token, false);
    return this.#pieces[token];
  }

  /**
   * @param special whether texts of control tokens become these tokens
   * @param framed whether the tokens that the model wants before and behind a text are added
   */
  async tokenize(text: string, special: boolean, framed = false): Promise<Int32Array> {
    const bytes = Buffer.from(text);
    if (bytes.length <= LONG_TEXT) return this.tokenizeNow(text, special, framed);
    const tokens = roomFor(bytes);
    const { llama_tokenize: tokenize } = this.#llama;
    const count = await call(tokenize, this.#vocab, bytes, bytes.length, tokens, tokens.length, framed, special);
    return counted(tokens, count, bytes);
  }

  /** The same for a short text, on this thread. */
  tokenizeNow(text: string, special: boolean, framed = false): Int32Array {
    const bytes = Buffer.from(text);
    const tokens = roomFor(bytes);
    const { llama_tokenize: tokenize } = this.#llama;
    return counted(tokens, tokenize(this.#vocab, bytes, bytes.length, tokens, tokens.length, framed, special), bytes);
  }

  #render(token: number, special: boolean): Uint8Array {
    const count = this.#llama.llama_token_to_piece(this.#vocab, token, this.#buffer, PIECE_BYTES, 0, special);
    if (count >= 0) return this.#buffer.slice(0, count);
    const buffer = new Uint8Array(-count);
    this.#llama.llama_token_to_piece(this.#vocab, token, buffer, buffer.length, 0, special);
    return buffer;
  }
}

/** A token stands for at least one byte; some tokenizers put a space in front. */
function roomFor(bytes: Uint8Array): Int32Array {
  return new Int32Array(bytes.length + 8);
}

function counted(tokens: Int32Array, count: number, bytes: Uint8Array): Int32Array {
  if (count < 0) throw new Error(`The tokenizer returned ${count} for ${bytes.length} bytes.`);
  return tokens.subarray(0, count);
}
