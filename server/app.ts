import express, { type Express } from "express";
import type { AppDependencies } from "./dependencies.ts";

/** The HTTP side as one request listener; see listen.ts for the socket's part. */
export function createApp(dependencies: AppDependencies): Express {
  const app = express();
  void dependencies;
  return app;
}
