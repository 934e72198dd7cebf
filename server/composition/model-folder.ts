import { epochSeconds } from "../../platform/clock.ts";
import { objectId } from "../../platform/object-id.ts";
import { ModelDownloads } from "../models/model-downloads.ts";
import { ModelInspection } from "../models/model-inspection.ts";
import type { ServedFiles } from "../models/served-files.ts";
import { modelsFolder } from "../models/source/models-folder.ts";
import type { Composition } from "./composition.ts";
import type { ModelParts } from "./models.ts";

/** The folder of models, for administrators. */
export interface ModelFolderParts {
  folder: string;
  /** True where no download is allowed. */
  offline: boolean;
  downloads: ModelDownloads;
  inspection: ModelInspection;
  served: ServedFiles;
  /** Stops serving a model of the folder that is not in memory; false for any other model. */
  release: (model: string) => boolean;
}

export async function startModelFolder(
  composition: Composition,
  { servedFiles, folder: found }: ModelParts,
): Promise<ModelFolderParts> {
  const { options, clock, log, env, measure, parts } = composition;
  const { current } = options;
  const folder = modelsFolder(current);
  const downloads = await parts.start({
    name: "downloads",
    start: () =>
      new ModelDownloads({
        ...{ folder, env, log, bytesPerSecond: current.downloadRate, reserve: current.diskReserve },
        newId: () => objectId("download_"),
        now: () => epochSeconds(clock),
        completed: () => void found?.scan(),
      }),
    stop: (started) => started.stop(),
  });
  const inspection = new ModelInspection({ folder, options: current, measure, log });
  const release = (model: string) => found?.release(model) ?? false;
  return { folder, offline: current.offline === "on", downloads, inspection, served: servedFiles, release };
}
