import type { KoffiFunc } from "koffi";

/** Runs a native function on libuv's pool, while the JavaScript thread continues (about 44 µs round trip). */
export function call<A extends unknown[], R>(native: KoffiFunc<(...args: A) => R>, ...args: A): Promise<R> {
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, result: R) => (error ? reject(error) : resolve(result));
    // TypeScript can't see that a generic tuple and one more element are the parameters of `async`.
    (native.async as unknown as (...all: [...A, typeof done]) => void)(...args, done);
  });
}
