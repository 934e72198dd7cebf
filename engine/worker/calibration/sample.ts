/** llama.cpp's own choice (on where the device supports it), and off. */
export const FLASH_SETTINGS = ["auto", "off"] as const;
export type FlashSetting = (typeof FLASH_SETTINGS)[number];

/** One step to time: `rows` tokens of each of `sequences` sequences, each with `depth` positions before them. */
export interface ProbeShape {
  rows: number;
  sequences: number;
  depth: number;
}

/** The fastest measured time of such a step. */
export interface Sample extends ProbeShape {
  flash: FlashSetting;
  ms: number;
}
