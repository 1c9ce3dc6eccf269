# One image for every service of the fleet: a static binary, no shell, no root, nothing to write to but its volumes.
# `cargo xtask dist` puts the binary, the pinned nats-server and the folders of the volumes into dist/.
FROM scratch AS aip
COPY --chown=65532:65532 dist/fleet/ /fleet/
COPY --chown=65532:65532 dist/notes/ /notes/
COPY dist/aip /aip
USER 65532:65532
STOPSIGNAL SIGTERM
ENTRYPOINT ["/aip"]

# nats-server, for where no registry is reachable. Elsewhere set AIP_NATS_IMAGE=nats:2 (see docs/containers.md).
FROM scratch AS nats
COPY --chown=65532:65532 dist/data/ /data/
COPY dist/nats-server /nats-server
USER 65532:65532
STOPSIGNAL SIGUSR2
ENTRYPOINT ["/nats-server"]
