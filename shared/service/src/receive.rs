//! What every owner does with a request before it decides anything: parse, check, authenticate, refuse replays.
//!
//! The order is fixed (AIP 1.0 §6.4, §11.3), so one wrong request has one answer. Trust comes from the subject
//! (`design.md` §7): an edge's context is believed, a tenant's user is who the server says it is, a signature stands for
//! whom its DID is bound to.

use std::{ops::Deref, sync::Arc, time::Duration};

use aip_bus::{
    Bus, Inbound,
    accounts::{REQUEST_INFO, RequestInfo, tenant_account},
    subjects::{Origin, Tenant},
};
use aip_schema::Received;
use aip_types::{Envelope, ErrorCode, MessageType, Principal, ProtocolError, limits, transport::TransportMessage};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    clock::now,
    directory::{Directory, Known},
    reply::Correlation,
};

/// Header in which an edge tells whom it has authenticated.
pub const CONTEXT_HEADER: &str = "AIP-Context";

/// What an edge has found out about a caller. Only edges may publish where it is believed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EdgeContext {
    /// Id of the principal; absent where only a signature can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// How it was authenticated: `token`, or `none`.
    pub method: String,
}

/// A value that was checked. Only this module makes one.
#[derive(Clone, Debug)]
pub struct Verified<T>(T);

impl<T> Deref for Verified<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// An authenticated caller.
#[derive(Clone, Debug)]
pub struct Caller {
    known: Arc<Known>,
    method: &'static str,
}

impl Caller {
    /// What is configured about it.
    #[must_use]
    pub fn known(&self) -> &Known {
        &self.known
    }

    pub(crate) fn shared(&self) -> Arc<Known> {
        Arc::clone(&self.known)
    }

    /// Who it is.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.known.principal
    }

    /// Its tenant.
    #[must_use]
    pub fn tenant(&self) -> &Tenant {
        &self.known.tenant
    }

    /// How it was authenticated: `token`, `nats` or `signature`.
    #[must_use]
    pub const fn method(&self) -> &'static str {
        self.method
    }
}

/// A request that may be decided.
#[derive(Clone, Debug)]
pub struct Request {
    /// The envelope.
    pub envelope: Envelope,
    /// Who sent it.
    pub caller: Verified<Caller>,
    /// What the answer copies.
    pub correlation: Correlation,
}

/// A request that is refused.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Why.
    pub error: ProtocolError,
    /// What the answer copies, as far as it was readable.
    pub correlation: Correlation,
    /// Tenant and principal for the audit line, where known.
    pub caller: Option<Arc<Known>>,
}

impl Refused {
    fn early(error: impl Into<ProtocolError>) -> Self {
        Self { error: error.into(), correlation: Correlation::default(), caller: None }
    }
}

/// Receives requests.
#[derive(Clone, Debug)]
pub struct Receiver {
    bus: Bus,
    directory: Arc<Directory>,
}

impl Receiver {
    /// Receives with this directory, and claims signed messages on this bus.
    #[must_use]
    pub const fn new(bus: Bus, directory: Arc<Directory>) -> Self {
        Self { bus, directory }
    }

    /// Takes a request in.
    ///
    /// # Errors
    /// [`Refused`], with the first refusal in the fixed order. Nothing has been stored then.
    pub async fn receive(&self, inbound: &Inbound) -> Result<Request, Refused> {
        let origin = Origin::parse(&inbound.subject).ok_or_else(|| Refused::early(ErrorCode::MessageUnsupported))?;
        let document =
            TransportMessage::read(&inbound.payload).map_err(|fault| Refused::early(fault.error()))?.envelope;
        let correlation = claimed_correlation(&document);
        let refuse = |error: ProtocolError, caller: Option<&Caller>| Refused {
            error,
            correlation: correlation.clone(),
            caller: caller.map(|caller| Arc::clone(&caller.known)),
        };
        // Another type than the subject's is not read any further: only the types of this owner are prepared for.
        let announced = document.get("message_type").and_then(Value::as_str).and_then(MessageType::from_wire);
        if announced.is_some_and(|announced| announced.subject_token() != origin.type_token()) {
            return Err(refuse(ErrorCode::TypeMismatch.into(), None));
        }
        let Received { document, envelope } = Received::of(document).map_err(|fault| refuse(fault.error(), None))?;
        let caller = self.authenticate(inbound, &origin, &envelope, &document).map_err(|error| refuse(error, None))?;
        let Authenticated { caller, signer } = caller;
        // Before anything is written for it.
        self.directory.count_request(&caller.known).map_err(|wait| refuse(too_many(wait), Some(&caller)))?;
        self.admit_once(&envelope, signer.as_deref()).await.map_err(|error| refuse(error, Some(&caller)))?;
        let correlation = Correlation { to: Some(caller.principal().clone()), ..correlation };
        Ok(Request { envelope, caller: Verified(caller), correlation })
    }

