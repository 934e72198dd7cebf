import { join } from "node:path";
import { writeModel } from "../../bench/models/model.ts";
import { SHAPES } from "../../bench/models/shapes.ts";

/** Writes a model of random weights into `folder` for each name, in its shape. @returns the server's options for them */
export async function randomModels(folder: string, shapes: Readonly<Record<string, string>>): Promise<string[]> {
  const options = await Promise.all(
    Object.entries(shapes).map(async ([name, shape]) => {
      const path = join(folder, `${name}.gguf`);
      await writeModel(path, shape, SHAPES[shape]!(), 1);
      return ["--model", `${name}=${path}`];
    }),
  );
  return options.flat();
}
