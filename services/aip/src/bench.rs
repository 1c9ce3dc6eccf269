//! `aip bench`: how fast a running fleet is, beside what its server can do at best.
//!
//! It starts no part of the fleet. In one run, on one server, it measures actions through the edges and, in the account
//! `BENCH`, the same writes and hops by a bare client ([`bare`]): the ceilings that `docs/performance.md` compares with. It
//! also counts the JetStream writes of an action by the server's own counters ([`writes`]). Start reading at [`bench`].

mod bare;
mod fleet;
mod load;
mod names;
mod processes;
mod report;
mod responder;
mod target;
mod writes;

use std::{path::PathBuf, sync::Arc, time::Duration};

use anyhow::Context as _;

use self::{
    bare::Bare,
    fleet::{Kind, OverHttp, OverNats},
    load::{Load, Measured},
    processes::{Cpu, Processes},
    report::{Report, Row},
    target::Target,
};
use crate::{failure::Failure, output::Output};

/// Measures a running fleet beside the ceilings of its server.
///
/// Rows are closed loops: each of the callers in flight asks again when it was answered. The ratio compares with the ceiling
/// that does the same writes and hops with a bare client on the same server, measured in turns with it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BenchArgs {
    /// Folder of the fleet: its `env` file and its keys.
    #[arg(long, env = "AIP_DIR", default_value = ".aip")]
    dir: PathBuf,
    /// URL of the HTTP edge [default: what DIR/env says].
    #[arg(long)]
    url: Option<String>,
    /// URLs of the NATS servers, comma separated [default: what DIR/env says].
    #[arg(long)]
    nats_url: Option<String>,
    /// Seconds of each row, after a warm-up of a fifth.
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u64).range(1..=200))]
    seconds: u64,
    /// Callers in flight, comma separated.
    #[arg(long, value_delimiter = ',', default_value = "1,64", value_parser = clap::value_parser!(u16).range(1..=1024))]
    in_flight: Vec<u16>,
    /// Actions of each kind whose writes are counted, one after another; 0 counts none.
    #[arg(long, default_value = "2000")]
    count: u32,
    /// Processes whose resident memory is added up [default: DIR/pids, else those with DIR on their command line].
    #[arg(long, value_delimiter = ',')]
    pids: Vec<u32>,
    /// Leaves out the rows and writes of the other kind.
    #[arg(long)]
    only: Option<Kind>,
    /// Leaves out the rows over HTTP.
    #[arg(long)]
    no_http: bool,
    /// Leaves out the ceilings.
    #[arg(long)]
    no_ceilings: bool,
    /// Is the other side of the bare loop.
    #[arg(long, hide = true)]
    responder: bool,
    /// Its seed.
    #[arg(long, hide = true)]
    seed_file: Option<PathBuf>,
}

/// Runs the command.
pub(crate) async fn bench(args: &BenchArgs, output: Output) -> Result<(), Failure> {
    if args.responder {
        return responder::serve(args.nats_url.as_deref(), args.seed_file.as_deref()).await;
    }
    let target = Target::read(args)?;
    let bench = Box::pin(Bench::open(args, target)).await?;
    let measured = Box::pin(bench.measure(args, output)).await;
    if let Some(bare) = &bench.bare {
        bare.close().await;
    }
    let report = measured?;
    output.answer(&report.document(), || report.lines());
    Ok(())
}

/// Parts of a row. Rows that are compared take turns, so that a machine that is faster now than then favours none.
const SLICES: u32 = 4;

/// Everything that is measured.
struct Bench {
    target: Target,
    processes: Processes,
    bare: Option<Arc<Bare>>,
    over_nats: OverNats,
    over_http: Option<OverHttp>,
}

/// What is called in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Bare,
    Nats,
    Http,
}

impl Bench {
    async fn open(args: &BenchArgs, target: Target) -> Result<Self, Failure> {
        let over_nats = OverNats::open(&target).await?;
        let over_http = (!args.no_http).then(|| OverHttp::open(&target)).transpose()?;
        let bare = match args.no_ceilings {
            true => None,
            false => {
                let replicas = writes::Census::open(&target).await?.replicas().await?;
                Some(Arc::new(Box::pin(Bare::open(&target, replicas)).await.context("preparing the ceilings")?))
            }
        };
        let processes = Processes::find(&args.dir, &args.pids);
        Ok(Self { target, processes, bare, over_nats, over_http })
    }

