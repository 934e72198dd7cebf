import { modelFileQuery } from "../resources/model-files.ts";
import type { Operation } from "./operation.ts";

const absentFile = { "404": "No such model in the folder." };
const absentDownload = { "404": "No such download." };

/** The folder of models, for administrators. */
export const modelFileOperations: readonly Operation[] = [
  {
    method: "get",
    path: "/v1/nightshift/models",
    id: "listModelFiles",
    access: "admin",
    summary: "List the models in the folder of downloads, by name, unfinished downloads included.",
    query: modelFileQuery,
    response: "ModelFileList",
    failures: { "400": "The query is not valid, or `after` names no model." },
  },
  {
    method: "get",
    path: "/v1/nightshift/models/:id",
    id: "retrieveModelFile",
    access: "admin",
    summary: "Retrieve a model of the folder by file, name or source, with its header and the memory that it needs.",
    response: "ModelFileDetails",
    failures: {
      "400": "Several models have this name.",
      ...absentFile,
      "503": "Too many headers are waiting to be read.",
    },
  },
  {
    method: "delete",
    path: "/v1/nightshift/models/:id",
    id: "deleteModelFile",
    access: "admin",
    summary: "Delete a model, or an unfinished download, from the folder.",
    response: "ModelFileDeleted",
    failures: {
      "400": "Several models have this name.",
      ...absentFile,
      "409": "A served model or a download uses the files.",
    },
  },
  {
    method: "post",
    path: "/v1/nightshift/downloads",
    id: "createDownload",
    access: "admin",
    summary: "Download a model of the hub into the folder. A source that is being downloaded has one download.",
    request: "CreateDownloadRequest",
    response: "ModelDownload",
    status: 202,
    failures: {
      "400": "The request is not valid, or the server runs with `--offline on`.",
      "409": "A served model has this source, and downloads it by itself.",
      "429": "Too many downloads have not ended.",
    },
  },
  {
    method: "get",
    path: "/v1/nightshift/downloads",
    id: "listDownloads",
    access: "admin",
    summary: "List the downloads since the start of the server, newest first; of ended ones, the last 64.",
    response: "ModelDownloadList",
    failures: {},
  },
  {
    method: "get",
    path: "/v1/nightshift/downloads/:id",
    id: "retrieveDownload",
    access: "admin",
    summary: "Retrieve a download with its progress.",
    response: "ModelDownload",
    failures: absentDownload,
  },
  {
    method: "delete",
    path: "/v1/nightshift/downloads/:id",
    id: "cancelDownload",
    access: "admin",
    summary: "Cancel a download; its received bytes are kept. One that has ended is forgotten.",
    response: "ModelDownload",
    failures: absentDownload,
  },
];
