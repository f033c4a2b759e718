# The commands and the bundled models. Large models answer from a server: compose.yaml.
FROM python:3.11-slim AS wheel
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
# The address of PyTorch's builds for CPUs here leaves CUDA's libraries out of the image.
ARG PIP_EXTRA_INDEX_URL=""
ARG EXTRAS=charts,filters,parquet,select,server,text
# What the extras charts and text need of the system: OpenCV's libraries.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgl1 libglib2.0-0 \
    && rm -rf /var/lib/apt/lists/*
RUN --mount=type=bind,from=wheel,source=/wheels,target=/wheels \
    pip install --no-cache-dir "revise-captions[$EXTRAS] @ file://$(echo /wheels/*.whl)"
# Caches are writable for whatever user compose.yaml names.
ENV HF_HOME=/tmp/huggingface XDG_CACHE_HOME=/tmp/cache
USER 1000
WORKDIR /data
ENTRYPOINT ["captions"]
CMD ["--help"]