    async fn measure(&self, args: &BenchArgs, output: Output) -> Result<Report, Failure> {
        let mut report = Report::new(&self.target);
        report.idle(self.processes.now());
        if args.count > 0 {
            output.line(format!("counting the writes of {} actions of each kind …", args.count));
            let census = writes::Census::open(&self.target).await?;
            for kind in args.kinds() {
                report.writes(census.count(&self.over_nats, kind, args.count).await?);
            }
        }
        for &in_flight in &args.in_flight {
            let load = Load::new(in_flight, Duration::from_secs(args.seconds));
            output.line(format!("measuring at {in_flight} in flight …"));
            self.rows(load, args, &mut report).await?;
        }
        Ok(report)
    }

    async fn rows(&self, load: Load, args: &BenchArgs, report: &mut Report) -> Result<(), Failure> {
        if let Some(bare) = &self.bare {
            let one = Arc::clone(bare);
            let core = load.run(move |_| ask_core(Arc::clone(&one)));
            report.row(Row::new("core request/reply", load, self.using(core).await?));
            let one = Arc::clone(bare);
            let append = load.run(move |n| ask_append(Arc::clone(&one), n));
            report.row(Row::new("append + reply", load, self.using(append).await?));
        }
        for kind in args.kinds() {
            let mut measured: Vec<(Path, (Measured, Cpu))> = Vec::new();
            for _ in 0..SLICES {
                for path in self.paths() {
                    let slice = self.using(self.path(path, kind, load.slice(SLICES)));
                    let (slice, memory) = self.processes.highest_during(slice).await;
                    let slice = slice?;
                    if path == Path::Nats {
                        report.load(load, memory);
                    }
                    match measured.iter_mut().find(|(known, _)| *known == path) {
                        Some((_, (row, cpu))) => (*row, *cpu) = (row.clone().and(slice.0)?, cpu.and(slice.1)),
                        None => measured.push((path, slice)),
                    }
                }
            }
            let ceiling = measured.iter().find(|(path, _)| *path == Path::Bare).map(|(_, (row, _))| row.clone());
            for (path, row) in measured {
                let row = match path {
                    Path::Bare => Row::new(kind.loop_name(), load, row),
                    Path::Nats => Row::new(format!("{}, NATS", kind.name()), load, row).beside(ceiling.as_ref()),
                    Path::Http => Row::new(format!("{}, HTTP", kind.name()), load, row).beside(ceiling.as_ref()),
                };
                report.row(row);
            }
        }
        Ok(())
    }

    /// What is compared, in turns.
    fn paths(&self) -> impl Iterator<Item = Path> {
        let bare = self.bare.is_some().then_some(Path::Bare);
        let http = self.over_http.is_some().then_some(Path::Http);
        bare.into_iter().chain([Path::Nats]).chain(http)
    }

    async fn using(&self, row: impl Future<Output = Result<Measured, Failure>>) -> Result<(Measured, Cpu), Failure> {
        let (measured, cpu) = self.processes.cpu_of(row).await;
        Ok((measured?, cpu))
    }

    async fn path(&self, path: Path, kind: Kind, load: Load) -> Result<Measured, Failure> {
        match (path, &self.bare, &self.over_http) {
            (Path::Bare, Some(bare), _) => {
                let bare = Arc::clone(bare);
                load.run(move |n| {
                    let bare = Arc::clone(&bare);
                    async move { bare.ask_loop(kind, n).await }
                })
                .await
            }
            (Path::Http, _, Some(http)) => {
                let http = http.anew()?;
                load.run(move |n| {
                    let http = http.clone();
                    async move { http.call(kind, n).await }
                })
                .await
            }
            (Path::Bare | Path::Nats | Path::Http, ..) => {
                let nats = self.over_nats.anew()?;
                load.run(move |n| {
                    let nats = nats.clone();
                    async move { nats.call(kind, n).await }
                })
                .await
            }
        }
    }
}

impl BenchArgs {
    fn kinds(&self) -> impl Iterator<Item = Kind> {
        let only = self.only;
        Kind::ALL.into_iter().filter(move |kind| only.is_none_or(|only| only == *kind))
    }
}

async fn ask_core(bare: Arc<Bare>) -> anyhow::Result<()> {
    bare.ask_core().await
}

async fn ask_append(bare: Arc<Bare>, number: u64) -> anyhow::Result<()> {
    bare.ask_append(number).await
}
