import { VocabularyGrammars } from "./grammar/vocabulary-grammar.ts";
import type { ModelParts } from "./loaded-model.ts";
import { SequenceFactory } from "./step/sequence-factory.ts";
import { ToolCallReader } from "./step/tool-call-reader.ts";
import { PromptBuilder } from "./text/prompt-builder.ts";
import { Renderer } from "./text/renderer.ts";
import { ChatTemplate } from "./text/template/chat-template.ts";
import { checkGivenTemplate } from "./text/template/given-template.ts";
import { Tokenizer } from "./text/tokenizer.ts";

/** The parts that make tokens of a model's prompts, and answers of its tokens. */
export interface ModelText {
  template: ChatTemplate;
  tokenizer: Tokenizer;
  prompts: PromptBuilder;
  sequences: SequenceFactory;
}

/**
 * @param context the longest request in tokens
 * @throws Error for a template that was given and can't be used
 */
export function openText({ library, model, config }: ModelParts, context: number, wake: () => void): ModelText {
  const { vocabulary } = model;
  const template = new ChatTemplate(
    config.chatTemplate?.text ?? model.chatTemplate,
    {
      bos: vocabulary.text(vocabulary.bos),
      eos: vocabulary.text(vocabulary.eos),
      specialTokens: vocabulary.specialTexts,
      hasToken: (text) => vocabulary.isToken(text),
    },
    config.toolFormat,
  );
  if (config.chatTemplate !== null) checkGivenTemplate(template, config.chatTemplate);
  const tags = template.reasoningTags;
  if (tags !== null) vocabulary.show([tags.openToken ?? tags.open, tags.close]);
  // After show(), which gives tokens a text.
  const grammars = new VocabularyGrammars(vocabulary);
  const sequences = new SequenceFactory({
    library,
    vocabulary,
    template,
    grammars,
    calls: new ToolCallReader(template.toolFormat, vocabulary, grammars),
    context,
    cacheScope: config.cacheScope,
    reasoningBudget: config.reasoningBudget,
    wake,
  });
  const tokenizer = new Tokenizer(vocabulary);
  const prompts = new PromptBuilder({
    vocabulary,
    tokenizer,
    template,
    renderer: new Renderer({ template, context }),
    context,
    now: () => new Date(),
  });
  return { template, tokenizer, prompts, sequences };
}
