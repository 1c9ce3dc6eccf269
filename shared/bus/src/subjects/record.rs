//! Records, their entries, timers, chunks and values.

use crate::work::Fence;

use super::token::{Tenant, Vp, id_token, is_id_token};

/// A kind of record (`design.md` §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// An action.
    Action,
}

impl RecordKind {
    /// Its subject token.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
        }
    }

    fn parse(raw: &str) -> Option<Self> {
        (raw == Self::Action.as_str()).then_some(Self::Action)
    }
}

/// Names one record. Holds the id's subject token, so a key read from a subject equals the key made from the id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    /// Its kind.
    pub kind: RecordKind,
    /// Its tenant.
    pub tenant: Tenant,
    token: String,
}

impl RecordKey {
    /// The record of a wire id.
    #[must_use]
    pub fn new(kind: RecordKind, tenant: Tenant, id: &str) -> Self {
        Self { kind, tenant, token: id_token(id) }
    }

    /// The record of an action.
    #[must_use]
    pub fn action(tenant: Tenant, id: &str) -> Self {
        Self::new(RecordKind::Action, tenant, id)
    }

    /// [`id_token`] of its id.
    #[must_use]
    pub fn id_token(&self) -> &str {
        &self.token
    }

    /// The partition that it lies on.
    #[must_use]
    pub fn vp(&self) -> Vp {
        self.tenant.vp()
    }

    /// `aipj.<vp>.<kind>.<tenant>.<id>.*`: all its entries.
    #[must_use]
    pub fn filter(&self) -> String {
        format!("aipj.{}.*", self.path())
    }

    /// `aipj.<vp>.<kind>.<tenant>.<id>.<event>`: one entry, named by what happened.
    #[must_use]
    pub fn entry(&self, event: &str) -> String {
        format!("aipj.{}.{}", self.path(), id_token(event))
    }

    /// `aipl.<vp>.<kind>.<tenant>.<id>.*`: its entries as they are stored.
    #[must_use]
    pub fn live(&self) -> String {
        format!("aipl.{}.*", self.path())
    }

    /// `aipc.<vp>.<tenant>.<id>.*`: tells of its chunks as they are stored.
    #[must_use]
    pub fn live_chunks(&self) -> String {
        format!("aipc.{}.{}.{}.*", self.vp(), self.tenant, self.token)
    }

    /// `aipt.….<purpose>.<nonce>`: where a timer waits.
    #[must_use]
    pub fn timer(&self, purpose: &str, nonce: &str) -> String {
        format!("aipt.{}.{}.{}", self.path(), id_token(purpose), id_token(nonce))
    }

    /// `aipd.….<purpose>.<nonce>`: where a timer fires, and where others put a trigger such as `cancel`.
    #[must_use]
    pub fn due(&self, purpose: &str, nonce: &str) -> String {
        format!("aipd.{}.{}.{}", self.path(), id_token(purpose), id_token(nonce))
    }

    fn path(&self) -> String {
        format!("{}.{}.{}.{}", self.vp(), self.kind.as_str(), self.tenant, self.token)
    }
}

/// `aipl.*.<kind>.*.*.<event>`: one subscription a process on all live entries of an event.
#[must_use]
pub fn live_events(kind: RecordKind, event: &str) -> String {
    format!("aipl.*.{}.*.*.{}", kind.as_str(), id_token(event))
}

/// The parts of an entry's subject, stored (`aipj`) or live (`aipl`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntrySubject {
    /// The record.
    pub key: RecordKey,
    /// What happened.
    pub event: String,
}

impl EntrySubject {
    /// Reads an entry's subject; `None` for any other subject, and where the partition is not the tenant's.
    #[must_use]
    pub fn parse(subject: &str) -> Option<Self> {
        let tokens: Vec<&str> = subject.split('.').collect();
        match tokens.as_slice() {
            ["aipj" | "aipl", vp, kind, tenant, id, event] if id_token(event) == *event => {
                Some(Self { key: parse_key([vp, kind, tenant, id])?, event: (*event).to_owned() })
            }
            _ => None,
        }
    }
}

/// The parts of a due trigger's subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueSubject {
    /// The record.
    pub key: RecordKey,
    /// Why it comes.
    pub purpose: String,
    /// Which one it is.
    pub nonce: String,
}

impl DueSubject {
    /// Reads a due trigger's subject; `None` for any other subject, and where the partition is not the tenant's.
    #[must_use]
    pub fn parse(subject: &str) -> Option<Self> {
        let tokens: Vec<&str> = subject.split('.').collect();
        match tokens.as_slice() {
            ["aipd", vp, kind, tenant, id, purpose, nonce] if is_id_token(purpose) && is_id_token(nonce) => {
                let key = parse_key([vp, kind, tenant, id])?;
                Some(Self { key, purpose: (*purpose).to_owned(), nonce: (*nonce).to_owned() })
            }
            _ => None,
        }
    }
}

pub(super) fn parse_key([vp, kind, tenant, id]: [&str; 4]) -> Option<RecordKey> {
    let tenant = Tenant::new(tenant).ok()?;
    Vp::parse(vp).filter(|vp| *vp == tenant.vp())?;
    let kind = RecordKind::parse(kind)?;
    is_id_token(id).then(|| RecordKey { kind, tenant, token: id.to_owned() })
}

/// `aipk.<vp>.<tenant>.<action>.<fence>`: chunks of one attempt.
#[must_use]
pub fn chunk(tenant: &Tenant, action: &str, fence: Fence) -> String {
    format!("aipk.{}.{tenant}.{}.{}", tenant.vp(), id_token(action), fence.0)
}

/// `aipk.<vp>.<tenant>.<action>.*`: chunks of all attempts.
#[must_use]
pub fn chunks(tenant: &Tenant, action: &str) -> String {
    format!("aipk.{}.{tenant}.{}.*", tenant.vp(), id_token(action))
}

/// The fence that a chunk's subject names.
#[must_use]
pub fn parse_chunk_fence(subject: &str) -> Option<Fence> {
    let tokens: Vec<&str> = subject.split('.').collect();
    match tokens.as_slice() {
        ["aipk", _, _, _, fence] => fence.parse().ok().map(Fence).filter(|read| read.0.to_string() == *fence),
        _ => None,
    }
}

/// `aipb.<tenant>.<sha256>`: a value too large for its record.
#[must_use]
pub fn blob(tenant: &Tenant, sha256: &str) -> String {
    format!("aipb.{tenant}.{}", id_token(sha256))
}

/// `aipa.<tenant>.<label>`: an audit line, by what it tells (`refused`, `exported`, …). Without a tenant, where the caller
/// was not known, its token is `=`, which no tenant has.
#[must_use]
pub fn audit(tenant: Option<&Tenant>, label: &str) -> String {
    format!("aipa.{}.{}", tenant.map_or("=", Tenant::as_str), id_token(label))
}

/// `aipq.<stream>.<consumer>`: a received message that the lane could not process.
#[must_use]
pub fn quarantine(stream: &str, consumer: &str) -> String {
    format!("aipq.{}.{}", id_token(stream), id_token(consumer))
}
