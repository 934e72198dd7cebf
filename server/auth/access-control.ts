import type { RequestHandler } from "express";
import { type Caller, hasScope, mayUseTier } from "../../ledger/key.ts";
import { ApiError } from "../../openapi/api-error.ts";
import type { Access } from "../../openapi/document/operation.ts";
import type { LedgerTier } from "../../store/tables/ledger.ts";
import { callerOf } from "../http/context/caller.ts";

/** Runs before the body is read. Throws 403 for a key that lacks the scope. */
export function requireAccess(access: Access): RequestHandler {
  return (req, _res, next) => {
    if (access === "open" || access === "token") return next();
    const caller = callerOf(req);
    if (access !== "key" && !hasScope(caller, access)) {
      throw new ApiError("missing_scope", `This API key lacks the scope '${access}', which the request needs.`);
    }
    next();
  };
}

/** Throws 403 for a key that may not use the tier. */
export function checkTier(caller: Caller, tier: LedgerTier): void {
  if (mayUseTier(caller, tier)) return;
  const allowed = caller.key?.tiers.join(", ") || "none";
  const message = `This API key may not use the tier '${tier}'; it may use: ${allowed}.`;
  throw new ApiError("tier_not_allowed", message, { param: "service_tier" });
}

/** The owners whose ledger rows a request may read: for an administrator those asked for, null being all. */
export function visibleOwners(caller: Caller, asked: readonly string[] | null): string[] | null {
  if (hasScope(caller, "admin")) return asked === null ? null : [...asked];
  return asked === null || asked.includes(caller.owner) ? [caller.owner] : [];
}
