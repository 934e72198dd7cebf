/** A figure of a report. */
export interface Figure {
  /** Part of its file name, after the preset's name. */
  name: string;
  /** Alternative text. */
  alt: string;
  svg: string;
}
