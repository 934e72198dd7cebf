import { z } from "zod";
import { boundedMap } from "./bounded-schema.ts";

export const MAX_METADATA_PAIRS = 16;

/** Pairs of a client. */
export const metadata = boundedMap(z.string().max(64), z.string().max(512), MAX_METADATA_PAIRS);
