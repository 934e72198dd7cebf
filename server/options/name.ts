/** dataDir → --data-dir */
export function flagName(key: string): string {
  return `--${words(key).join("-")}`;
}

/** dataDir → NIGHTSHIFT_DATA_DIR */
export function variableName(key: string): string {
  return `NIGHTSHIFT_${words(key).join("_").toUpperCase()}`;
}

/** data-dir → dataDir, also for those who write a flag's name into the file. */
export function fileKey(name: string): string {
  return name.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
}

function words(key: string): string[] {
  return key.split(/(?=[A-Z])/).map((word) => word.toLowerCase());
}
