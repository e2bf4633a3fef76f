# syntax=docker/dockerfile:1
# A gate in a container. compose.yaml adds PostgreSQL; with SQLite in a volume:
#   docker build --tag fairgate .
#   docker run --rm --volume gate:/data fairgate init credit --groups women,men
#   docker run --detach --volume gate:/data --publish 127.0.0.1:8000:8000 fairgate
# tests/live/test_deployment.py runs these steps without a container.

FROM python:3.13-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
COPY constraints.txt /tmp/constraints.txt
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir --constraint /tmp/constraints.txt "$(ls /wheels/*.whl)[live]"
RUN useradd --system --uid 10001 --create-home --home-dir /data gate
USER gate
WORKDIR /data
VOLUME ["/data"]
ENV PYTHONUNBUFFERED=1 OPENBLAS_NUM_THREADS=1
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["fairgate", "live"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
