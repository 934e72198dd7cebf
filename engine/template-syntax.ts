import { parsedTemplate } from "./worker/text/template/jinja/parsed-template.ts";

/** The reason why a text is not a Jinja template, with its line where that is known; null for a template. */
export function templateFault(text: string): string | null {
  try {
    parsedTemplate(text);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
