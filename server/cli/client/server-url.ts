import { Option } from "commander";

/** The server that commands ask where neither --url nor NIGHTSHIFT_URL names one. */
export const DEFAULT_URL = "http://127.0.0.1:8080/v1";

export function urlOption(): Option {
  return new Option("--url <url>", `the server (default: NIGHTSHIFT_URL, else ${DEFAULT_URL})`);
}
