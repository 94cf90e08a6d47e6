# The program and its probe on Debian's smallest image: docker build -t wheelvet . && docker run -v "$PWD:/work" wheelvet check dist/
FROM debian:12 AS build
COPY . /source
WORKDIR /source
RUN tools/setup && cmake --preset release -DWHEELVET_TESTS=OFF && \
    cmake --build build/release --target wheelvet wheelvet-probe documents && \
    cmake --install build/release --component program --strip --prefix /installed

FROM debian:12-slim
COPY --from=build /installed/ /usr/
WORKDIR /work
USER nobody
ENTRYPOINT ["wheelvet"]
