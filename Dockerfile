# One image for every service of the fleet: a static binary, no shell, no root, nothing to write to but its volumes.
# `cargo xtask dist` puts the binary, the pinned nats-server and the empty folder below into dist/.

FROM scratch AS aip
ARG DIST=dist
# A new named volume takes its owner from the folder that it is mounted on.
COPY --chown=65532:65532 ${DIST}/empty/ /fleet/
COPY --chown=65532:65532 ${DIST}/empty/ /data/
COPY --chown=65532:65532 ${DIST}/empty/ /notes/
COPY ${DIST}/aip /aip
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["/aip"]

# nats-server, for where no registry is reachable; docs/containers.md says how to take the official image.
FROM scratch AS nats
ARG DIST=dist
COPY ${DIST}/nats-server /nats-server
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["/nats-server"]
