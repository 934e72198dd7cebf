# docker build -t nightshift .                                  for the CPU
# docker build -t nightshift:cuda --build-arg ENGINE=cuda .     for NVIDIA GPUs: docker run --gpus all …
# deploy/compose.yaml says how to run it.

FROM node:24-bookworm AS build
WORKDIR /opt/nightshift
# Packages first: they change less often than sources. Of all install scripts only SQLite's runs.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund && npm rebuild better-sqlite3
ARG ENGINE=cpu
# llama.cpp's packages for GPUs are for x64 alone.
RUN [ "$ENGINE" = cpu ] || [ "$(node -p process.arch)" = x64 ] \
  || { echo "ENGINE=$ENGINE is there for x64 alone; build with --platform linux/amd64, or with ENGINE=cpu." >&2; exit 1; }
# llama.cpp's library for NVIDIA links to CUDA's runtime and cuBLAS, which no driver brings.
RUN if [ "$ENGINE" = cuda ]; then \
    apt-get update && apt-get install -y --no-install-recommends python3-pip \
    && pip install --no-deps --target /opt/cuda nvidia-cuda-runtime==13.0.96 nvidia-cublas==13.1.1.3; \
  fi
COPY . .
# Builds dist/, and fetches the GPU's libraries into .engine/ where they are asked for. A set-up that can't have them goes
# on without; an image that should have them does not.
RUN mkdir -p .engine && NIGHTSHIFT_ENGINE_BINARIES=$ENGINE node scripts/setup.mjs \
  && { [ "$ENGINE" = cpu ] || ls -d ".engine/node_modules/@node-llama-cpp/linux-x64-$ENGINE"; } \
  && npm prune --omit=dev --ignore-scripts --no-audit --no-fund
# It looks for them where it lies itself. Its companion for cards and drivers that are too old for CUDA 13 wants CUDA 12's.
RUN if [ "$ENGINE" = cuda ]; then \
    cd .engine/node_modules/@node-llama-cpp && rm -r linux-x64-cuda-ext && cd linux-x64-cuda/bins/linux-x64-cuda \
    && for name in cudart cublas cublasLt; do mv "/opt/cuda/nvidia/cu13/lib/lib$name.so.13" . || exit 1; done; \
  fi
# What no server opens: sources and leftovers of what was compiled, llama.cpp's history, the compiler that npm keeps for
# node-llama-cpp's command line, libraries for other processors.
RUN cd node_modules \
  && rm -rf typescript @typescript node-llama-cpp/llama/gitRelease.bundle \
  && rm -rf better-sqlite3/deps better-sqlite3/build/Release/obj* better-sqlite3/build/Release/*.a \
  && find @node-llama-cpp -mindepth 1 -maxdepth 1 ! -name "linux-$(node -p 'process.arch.replace(/^arm$/, "armv7l")')" -exec rm -r {} +

# Node itself, without npm and its packages.
FROM debian:bookworm-slim
ARG ENGINE=cpu
# tini: while node is still starting, PID 1 would ignore SIGTERM. Vulkan: the loader, and the drivers of AMD and Intel; NVIDIA's
# comes with the container toolkit.
RUN apt-get update \
  && apt-get install -y --no-install-recommends tini ca-certificates libstdc++6 libgomp1 \
    $([ "$ENGINE" != vulkan ] || echo libvulkan1 mesa-vulkan-drivers) \
  && rm -rf /var/lib/apt/lists/* \
  && groupadd --gid 1000 node && useradd --uid 1000 --gid node --create-home node
COPY --from=build /usr/local/bin/node /usr/local/bin/node
WORKDIR /opt/nightshift
COPY --from=build /opt/nightshift/package.json /opt/nightshift/LICENSE ./
COPY --from=build /opt/nightshift/node_modules node_modules
COPY --from=build /opt/nightshift/.engine .engine
COPY --from=build /opt/nightshift/models models
COPY --from=build /opt/nightshift/dist dist
RUN ln -s /opt/nightshift/dist/server/cli.js /usr/local/bin/nightshift && chmod +x dist/server/cli.js \
  && mkdir /data && chown node:node /data && chmod 700 /data
USER node
# What NVIDIA's container toolkit mounts; without it they mean nothing.
ENV NODE_ENV=production \
  NIGHTSHIFT_HOST=0.0.0.0 \
  NIGHTSHIFT_DATA_DIR=/data \
  NVIDIA_VISIBLE_DEVICES=all \
  NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics
WORKDIR /data
VOLUME /data
EXPOSE 8080
# That the process answers. Whether its models are loaded says /ready. It reads the environment and nightshift.yaml as the
# server does; the flags of `serve` it cannot see, so port and host belong into one of those two.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["nightshift", "health"]
ENTRYPOINT ["/usr/bin/tini", "--", "nightshift"]
CMD ["serve"]
