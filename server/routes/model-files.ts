import { basename } from "node:path";
import type { RequestHandler } from "express";
import { ApiError, invalidRequest, unavailable } from "../../openapi/api-error.ts";
import { validate } from "../../openapi/generation/validate.ts";
import { listPage } from "../../openapi/list.ts";
import {
  createDownload as createDownloadBody,
  type ModelDownloadList,
  type ModelDownloadObject,
  type ModelFile,
  type ModelFileDeleted,
  type ModelFileDetails,
  type ModelFileList,
  modelFileQuery,
} from "../../openapi/resources/model-files.ts";
import { OptionsError } from "../../platform/options-error.ts";
import { readJson } from "../http/body/json-body.ts";
import { readQuery } from "../http/query.ts";
import { sendJson } from "../http/respond.ts";
import type { Routes } from "../http/routes.ts";
import type { ModelDownload, ModelDownloads } from "../models/model-downloads.ts";
import type { Inspection, ModelInspection } from "../models/model-inspection.ts";
import type { ServedFiles } from "../models/served-files.ts";
import { parseModelValue, type RemoteModel } from "../models/source/model-value.ts";
import { namedModels, removeStored, type StoredModel, storedModels } from "../models/source/models-folder.ts";
import { BODY_BYTES } from "./input-limits.ts";

export interface ModelFileRouteParts {
  modelFolder: {
    folder: string;
    /** True where no download is allowed. */
    offline: boolean;
    downloads: ModelDownloads;
    inspection: Pick<ModelInspection, "inspect">;
    served: ServedFiles;
    /** Stops serving a model of the folder that is not in memory; false for any other model. */
    release: (model: string) => boolean;
  };
}
type Parts = ModelFileRouteParts["modelFolder"];

/** Seconds for Retry-After where too many headers wait, or too many downloads. */
const RETRY_SECONDS = 5;
const LONGEST_NAME = 128;

export function modelFileRoutes({ modelFolder }: ModelFileRouteParts): Routes {
  return {
    "/v1/nightshift/models": { get: listModelFiles(modelFolder) },
    "/v1/nightshift/models/:id": { get: retrieveModelFile(modelFolder), delete: deleteModelFile(modelFolder) },
    "/v1/nightshift/downloads": { get: listDownloads(modelFolder), post: createDownload(modelFolder) },
    "/v1/nightshift/downloads/:id": { get: retrieveDownload(modelFolder), delete: cancelDownload(modelFolder) },
  };
}

/** GET /v1/nightshift/models */
function listModelFiles(parts: Parts): RequestHandler {
  return async (req, res) => {
    const { limit, after = null } = validate(modelFileQuery, readQuery(req));
    const models = await storedModels(parts.folder);
    const last = after === null ? -1 : models.findIndex(({ entry }) => entry === after);
    if (after !== null && last === -1) {
      throw invalidRequest("invalid_value", "after", `Invalid 'after': there is no model file '${shown(after)}'.`);
    }
    const rest = models.slice(last + 1);
    const data = rest.slice(0, limit).map((model) => fileObject(model, parts));
    const list: ModelFileList = listPage(data, rest.length > limit);
    sendJson(req, res, 200, JSON.stringify(list));
  };
}

/** GET /v1/nightshift/models/{id} */
function retrieveModelFile(parts: Parts): RequestHandler {
  return async (req, res) => {
    const model = await findFile(parts, req.params.id);
    const inspection = await parts.inspection.inspect(model);
    if (inspection === null) {
      throw unavailable("server_is_overloaded", "Too many headers are waiting to be read.", RETRY_SECONDS);
    }
    const details: ModelFileDetails = { ...fileObject(model, parts), ...inspectionObject(inspection) };
    sendJson(req, res, 200, JSON.stringify(details));
  };
}

/** DELETE /v1/nightshift/models/{id} */
function deleteModelFile(parts: Parts): RequestHandler {
  return async (req, res) => {
    const model = await findFile(parts, req.params.id);
    const open = parts.downloads.openOf(model);
    if (open !== null) {
      const message = `${model.name} is being downloaded. DELETE /v1/nightshift/downloads/${open.id} cancels that.`;
      throw new ApiError("model_in_use", message, { param: "id" });
    }
    const user = fileObject(model, parts).used_by.find((id) => !parts.release(id));
    if (user !== undefined) {
      const message = `${model.name} is in use by the served model '${user}'.`;
      throw new ApiError("model_in_use", message, { param: "id" });
    }
    const body: ModelFileDeleted = {
      id: model.entry,
      object: "nightshift.model_file.deleted",
      deleted: true,
      freed_bytes: await removeStored(parts.folder, model),
    };
    sendJson(req, res, 200, JSON.stringify(body));
  };
}