    fn authenticate(
        &self,
        inbound: &Inbound,
        origin: &Origin,
        envelope: &Envelope,
        document: &Value,
    ) -> Result<Authenticated, ProtocolError> {
        let transport = match origin {
            Origin::Edge { .. } => self.edge(inbound)?,
            Origin::Tenant { tenant, .. } => Some(self.tenant(inbound, tenant)?),
        };
        let signer = self.signer(envelope, document)?;
        let caller = match (transport, signer) {
            (None, None) => return Err(ErrorCode::AuthRequired.into()),
            (Some(caller), None) => Authenticated { caller, signer: None },
            (None, Some((did, known))) => {
                Authenticated { caller: Caller { known, method: "signature" }, signer: Some(did) }
            }
            (Some(caller), Some((did, known))) if caller.known == known => Authenticated { caller, signer: Some(did) },
            (Some(_), Some(_)) => return Err(ErrorCode::DidUnbound.into()),
        };
        match &envelope.from {
            Some(from) if from.id != caller.caller.principal().id => Err(ErrorCode::ActorMismatch.into()),
            Some(_) | None => Ok(caller),
        }
    }

    /// From an edge: its word.
    fn edge(&self, inbound: &Inbound) -> Result<Option<Caller>, ProtocolError> {
        let text = inbound.headers.get(CONTEXT_HEADER).ok_or(ErrorCode::ContextRefused)?;
        let context: EdgeContext = serde_json::from_str(text).map_err(|_| ErrorCode::ContextRefused)?;
        match context.principal {
            None => Ok(None),
            Some(id) => {
                let known = self.directory.by_id(&id).ok_or(ErrorCode::TokenInvalid)?;
                Ok(Some(Caller { known, method: "token" }))
            }
        }
    }

    /// From a tenant's account: the server's word. A context header from there is an attempt to forge.
    fn tenant(&self, inbound: &Inbound, tenant: &Tenant) -> Result<Caller, ProtocolError> {
        if inbound.headers.keys().any(|name| name.eq_ignore_ascii_case(CONTEXT_HEADER)) {
            return Err(ErrorCode::ContextRefused.into());
        }
        let header = inbound.headers.get(REQUEST_INFO).ok_or(ErrorCode::ContextRefused)?;
        let info = RequestInfo::parse(header).ok_or(ErrorCode::ContextRefused)?;
        if info.account != tenant_account(tenant) {
            return Err(ErrorCode::ContextRefused.into());
        }
        let known = self.directory.by_nkey(&info.user).ok_or(ErrorCode::TokenInvalid)?;
        if known.tenant != *tenant {
            return Err(ErrorCode::TenantMismatch.into());
        }
        Ok(Caller { known, method: "nats" })
    }

    /// A signature, where the envelope carries one: whoever its DID is bound to (AIP 1.0 §22.2).
    fn signer(&self, envelope: &Envelope, document: &Value) -> Result<Option<(String, Arc<Known>)>, ProtocolError> {
        if envelope.security.is_none() {
            return Ok(None);
        }
        let did = aip_crypto::verify_envelope(document).map_err(|_| ErrorCode::SignatureInvalid)?;
        let known = self.directory.by_did(did.as_str()).ok_or(ErrorCode::DidUnbound)?;
        Ok(Some((did.as_str().to_owned(), known)))
    }

    /// The replay window, and the claim of a signed message (AIP 1.0 §22.3).
    async fn admit_once(&self, envelope: &Envelope, signer: Option<&str>) -> Result<(), ProtocolError> {
        let (at, sent) = (now(), envelope.sent_at.millis());
        if sent.plus(limits::REPLAY_PAST_MS) < at || sent > at.plus(limits::REPLAY_FUTURE_MS) {
            return Err(ProtocolError::from(ErrorCode::ReplayWindow).with_details(json!({"pointer": "/sent_at"})));
        }
        let Some(signer) = signer else { return Ok(()) };
        match self.bus.claim_message(signer, envelope.message_id.as_str()).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(ErrorCode::ReplayDuplicate.into()),
            Err(fault) => {
                tracing::warn!(%fault, "claiming a message id");
                Err(ProtocolError::from(ErrorCode::TransportUnavailable).with_retry_after_ms(limits::RETRY_AFTER_MS))
            }
        }
    }
}

fn too_many(wait: Duration) -> ProtocolError {
    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
    ProtocolError::from(ErrorCode::RateLimited).with_retry_after_ms(wait_ms)
}

struct Authenticated {
    caller: Caller,
    signer: Option<String>,
}

/// What an answer can copy from a document that may be wrong in every other way.
#[must_use]
pub fn claimed_correlation(document: &Value) -> Correlation {
    let text = |name: &str| {
        document.get(name).and_then(Value::as_str).filter(|text| !text.is_empty() && text.len() <= limits::ID_BYTES_MAX)
    };
    Correlation {
        message_id: text("message_id").map(aip_types::MessageId::new),
        correlation_id: text("correlation_id").map(aip_types::CorrelationId::new),
        session_id: text("session_id").map(aip_types::SessionId::new),
        to: None,
    }
}
