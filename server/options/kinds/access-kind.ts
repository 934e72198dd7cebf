import { isIP } from "node:net";
import { z } from "zod";
import { plainHost } from "../../../platform/loopback.ts";
import { type Kind, spaced } from "./kind.ts";

/** A secret of at least `min` characters; errors do not show it. YAML reads digits without quotes as a number. */
export function secret(min: number, metavar = "key"): Kind<string> {
  const schema = z.string("put it in quotes").trim().min(min, "it is too short").max(1024, "it is too long");
  return { metavar, allowed: `text of ${spaced(min)} to 1,024 characters`, schema, nested: true };
}

/** The same, set only by the environment. */
export function hiddenSecret(min: number): Kind<string> {
  return { ...secret(min), environmentOnly: true };
}

/** Web origins as browsers send them (RFC 6454), or `*`; a trailing slash is removed. */
export function origins(): Kind<string[]> {
  const written = z
    .string()
    .trim()
    .transform((text, context) => {
      const url = URL.canParse(text) ? new URL(text) : null;
      if (text === "*") return text;
      if (url !== null && /^https?:$/.test(url.protocol) && [url.origin, `${url.origin}/`].includes(text.toLowerCase()))
        return url.origin;
      context.addIssue("expected an origin");
      return z.NEVER;
    });
  return {
    metavar: "origin",
    allowed: "a web origin without a path, such as https://app.example, or *, or a list of them",
    schema: z.union([written.transform((value) => [value]), z.array(written).max(1000)]),
    list: true,
  };
}

/** Host names of a Host header, without a port. */
export function hostNames(): Kind<string[]> {
  const one = z
    .string()
    .trim()
    .toLowerCase()
    .max(253)
    .regex(/^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/);
  return {
    metavar: "name",
    allowed: "a host name without a port, such as llm.example.com, or a list of them",
    schema: z.union([one.transform((value) => [value]), z.array(one).max(1000)]),
    list: true,
  };
}

/** IP addresses and networks in CIDR notation. */
export function networks(): Kind<string[]> {
  const one = z.string().trim().refine(isNetwork);
  return {
    metavar: "address",
    allowed: "an IP address or a network such as 10.0.0.0/8 (not /0, which is every address), or a list of them",
    schema: z.union([one.transform((value) => [value]), z.array(one).max(1000)]),
    list: true,
  };
}

/** An address or name to listen on, normalized by plainHost. */
export function host(): Kind<string> {
  const schema = z.string().trim().min(1).max(255).transform(plainHost);
  return { metavar: "address", allowed: "an IP address or a host name", schema };
}

function isNetwork(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return (
    bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128))
  );
}
