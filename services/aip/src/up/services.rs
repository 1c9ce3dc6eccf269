//! The services of a local fleet, all in this process.

use std::{net::SocketAddr, time::Duration};

use aip_bus::accounts::ServiceUser;
use aip_service::{BusArgs, Context, Settings};
use anyhow::Context as _;
use clap::Parser;

use crate::{failure::Failure, home::Home};

const DRAIN: Duration = Duration::from_secs(10);

pub(super) struct Services {
    edge: Context,
    owners: Vec<Context>,
    url: String,
}

/// A service's settings as they are when nothing but the environment says otherwise.
#[derive(Parser)]
struct Defaults<C: clap::Args> {
    #[command(flatten)]
    config: C,
}

fn config<C: clap::Args>(arguments: &[&str]) -> Result<C, Failure> {
    let parsed = Defaults::<C>::try_parse_from(std::iter::once(&"aip").chain(arguments));
    parsed.map(|defaults| defaults.config).map_err(Failure::settings)
}

impl Services {
    pub(super) async fn start(
        home: &Home,
        settings: &Settings,
        nats_url: &str,
        listen: SocketAddr,
    ) -> Result<Self, Failure> {
        let connect = async |user: ServiceUser| {
            let args = BusArgs {
                nats_url: nats_url.to_owned(),
                nkey_file: home.nkey(user.as_str()),
                config: home.config(),
                ops_listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                nats_connect_timeout: Duration::from_secs(20),
            };
            Context::connect(user.as_str(), settings, &args).await
        };
        let admission = connect(ServiceUser::Admission).await?;
        aip_admission::serve(admission.clone(), config(&[])?).await.context("starting admission")?;
        let scheduler = connect(ServiceUser::Scheduler).await?;
        aip_scheduler::serve(scheduler.clone(), config(&[])?).await.context("starting scheduler")?;
        let edge = connect(ServiceUser::EdgeHttp).await?;
        let listen = listen.to_string();
        let bound = aip_edge_http::serve(edge.clone(), config(&["--http-listen", &listen])?)
            .await
            .context("starting edge-http")?;
        let owners = vec![admission, scheduler];
        owners.iter().for_each(|owner| owner.ops.set_ready(true));
        Ok(Self { edge, owners, url: format!("http://{bound}") })
    }

    /// URL of the HTTP edge.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// From now on `/readyz` says so.
    pub(super) fn set_ready(&self) {
        self.edge.ops.set_ready(true);
    }

    /// No new callers.
    pub(super) async fn drain_edge(&self) {
        self.edge.ops.set_ready(false);
        self.edge.tasks.drain(DRAIN).await;
    }

    /// The rest.
    pub(super) async fn drain(self) {
        for owner in &self.owners {
            owner.ops.set_ready(false);
            owner.tasks.drain(DRAIN).await;
        }
    }
}
