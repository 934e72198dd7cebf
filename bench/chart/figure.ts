/** A drawing of a report. */
export interface Figure {
  /** Its file is named by this, behind the preset's name. */
  name: string;
  /** What it shows, for those who can't see it. */
  alt: string;
  svg: string;
}
