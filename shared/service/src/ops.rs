//! `/healthz`, `/readyz` and `/metrics` of a process.

use std::{
    net::SocketAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context as _;
use axum::{Router, http::StatusCode, routing::get};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::tasks::Tasks;

/// The operations port of a process.
#[derive(Clone, Debug, Default)]
pub struct Ops {
    ready: Arc<AtomicBool>,
}

impl Ops {
    /// Everything is served from now on.
    pub fn set_ready(&self, ready: bool) {
        self.ready.store(ready, Ordering::Release);
    }

    /// Whether everything is served.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// The routes, to be merged into an edge's router or served alone.
    pub fn router(&self) -> Router {
        let ready = self.clone();
        Router::new()
            .route("/healthz", get(|| async { "ok" }))
            .route(
                "/readyz",
                get(move || async move {
                    if ready.is_ready() {
                        (StatusCode::OK, "ready")
                    } else {
                        (StatusCode::SERVICE_UNAVAILABLE, "not ready")
                    }
                }),
            )
            .route(
                "/metrics",
                get(|| async {
                    (
                        [("content-type", "text/plain; version=0.0.4")],
                        recorder().map(PrometheusHandle::render).unwrap_or_default(),
                    )
                }),
            )
    }

    /// Serves them on an address of their own and returns it.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn listen(&self, address: SocketAddr, tasks: &Tasks) -> anyhow::Result<SocketAddr> {
        let listener = tokio::net::TcpListener::bind(address).await.with_context(|| format!("binding {address}"))?;
        let bound = listener.local_addr().context("reading the bound address")?;
        let router = self.router();
        tasks.spawn_until_drain(async move {
            if let Err(fault) = axum::serve(listener, router).await {
                tracing::error!(%fault, "the operations port failed");
            }
        });
        Ok(bound)
    }
}

/// The process's one metrics recorder.
pub(crate) fn recorder() -> Option<&'static PrometheusHandle> {
    static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    RECORDER
        .get_or_init(|| {
            PrometheusBuilder::new()
                .install_recorder()
                .inspect_err(|fault| tracing::error!(%fault, "installing the metrics recorder"))
                .ok()
        })
        .as_ref()
}
