import { BodySink } from "./body-sink.ts";

/** Collects a batch line's answer. */
export class LineSink extends BodySink {
  /** True from the start: after a death of the engine its runner decides what runs again, and beside what. */
  override readonly opened = true;
}
