//! What scheduler and connectors say to each other (`design.md` §4).

use super::token::{ConnectorName, capability_token, id_token};

/// `aipw.<connector>.<capability>`: offers of work; connector processes share them in a queue group.
#[must_use]
pub fn work(connector: &ConnectorName, capability: &str) -> String {
    format!("aipw.{connector}.{}", capability_token(capability))
}

/// `aipw.<connector>.*`: all offers to a connector.
#[must_use]
pub fn work_all(connector: &ConnectorName) -> String {
    format!("aipw.{connector}.*")
}

/// `aipx.<connector>.<action>`: tells every process of a connector to stop an attempt.
#[must_use]
pub fn control(connector: &ConnectorName, action: &str) -> String {
    format!("aipx.{connector}.{}", id_token(action))
}

/// `aipx.<connector>.*`: all control messages of a connector.
#[must_use]
pub fn control_all(connector: &ConnectorName) -> String {
    format!("aipx.{connector}.*")
}

/// What a connector says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Report {
    /// May this attempt run?
    Begin,
    /// A part of the output.
    Chunk,
    /// How it ended.
    Result,
    /// Attempts that are being worked on.
    Heartbeat,
    /// Its capabilities.
    Register,
    /// The process lives.
    Alive,
}

impl Report {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Begin, Self::Chunk, Self::Result, Self::Heartbeat, Self::Register, Self::Alive];

    /// Its subject token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Chunk => "chunk",
            Self::Result => "result",
            Self::Heartbeat => "hb",
            Self::Register => "register",
            Self::Alive => "alive",
        }
    }
}

/// `aipr.<connector>.<report>`.
#[must_use]
pub fn report(connector: &ConnectorName, report: Report) -> String {
    format!("aipr.{connector}.{}", report.as_str())
}

/// `aipr.*.<report>`: the same from every connector.
#[must_use]
pub fn report_all(report: Report) -> String {
    format!("aipr.*.{}", report.as_str())
}

/// Which connector said what. The subject is the proof: a connector's account can publish under its own name only.
#[must_use]
pub fn parse_report(subject: &str) -> Option<(ConnectorName, Report)> {
    let (connector, word) = subject.strip_prefix("aipr.")?.split_once('.')?;
    let connector = ConnectorName::new(connector).ok()?;
    let report = Report::ALL.into_iter().find(|report| report.as_str() == word)?;
    Some((connector, report))
}
