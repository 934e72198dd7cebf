import { BodySink } from "./body-sink.ts";

/** Collects the answer of a batch line. */
export class LineSink extends BodySink {
  /** True from the start: after the death of an engine process the line dispatcher decides which lines run again. */
  override readonly opened = true;
}
