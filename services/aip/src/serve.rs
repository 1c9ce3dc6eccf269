//! `aip serve`: one service as a process of its own. What containers run.

use std::io::Read as _;

use aip_bus::accounts::ServiceUser;
use aip_service::{BusArgs, Context, Settings, run};
use anyhow::Context as _;
use tokio::sync::oneshot;

use crate::failure::Failure;

/// A service.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Service {
    /// Judges requests and creates records.
    Admission(Process<aip_admission::Config>),
    /// Hands out work, settles it and answers for actions.
    Scheduler(Process<aip_scheduler::Config>),
    /// The HTTP edge.
    EdgeHttp(Process<aip_edge_http::Config>),
    /// A connector: the demo one unless told otherwise.
    Connector(Process<aip_connector::Config>),
}

/// A service's settings.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Process<C: clap::Args> {
    #[command(flatten)]
    bus: BusArgs,
    #[command(flatten)]
    config: C,
    /// End when standard input closes, as it does when the process that started this one dies.
    #[arg(long, hide = true)]
    with_parent: bool,
}

/// Runs the command.
pub(crate) async fn serve(service: Service) -> Result<(), Failure> {
    match service {
        Service::Admission(process) => process.run(ServiceUser::Admission.as_str(), aip_admission::serve).await,
        Service::Scheduler(process) => process.run(ServiceUser::Scheduler.as_str(), aip_scheduler::serve).await,
        Service::EdgeHttp(process) => {
            let serve = |context, config| async { aip_edge_http::serve(context, config).await.map(drop) };
            process.run(ServiceUser::EdgeHttp.as_str(), serve).await
        }
        Service::Connector(process) => {
            // A context's name lives as long as its process.
            let name = Box::leak(process.config.name().to_owned().into_boxed_str());
            process.run(name, aip_connector::serve).await
        }
    }
}

impl<C: clap::Args> Process<C> {
    async fn run<S>(self, name: &'static str, serve: impl FnOnce(Context, C) -> S) -> Result<(), Failure>
    where
        S: Future<Output = anyhow::Result<()>>,
    {
        let Self { bus, config, with_parent } = self;
        let settings = Settings::read(&bus.config).map_err(Failure::settings)?;
        let seed = std::fs::metadata(&bus.nkey_file).with_context(|| format!("the key {}", bus.nkey_file.display()));
        seed.map_err(Failure::Settings)?;
        let orphaned = with_parent.then(input_closed);
        let served = async {
            let context = Context::connect(name, &settings, &bus).await?;
            run(context, |context| serve(context, config)).await
        };
        tokio::select! {
            served = Box::pin(served) => Ok(served?),
            () = closed(orphaned) => Ok(()),
        }
    }
}

async fn closed(orphaned: Option<oneshot::Receiver<()>>) {
    match orphaned {
        Some(closed) => drop(closed.await),
        None => std::future::pending().await,
    }
}

/// Resolves when standard input ends. A thread of its own reads it: such a read cannot be cancelled.
pub(crate) fn input_closed() -> oneshot::Receiver<()> {
    let (ended, closed) = oneshot::channel();
    std::thread::spawn(move || {
        let mut byte = [0];
        while matches!(std::io::stdin().read(&mut byte), Ok(1)) {}
        drop(ended);
    });
    closed
}