/** POST /v1/nightshift/downloads */
function createDownload(parts: Parts): RequestHandler {
  return async (req, res) => {
    const { source } = validate(createDownloadBody, await readJson(req, res, BODY_BYTES.download));
    const model = remoteModel(source);
    if (parts.offline) {
      throw invalidRequest(
        "unsupported_value",
        "source",
        "The server runs with --offline on, which allows no download.",
      );
    }
    const server = parts.served.modelOf(model.uri);
    if (server !== null) {
      const message = `The served model '${server}' has this source, and the server downloads it by itself.`;
      throw new ApiError("model_in_use", message, { param: "source" });
    }
    const download = parts.downloads.start(model);
    if (download === null) {
      const message = "16 downloads have not ended. Wait for one, or cancel one.";
      throw new ApiError("too_many_downloads", message, { retryAfter: RETRY_SECONDS });
    }
    res.setHeader("location", `/v1/nightshift/downloads/${download.id}`);
    sendJson(req, res, 202, JSON.stringify(downloadObject(download)));
  };
}

/** GET /v1/nightshift/downloads */
function listDownloads({ downloads }: Parts): RequestHandler {
  return (req, res) => {
    const list: ModelDownloadList = { object: "list", data: downloads.list().map(downloadObject) };
    sendJson(req, res, 200, JSON.stringify(list));
  };
}

/** GET /v1/nightshift/downloads/{id} */
function retrieveDownload({ downloads }: Parts): RequestHandler {
  return (req, res) => {
    const id = String(req.params.id);
    sendJson(req, res, 200, JSON.stringify(downloadObject(present(id, downloads.get(id)))));
  };
}

/** DELETE /v1/nightshift/downloads/{id} */
function cancelDownload({ downloads }: Parts): RequestHandler {
  return async (req, res) => {
    const id = String(req.params.id);
    sendJson(req, res, 200, JSON.stringify(downloadObject(present(id, await downloads.remove(id)))));
  };
}

/** Throws 404 for no model of the folder, and 400 for several. */
async function findFile({ folder }: Parts, id: unknown): Promise<StoredModel> {
  const wanted = String(id);
  const [first, ...others] = namedModels(await storedModels(folder), wanted);
  if (first === undefined) {
    throw new ApiError("not_found", `No model file found with id '${shown(wanted)}'.`, { param: "id" });
  }
  if (others.length === 0) return first;
  const ids = [first, ...others].map(({ entry }) => entry).join(", ");
  throw invalidRequest("invalid_value", "id", `'${shown(wanted)}' is the name of several models: give one of ${ids}.`);
}

function remoteModel(source: string): RemoteModel {
  try {
    const model = parseModelValue(source, () => false);
    if (model.kind === "remote" && model.hub !== null && model.adapters.length === 0) return model;
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    throw invalidRequest("invalid_value", "source", error.message);
  }
  throw invalidRequest(
    "invalid_value",
    "source",
    "Invalid 'source': write hf:owner/repo:Q4_K_M or hf:owner/repo/file.gguf.",
  );
}

function fileObject(model: StoredModel, { folder, served }: Parts): ModelFile {
  const { name, entry, files, bytes, uri, checked, received } = model;
  const used_by = served.usersOf(model, folder);
  return { id: entry, object: "nightshift.model_file", name, entry, files, bytes, uri, checked, received, used_by };
}

function inspectionObject(inspection: Inspection): Pick<ModelFileDetails, "header" | "memory" | "problem"> {
  if ("problem" in inspection) return { header: null, memory: null, problem: inspection.problem };
  const { header, least, wanted, free } = inspection.measurement;
  const { description, architecture, parameters, bytes, trainedContext, memory, chatTemplate, generates } = header;
  return {
    header: {
      ...{ description, architecture, parameters, bytes, memory, generates },
      trained_context: trainedContext,
      chat_template: chatTemplate,
    },
    memory: { least_bytes: least, wanted_bytes: wanted, free_bytes: free },
    problem: null,
  };
}

function downloadObject(download: ModelDownload): ModelDownloadObject {
  const { id, source, name, status, received, total, path, error, createdAt, endedAt } = download;
  return {
    ...{ id, object: "nightshift.model_download", source, name, status },
    received_bytes: received,
    total_bytes: total,
    model_file: path === null ? null : basename(path),
    error,
    created_at: createdAt,
    ended_at: endedAt,
  };
}

/** Throws 404 for a download that was not found. */
function present(id: string, found: ModelDownload | null): ModelDownload {
  if (found !== null) return found;
  throw new ApiError("not_found", `No download found with id '${shown(id)}'.`, { param: "id" });
}

function shown(text: string): string {
  return text.slice(0, LONGEST_NAME);
}
