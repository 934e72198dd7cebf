import type { SequenceOutput } from "../../engine/protocol/output.ts";
import { BodySink } from "../generation/output/body-sink.ts";
import type { RunJournal } from "./run-journal.ts";

/** Collects the answer of a line, and keeps its outputs as they come. */
export class JournalSink extends BodySink {
  override opened = false;
  readonly #journal: RunJournal;

  constructor(journal: RunJournal, firstToken: () => void) {
    super(1, firstToken);
    this.#journal = journal;
  }

  override started(): void {
    this.#journal.started();
  }

  override output(choice: number, output: SequenceOutput): void {
    this.opened = true;
    super.output(choice, output);
    this.#journal.output(output);
  }
}
