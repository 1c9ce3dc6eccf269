//! `aip keys`: who may be in a fleet. Makes keys, tokens, `aip.toml` and `nats.conf`, and never replaces a secret.

mod principals;
mod roster;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use aip_bus::accounts::{self, ServerOptions, SyncInterval};
use aip_service::Settings;

use crate::{
    env_file,
    failure::Failure,
    home::{self, Home},
    output::Output,
};

/// Generates keys, tokens and configuration for a fleet.
///
/// What exists is kept: seeds, tokens and aip.toml are made once. nats.conf is made from them each time, so a tenant, user or
/// connector that you add to aip.toml gets its account by running this again and reloading the server.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct KeysArgs {
    /// Folder of the fleet.
    #[arg(long, default_value = ".aip")]
    pub(crate) dir: PathBuf,
    /// Where the NATS server listens for clients; port 0 is a free one [default: as in DIR/nats.conf, else 127.0.0.1:4222].
    #[arg(long)]
    pub(crate) listen: Option<SocketAddr>,
    /// Where the NATS server's monitor listens; port 0 is a free one. It is unprotected: keep it inside [default: as in
    /// DIR/nats.conf, else 127.0.0.1:8222].
    #[arg(long)]
    pub(crate) monitor: Option<SocketAddr>,
    /// Folder of the streams, as the NATS server sees it [default: as in DIR/nats.conf, else DIR/nats/store].
    #[arg(long)]
    pub(crate) store_dir: Option<PathBuf>,
    /// Make the server write every message to disk before it answers. Stays in DIR/nats.conf once it is there.
    #[arg(long)]
    pub(crate) sync_always: bool,
    /// Trust domain of a new fleet.
    #[arg(long, default_value = "local")]
    pub(crate) trust_domain: String,
    /// Add the connector `rogue`, which tests use to break rules.
    #[arg(long)]
    pub(crate) rogue: bool,
    /// URL of the HTTP edge, for DIR/env [default: as it is there, else http://127.0.0.1:8080].
    #[arg(long)]
    pub(crate) url: Option<String>,
    /// URL of the NATS server as callers reach it, for DIR/env [default: as it is there, else where the server listens].
    #[arg(long)]
    pub(crate) nats_url: Option<String>,
}

const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 4222);
const MONITOR: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8222);

impl KeysArgs {
    /// What is not said stays as it was said before: a repetition adds accounts and moves nothing.
    fn keeping(mut self, home: &Home) -> Result<Self, Failure> {
        let config = home::read(&home.nats_config())?.unwrap_or_default();
        let line = |name: &str| {
            let mut lines = config.lines().filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix(": "));
            lines.next().map(|value| value.trim_matches('"').to_owned())
        };
        let address = |name: &str| line(name).and_then(|value| value.parse().ok());
        self.listen = self.listen.or_else(|| address("listen"));
        self.monitor = self.monitor.or_else(|| address("http"));
        self.store_dir = self.store_dir.or_else(|| line("store_dir").map(PathBuf::from));
        self.sync_always |= line("sync_interval").as_deref() == Some("always");
        let env = env_file::read(home)?;
        self.url = self.url.or_else(|| env.get("AIP_URL").cloned());
        self.nats_url = self.nats_url.or_else(|| env.get("NATS_URL").cloned());
        Ok(self)
    }
}

/// Runs the command.
pub(crate) fn keys(args: &KeysArgs, output: Output) -> Result<(), Failure> {
    let home = Home::open(&args.dir)?;
    let args = &args.clone().keeping(&home)?;
    let settings = ensure(&home, args)?;
    let url = args.url.as_deref().unwrap_or("http://127.0.0.1:8080");
    let nats_url = args.nats_url.clone().unwrap_or_else(|| format!("nats://{}", args.listen.unwrap_or(LISTEN)));
    write_env(&home, &settings, url, &nats_url)?;
    let names = |all: Vec<&str>| all.join(", ");
    output.line(format!("fleet      {}", home.dir().display()));
    output.line(format!("tenants    {}", names(settings.tenants.iter().map(|tenant| tenant.id.as_str()).collect())));
    output.line(format!("principals {}", names(settings.principals.iter().map(|one| one.id.as_str()).collect())));
    output.line(format!("connectors {}", names(settings.connectors.iter().map(|one| one.name.as_str()).collect())));
    output.line(format!("server     nats-server --config {}", home.nats_config().display()));
    output.line(format!("callers    . {}", home.env().display()));
    Ok(())
}

/// Makes what is missing and returns who is who.
pub(crate) fn ensure(home: &Home, args: &KeysArgs) -> Result<Settings, Failure> {
    let settings = principals::ensure(home, &args.trust_domain, args.rogue)?;
    let roster = roster::ensure(home, &settings)?;
    let store = args.store_dir.clone().unwrap_or_else(|| home.nats_dir().join("store"));
    let mut options = ServerOptions::single(args.listen.unwrap_or(LISTEN), store);
    options.http = Some(args.monitor.unwrap_or(MONITOR));
    options.sync_interval =
        if args.sync_always { SyncInterval::Always } else { SyncInterval::Every(Duration::from_secs(120)) };
    home::write_private(&home.nats_config(), &accounts::render(&roster, &options))?;
    Ok(settings)
}

/// Tells callers where the fleet is. Tokens stay as they are.
pub(crate) fn write_env(home: &Home, settings: &Settings, url: &str, nats_url: &str) -> Result<(), Failure> {
    let mut variables = env_file::read(home)?;
    let peer = settings.peer().map_err(Failure::settings)?;
    let subject = peer.subjects();
    let mut set = |name: &str, value: String| drop(variables.insert(name.to_owned(), value));
    set("AIP_URL", url.to_owned());
    set("NATS_URL", nats_url.to_owned());
    set("AIP_DIR", home.dir().display().to_string());
    set("AIP_TRUST_DOMAIN", settings.trust_domain.clone());
    set("AIP_NATS_SUBJECT", subject.trim_end_matches(".*").to_owned());
    for principal in principals::DEMO {
        set(&principal.variable("AIP_NATS_CREDS"), home.nkey(principal.name).display().to_string());
        set(&principal.variable("AIP_SIGNING_KEY"), home.signer(principal.name).display().to_string());
    }
    env_file::write(home, &variables)
}
