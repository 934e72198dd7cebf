import { keyListQuery, revokeKeyQuery } from "../resources/keys.ts";
import type { Operation } from "./operation.ts";

const store = { "503": "The store is not available." };
const body = { "400": "The request is not valid.", "413": "The body is too large.", "415": "The body is not JSON." };
const absent = { "404": "No such key." };

/** API keys, for administrators. */
export const keyOperations: readonly Operation[] = [
  {
    method: "post",
    path: "/v1/nightshift/keys",
    id: "createKey",
    access: "admin",
    summary: "Create an API key. Only this response contains its secret.",
    request: "CreateKeyRequest",
    response: "Key",
    failures: { ...body, ...store },
  },
  {
    method: "get",
    path: "/v1/nightshift/keys",
    id: "listKeys",
    access: "admin",
    summary: "List all API keys, newest first, revoked ones included.",
    query: keyListQuery,
    response: "KeyList",
    failures: { "400": "The query is not valid, or `after` names no key.", ...store },
  },
  {
    method: "get",
    path: "/v1/nightshift/keys/:id",
    id: "retrieveKey",
    access: "admin",
    summary: "Retrieve an API key.",
    response: "Key",
    failures: { ...absent, ...store },
  },
  {
    method: "patch",
    path: "/v1/nightshift/keys/:id",
    id: "updateKey",
    access: "admin",
    summary:
      "Change the rights and limits of a key, from the next request on. An omitted field keeps its value; null removes a limit.",
    request: "UpdateKeyRequest",
    response: "Key",
    failures: { ...body, ...absent, "409": "The key is revoked.", ...store },
  },
  {
    method: "delete",
    path: "/v1/nightshift/keys/:id",
    id: "revokeKey",
    access: "admin",
    summary: "Revoke an API key permanently. Its batches continue unless `cancel_batches` is `true`.",
    query: revokeKeyQuery,
    response: "KeyDeleted",
    failures: { "400": "The query is not valid.", ...absent, ...store },
  },
  {
    method: "post",
    path: "/v1/nightshift/keys/:id/rotate",
    id: "rotateKey",
    access: "admin",
    summary:
      "Give a key a new secret, which only this response contains. The previous one expires at once, or after a grace period.",
    request: "RotateKeyRequest",
    response: "Key",
    failures: { ...body, ...absent, "409": "The key is revoked.", ...store },
  },
];
