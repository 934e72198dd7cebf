/** llama.cpp's own choice (on, wherever the device can), and without. */
export const FLASH_SETTINGS = ["auto", "off"] as const;
export type FlashSetting = (typeof FLASH_SETTINGS)[number];

/** One step to be timed: so many tokens of each of so many sequences, all with so many positions before them. */
export interface ProbeShape {
  rows: number;
  sequences: number;
  depth: number;
}

/** What such a step took, at best. */
export interface Sample extends ProbeShape {
  flash: FlashSetting;
  ms: number;
}
