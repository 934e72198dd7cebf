import { keyListQuery, revokeKeyQuery } from "../resources/keys.ts";
import type { Operation } from "./operation.ts";

const store = { "503": "The store does not work." };
const body = { "400": "The request is not valid.", "413": "The body is too large.", "415": "The body is not JSON." };
const absent = { "404": "No such key." };

/** API keys, for administrators. */
export const keyOperations: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/nightshift/keys",
    id: "createKey",
    access: "admin",
    summary: "Make an API key. The answer has its secret, which is never told again.",
    request: "CreateKeyRequest",
    response: "Key",
    failures: { ...body, ...store },
  },
  {
    method: "get",
    path: "/v1/nightshift/keys",
    id: "listKeys",
    access: "admin",
    summary: "All keys, the newest first, revoked ones included.",
    query: keyListQuery,
    response: "KeyList",
    failures: { "400": "The query is not valid, or `after` names no key.", ...store },
  },
  {
    method: "get",
    path: "/v1/nightshift/keys/:id",
    id: "retrieveKey",
    access: "admin",
    summary: "One key.",
    response: "Key",
    failures: { ...absent, ...store },
  },
  {
    method: "patch",
    path: "/v1/nightshift/keys/:id",
    id: "updateKey",
    access: "admin",
    summary: "Change what a key may do, from the next request on. What is left out stays; null takes a bound away.",
    request: "UpdateKeyRequest",
    response: "Key",
    failures: { ...body, ...absent, "409": "The key is revoked.", ...store },
  },
  {
    method: "delete",
    path: "/v1/nightshift/keys/:id",
    id: "revokeKey",
    access: "admin",
    summary: "Revoke a key for good. Its batches go on unless `cancel_batches` says otherwise.",
    query: revokeKeyQuery,
    response: "KeyDeleted",
    failures: { "400": "The query is not valid.", ...absent, ...store },
  },
  {
    method: "post",
    path: "/v1/nightshift/keys/:id/rotate",
    id: "rotateKey",
    access: "admin",
    summary: "Give a key a new secret, which the answer has. The one before ends now, or after a grace.",
    request: "RotateKeyRequest",
    response: "Key",
    failures: { ...body, ...absent, "409": "The key is revoked.", ...store },
  },
];
