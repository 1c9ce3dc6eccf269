//! What callers see: canonical subjects (AIP 1.0 §20.4) and their form inside account `AIP`.

use aip_types::MessageType;

use super::token::{BadToken, Tenant, Token};

/// The place that a fleet answers at. Names a place, never an identity (AIP 1.0 §14.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Peer {
    trust_domain: Token,
    service: Token,
    version: Token,
}

impl Peer {
    /// A place by its three names, folded as AIP 1.0 §20.4 says.
    ///
    /// # Errors
    /// [`BadToken`] when one of them cannot be a token.
    pub fn new(trust_domain: &str, service: &str, version: &str) -> Result<Self, BadToken> {
        Ok(Self {
            trust_domain: Token::new(trust_domain)?,
            service: Token::new(service)?,
            version: Token::new(version)?,
        })
    }

    /// The folded trust domain.
    #[must_use]
    pub fn trust_domain(&self) -> &str {
        self.trust_domain.as_str()
    }

    /// `aip.v1.<trust-domain>.<service>.<version>.<message-type>`.
    #[must_use]
    pub fn subject(&self, message: MessageType) -> String {
        format!("{}.{}", self.prefix(), message.subject_token())
    }

    /// All request subjects: one `*` for the type, so that `stream.<correlation>` is not among them.
    #[must_use]
    pub fn subjects(&self) -> String {
        format!("{}.*", self.prefix())
    }

    /// `aip.v1.<trust-domain>.<service>.<version>.stream.<correlation>`: where a tenant's users follow a correlation.
    #[must_use]
    pub fn stream(&self, correlation: &Token) -> String {
        format!("{}.stream.{correlation}", self.prefix())
    }

    /// All correlation streams, as a tenant's account names them.
    #[must_use]
    pub fn streams(&self) -> String {
        format!("{}.stream.*", self.prefix())
    }

    fn prefix(&self) -> String {
        let Self { trust_domain, service, version } = self;
        format!("aip.v1.{trust_domain}.{service}.{version}")
    }
}

/// A canonical subject, taken apart: what it names, in folded form.
///
/// Source: AIP 1.0 §20.4.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CanonicalSubject {
    /// `aip.v1.<trust-domain>.<service>.<version>.<message-type>`.
    Request {
        /// Who is asked.
        peer: Peer,
        /// For what.
        message: MessageType,
    },
    /// `aip.v1.<trust-domain>.<service>.<version>.stream.<correlation>`.
    Stream {
        /// Who streams.
        peer: Peer,
        /// What is followed.
        correlation: Token,
    },
}

impl CanonicalSubject {
    /// Reads a subject; `None` for one that [`CanonicalSubject::build`] cannot have made: another prefix, an unknown message
    /// type, a part that is empty, has a wildcard or is not folded. Folding loses what it folds, so the parts are tokens and
    /// not the names that they came from.
    #[must_use]
    pub fn parse(subject: &str) -> Option<Self> {
        let token = |raw: &str| Token::new(raw).ok().filter(|token| token.as_str() == raw);
        let tokens: Vec<&str> = subject.splitn(8, '.').collect(); // one more than the longest has
        let ["aip", "v1", trust_domain, service, version, rest @ ..] = tokens.as_slice() else { return None };
        let peer = Peer { trust_domain: token(trust_domain)?, service: token(service)?, version: token(version)? };
        match rest {
            [message] => Some(Self::Request { peer, message: MessageType::from_subject_token(message)? }),
            ["stream", correlation] => Some(Self::Stream { peer, correlation: token(correlation)? }),
            _ => None,
        }
    }

    /// The subject.
    #[must_use]
    pub fn build(&self) -> String {
        match self {
            Self::Request { peer, message } => peer.subject(*message),
            Self::Stream { peer, correlation } => peer.stream(correlation),
        }
    }
}

/// `aipn.<tenant>.<message-type>`: what a tenant's request becomes inside account `AIP`.
#[must_use]
pub fn tenant_request(tenant: &Tenant, message: MessageType) -> String {
    format!("aipn.{tenant}.{}", message.subject_token())
}

/// `aips.<tenant>.<correlation>`: a correlation stream inside account `AIP`. The correlation is folded as in [`Peer::stream`].
#[must_use]
pub fn correlation(tenant: &Tenant, correlation: &Token) -> String {
    format!("aips.{tenant}.{correlation}")
}

/// What an owner of message types subscribes, with its queue group: each type from the edges and from every tenant.
#[must_use]
pub fn owner_subjects(peer: &Peer, messages: &[MessageType]) -> Vec<String> {
    messages
        .iter()
        .flat_map(|message| [peer.subject(*message), format!("aipn.*.{}", message.subject_token())])
        .collect()
}

/// Whether what comes on a subject was sent from another account: by a tenant's user or a connector.
#[must_use]
pub fn is_foreign(subject: &str) -> bool {
    subject.starts_with("aipn.") || subject.starts_with("aipr.")
}

/// Where a request came from. Trust comes from here and from nowhere else (`design.md` §7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From an edge, the only kind of user that may publish there: its `AIP-Context` header is believed.
    Edge {
        /// Token of the message type.
        type_token: String,
    },
    /// From the account of a tenant: `Nats-Request-Info` says who.
    Tenant {
        /// The tenant.
        tenant: Tenant,
        /// Token of the message type.
        type_token: String,
    },
}

impl Origin {
    /// Reads the subject of a request; `None` for any other subject.
    #[must_use]
    pub fn parse(subject: &str) -> Option<Self> {
        let tokens: Vec<&str> = subject.split('.').collect();
        match tokens.as_slice() {
            ["aip", "v1", trust_domain, service, version, message]
                if ![trust_domain, service, version, message].iter().any(|token| token.is_empty()) =>
            {
                Some(Self::Edge { type_token: (*message).to_owned() })
            }
            ["aipn", tenant, message] if !message.is_empty() => {
                Tenant::new(tenant).ok().map(|tenant| Self::Tenant { tenant, type_token: (*message).to_owned() })
            }
            _ => None,
        }
    }

    /// Token of the message type.
    #[must_use]
    pub fn type_token(&self) -> &str {
        match self {
            Self::Edge { type_token } | Self::Tenant { type_token, .. } => type_token,
        }
    }
}

/// Whether a subject is an inbox, or stands for one of another account. A service answers there and nowhere else: the right
/// to answer must not become, by the reply subject of a request, the right to write a record.
#[must_use]
pub fn is_inbox(subject: &str) -> bool {
    let (first, rest) = subject.split_once('.').unwrap_or_default();
    (first == "_INBOX" || first.starts_with("_INBOX_") || first == "_R_")
        && rest
            .split('.')
            .all(|token| !token.is_empty() && !token.contains(|c: char| matches!(c, '*' | '>') || c.is_whitespace()))
}
