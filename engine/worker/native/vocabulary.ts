import type { Llama } from "./library/bindings.ts";
import { call } from "./library/ffi-call.ts";
import type { Pointer } from "./library/structs.ts";

const UNKNOWN = 1;
const CONTROL = 8;
const PIECE_BYTES = 512;

export interface TokenizeOptions {
  /** True: texts of control tokens become these tokens. */
  special: boolean;
  /** True: the model's tokens before and behind a text are added; default false. */
  framed?: boolean;
}

/** The tokens between the parts of a fill-in-the-middle prompt. */
export interface InfillTokens {
  prefix: number;
  suffix: number;
  middle: number;
  /** Before the name of a repository, and before that of each of its files; null where the vocabulary has none. */
  repository: number | null;
  file: number | null;
}

/** Text to tokens and back. All methods may be called while a decode runs. */
export class Vocabulary {
  readonly size: number;
  /** −1 where the vocabulary has none. */
  readonly bos: number;
  readonly eos: number;
  readonly addBos: boolean;
  /** Tokens that a model that ranks expects at the end of a text, and between two; −1 for none. */
  readonly closing: number;
  readonly separator: number;
  /** Null for a model without fill-in-the-middle. */
  readonly infill: InfillTokens | null;
  /** Bytes of the longest token's text. */
  readonly longestToken: number;
  /** Tokens that end a generation. */
  readonly endTokens: number[] = [];
  /** The texts that tokenize to control tokens in a template's text, and must not in a client's. */
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
    this.infill = infillTokens(llama, vocab);
    this.#pieces = new Array<Uint8Array | undefined>(this.size);
    let longest = 1;
    for (let token = 0; token < this.size; token++) {
      longest = Math.max(longest, Math.abs(llama.llama_token_to_piece(vocab, token, this.#buffer, 0, 0, true)));
      if (llama.llama_vocab_is_eog(vocab, token)) this.endTokens.push(token);
      const attributes = llama.llama_vocab_get_attr(vocab, token);
      if ((attributes & (UNKNOWN | CONTROL)) !== 0) {
        const text = this.text(token);
        if (text !== "") this.specialTexts.push(text);
      }
    }
    this.longestToken = longest;
    this.#ends = new Set(this.endTokens);
  }

  isEnd(token: number): boolean {
    return this.#ends.has(token);
  }

  /** True when one token of any kind has exactly this text. */
  isToken(text: string): boolean {
    const tokens = this.tokenizeNow(Buffer.from(text), { special: true });
    return tokens.length === 1 && this.text(tokens[0]!) === text;
  }

  /** Makes these control tokens add their text to the output, where the engine looks for these marks. */
  show(texts: readonly string[]): void {
    for (const [token, bytes] of this.hidden(texts)) this.#pieces[token] = bytes;
  }

  /** The tokens of these texts that add nothing to the output, with the bytes of their texts. */
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

  /** The bytes that a generated token adds to the output: perhaps half a character, none for control tokens. */
  piece(token: number): Uint8Array {
    this.#pieces[token] ??= this.#render(token, false);
    return this.#pieces[token];
  }

  /** The text of one token by itself, control tokens included: without the space that some tokenizers put before a word. */
  alone(token: number): Uint8Array {
    const { llama_detokenize: detokenize } = this.#llama;
    const into = (buffer: Uint8Array) =>
      detokenize(this.#vocab, Int32Array.of(token), 1, buffer, buffer.length, false, true);
    const count = into(this.#buffer);
    if (count >= 0) return this.#buffer.slice(0, count);
    const enough = new Uint8Array(-count);
    return enough.subarray(0, into(enough));
  }

  /** The tokens of a UTF-8 text, tokenized on another thread. */
  async tokenize(text: Uint8Array, how: TokenizeOptions): Promise<Int32Array> {
    const { llama_tokenize: tokenize } = this.#llama;
    const into = (tokens: Int32Array) =>
      call(tokenize, this.#vocab, text, text.length, tokens, tokens.length, how.framed ?? false, how.special);
    const tokens = bufferFor(text);
    const count = await into(tokens);
    if (count >= 0) return tokens.subarray(0, count);
    const enough = new Int32Array(-count);
    return enough.subarray(0, await into(enough));
  }

  /** The same for a short text, on this thread. */
  tokenizeNow(text: Uint8Array, how: TokenizeOptions): Int32Array {
    const { llama_tokenize: tokenize } = this.#llama;
    const into = (tokens: Int32Array) =>
      tokenize(this.#vocab, text, text.length, tokens, tokens.length, how.framed ?? false, how.special);
    const tokens = bufferFor(text);
    const count = into(tokens);
    if (count >= 0) return tokens.subarray(0, count);
    const enough = new Int32Array(-count);
    return enough.subarray(0, into(enough));
  }

  #render(token: number, special: boolean): Uint8Array {
    const count = this.#llama.llama_token_to_piece(this.#vocab, token, this.#buffer, PIECE_BYTES, 0, special);
    if (count >= 0) return this.#buffer.slice(0, count);
    const buffer = new Uint8Array(-count);
    this.#llama.llama_token_to_piece(this.#vocab, token, buffer, buffer.length, 0, special);
    return buffer;
  }
}

/** A model without one of the three tokens that every such prompt has does not support fill-in-the-middle. */
function infillTokens(llama: Llama, vocab: Pointer): InfillTokens | null {
  const [prefix, suffix, middle] = [
    llama.llama_vocab_fim_pre(vocab),
    llama.llama_vocab_fim_suf(vocab),
    llama.llama_vocab_fim_mid(vocab),
  ];
  if (Math.min(prefix, suffix, middle) < 0) return null;
  const orNull = (token: number) => (token < 0 ? null : token);
  const repository = orNull(llama.llama_vocab_fim_rep(vocab));
  return { prefix, suffix, middle, repository, file: orNull(llama.llama_vocab_fim_sep(vocab)) };
}

/**
 * A token has at least one byte as a rule, and some tokenizers put a space in front. Tokenizers that normalize may make more
 * tokens (U+FDFA, 3 bytes, becomes 18 letters): then llama.cpp returns their number, negated.
 */
function bufferFor(text: Uint8Array): Int32Array {
  return new Int32Array(text.length + 8);
}
