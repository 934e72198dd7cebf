import { Option } from "commander";
import { OPTIONS } from "../../options/table.ts";

/** The URL that commands use without --url and NIGHTSHIFT_URL. */
export const DEFAULT_URL = `http://${OPTIONS.host.default}:${OPTIONS.port.default}/v1`;

export function urlOption(): Option {
  return new Option("--url <url>", `the server (default: NIGHTSHIFT_URL, else ${DEFAULT_URL})`);
}
