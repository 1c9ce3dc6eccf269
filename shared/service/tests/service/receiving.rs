//! Who is believed about what, and which of several faults is answered (AIP 1.0 §6.4, §22.2, §22.3; `design.md` §7).

use std::sync::Arc;

use aip_bus::{Headers, Inbound};
use aip_crypto::{SigningKey, sign_envelope};
use aip_service::{
    Directory, Settings, now,
    receive::{Receiver, Refused, Request},
};
use aip_testkit::Fate;
use aip_types::{ErrorCode, MessageId, Timestamp, limits};
use serde_json::{Value, json};

use crate::world::World;

/// A public user key of the right shape; nothing signs with it.
const NKEY: &str = "UAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn signing_key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32]).unwrap()
}

fn settings() -> Settings {
    let (bound, other) = (signing_key(1), signing_key(2));
    Settings::parse(&format!(
        r#"
trust_domain = "td"
service = "svc"
version = "v1"
tenants = [{{ id = "acme" }}, {{ id = "other" }}]

[[principals]]
id = "service:caller"
kind = "service"
tenant = "acme"
nkeys = ["{NKEY}"]
dids = ["{}"]

[[principals]]
id = "service:second"
kind = "service"
tenant = "acme"
dids = ["{}"]
"#,
        bound.did(),
        other.did()
    ))
    .unwrap()
}

/// A request in the making.
struct Case {
    subject: &'static str,
    headers: Vec<(&'static str, String)>,
    envelope: Value,
}

impl Case {
    /// From an edge that authenticated the caller.
    fn edge() -> Self {
        let context = json!({"principal": "service:caller", "method": "token"}).to_string();
        Self {
            subject: "aip.v1.td.svc.v1.aip_discovery_v1_manifest_request",
            headers: vec![("AIP-Context", context)],
            envelope: envelope(),
        }
    }

    /// From a user in a tenant's account.
    fn tenant() -> Self {
        let info = json!({"acc": "TENANT_acme", "user": NKEY, "rtt": 1}).to_string();
        Self {
            subject: "aipn.acme.aip_discovery_v1_manifest_request",
            headers: vec![("Nats-Request-Info", info)],
            envelope: envelope(),
        }
    }

    /// From an edge where nobody was authenticated.
    fn anonymous() -> Self {
        let context = json!({"method": "none"}).to_string();
        Self { headers: vec![("AIP-Context", context)], ..Self::edge() }
    }

    fn signed(mut self, seed: u8) -> Self {
        sign_envelope(&mut self.envelope, &signing_key(seed)).unwrap();
        self
    }

    fn inbound(&self) -> Inbound {
        self.carrying(json!({ "envelope": self.envelope }).to_string())
    }

    fn carrying(&self, payload: String) -> Inbound {
        let headers: Headers = self.headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Inbound { subject: self.subject.to_owned(), reply: None, headers, payload: payload.into() }
    }
}

fn envelope() -> Value {
    json!({
        "aip_version": "1.0",
        "message_type": "aip.discovery.v1.manifest_request",
        "message_id": MessageId::generate(now(), aip_bus::random()),
        "sent_at": Timestamp::from_millis(now()),
        "body": {"manifest_request": {}},
    })
}

fn receiver(world: &World) -> Receiver {
    Receiver::new(world.bus.clone(), Arc::new(Directory::new(&settings()).unwrap()))
}

async fn receive(inbound: &Inbound) -> Result<Request, Refused> {
    receiver(&World::new()).receive(inbound).await
}

async fn code(inbound: &Inbound) -> Option<ErrorCode> {
    receive(inbound).await.err().map(|refused| refused.error.error_code().unwrap())
}

#[tokio::test]
async fn a_caller_is_who_its_way_in_says() {
    for (case, method, id) in [
        (Case::edge(), "token", "service:caller"),
        (Case::tenant(), "nats", "service:caller"),
        (Case::anonymous().signed(1), "signature", "service:caller"),
        (Case::anonymous().signed(2), "signature", "service:second"),
        (Case::edge().signed(1), "token", "service:caller"),
        (Case::tenant().signed(1), "nats", "service:caller"),
    ] {
        let request = receive(&case.inbound()).await.unwrap_or_else(|refused| panic!("{:?}", refused.error));
        assert_eq!((request.caller.method(), request.caller.principal().id.as_str()), (method, id));
        assert_eq!(request.caller.tenant().as_str(), "acme");
    }
}

/// Its own bound, whatever its way in, and nobody else's; what is refused leaves nothing behind.
#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_again() {
    let mut settings = settings();
    settings.principals[0].requests_per_second = std::num::NonZeroU32::new(2);
    let directory = Directory::new(&settings).unwrap();
    let world = World::new();
    // Two processes have a bound each; two receivers of one process share it.
    let receivers: Vec<Receiver> =
        (0..2).map(|_| Receiver::new(world.bus.clone(), Arc::new(directory.clone()))).collect();
    let again = Case::anonymous().signed(1).inbound();
    assert!(receivers[0].receive(&Case::edge().inbound()).await.is_ok());
    assert!(receivers[1].receive(&Case::tenant().inbound()).await.is_ok());
    let refused = receivers[0].receive(&again).await.unwrap_err();
    assert_eq!(refused.error.error_code(), Some(ErrorCode::RateLimited));
    let wait = refused.error.retry_after_ms.unwrap();
    assert!((1..=501).contains(&wait), "{wait}");
    assert!(receivers[0].receive(&Case::anonymous().signed(2).inbound()).await.is_ok(), "another principal");
    // Its message was not claimed by the refusal: the same one is taken later.
    aip_testkit::eventually(std::time::Duration::from_secs(10), || async {
        receivers[0].receive(&again).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn a_bare_envelope_is_a_request_too() {
    let case = Case::edge();
    assert_eq!(code(&case.carrying(case.envelope.to_string())).await, None);
}

/// Trust comes from the subject: nothing that a client can write makes it somebody else.
#[tokio::test]
async fn a_forged_identity_is_refused() {
    let with = |mut case: Case, name, value: Value| {
        case.headers.push((name, value.to_string()));
        case
    };
    let info = |account: &str, user: &str| json!({"acc": account, "user": user});
    let without = |mut case: Case| {
        case.headers.clear();
        case
    };
    let elsewhere = |mut case: Case| {
        case.subject = "aipn.other.aip_discovery_v1_manifest_request";
        case
    };
    let from = |mut case: Case, id: &str| {
        case.envelope.as_object_mut().unwrap().insert("from".to_owned(), json!({"id": id, "kind": "service"}));
        case
    };
    let edge = |principal: &str| {
        with(without(Case::edge()), "AIP-Context", json!({"principal": principal, "method": "token"}))
    };
    let context = json!({"principal": "service:second", "method": "token"});
    let table = [
        ("no context from an edge", without(Case::edge()), ErrorCode::ContextRefused),
        ("an unreadable context", with(without(Case::edge()), "AIP-Context", json!("x")), ErrorCode::ContextRefused),
        ("an unknown principal", edge("service:nobody"), ErrorCode::TokenInvalid),
        (
            "request info from an edge's side",
            with(without(Case::edge()), "Nats-Request-Info", info("TENANT_acme", NKEY)),
            ErrorCode::ContextRefused,
        ),
        ("no request info from a tenant", without(Case::tenant()), ErrorCode::ContextRefused),
        ("a context from a tenant", with(Case::tenant(), "AIP-Context", context.clone()), ErrorCode::ContextRefused),
        ("a context in small letters", with(Case::tenant(), "aip-context", context), ErrorCode::ContextRefused),
        (
            "another account",
            with(without(Case::tenant()), "Nats-Request-Info", info("TENANT_other", NKEY)),
            ErrorCode::ContextRefused,
        ),
        ("another tenant's subject", elsewhere(Case::tenant()), ErrorCode::ContextRefused),
        (
            "another tenant's user",
            with(without(elsewhere(Case::tenant())), "Nats-Request-Info", info("TENANT_other", NKEY)),
            ErrorCode::TenantMismatch,
        ),
        (
            "an unknown user",
            with(without(Case::tenant()), "Nats-Request-Info", info("TENANT_acme", "UX")),
            ErrorCode::TokenInvalid,
        ),
        ("nobody at all", Case::anonymous(), ErrorCode::AuthRequired),
        ("a DID that nobody has", Case::anonymous().signed(9), ErrorCode::DidUnbound),
        ("a DID of somebody else", Case::edge().signed(2), ErrorCode::DidUnbound),
        ("a sender that is not the caller", from(Case::edge(), "service:second"), ErrorCode::ActorMismatch),
    ];
    for (what, case, expected) in table {
        assert_eq!(code(&case.inbound()).await, Some(expected), "{what}");
    }
    assert_eq!(code(&from(Case::edge(), "service:caller").inbound()).await, None);
}

#[tokio::test]
async fn a_signature_over_another_body_is_refused() {
    let mut case = Case::anonymous().signed(1);
    case.envelope.as_object_mut().unwrap().insert("correlation_id".to_owned(), json!("corr_changed"));
    assert_eq!(code(&case.inbound()).await, Some(ErrorCode::SignatureInvalid));
}

/// AIP 1.0 §22.3: a signed message counts once, on every replica; an unsigned one is bound to its connection.
#[tokio::test]
async fn a_signed_message_is_received_once() {
    let world = World::new();
    let receivers = [receiver(&world), receiver(&world)];
    let signed = Case::anonymous().signed(1).inbound();
    let first = receivers.first().unwrap().receive(&signed).await;
    let second = receivers.last().unwrap().receive(&signed).await;
    assert!(first.is_ok());
    assert_eq!(second.unwrap_err().error.error_code(), Some(ErrorCode::ReplayDuplicate));
    let plain = Case::edge().inbound();
    for receiver in receivers {
        assert!(receiver.receive(&plain).await.is_ok());
    }
}

#[tokio::test]
async fn a_signed_message_that_cannot_be_claimed_is_not_received() {
    let world = World::new();
    world.faulty.on_append(|_| Fate::Lose);
    let refused = receiver(&world).receive(&Case::anonymous().signed(1).inbound()).await.unwrap_err();
    assert_eq!(refused.error.error_code(), Some(ErrorCode::TransportUnavailable));
}

#[tokio::test]
async fn a_message_from_another_time_is_refused() {
    let at = |offset: i64| {
        let mut case = Case::edge();
        let sent = now().0.saturating_add_signed(offset);
        let sent = Timestamp::from_millis(aip_types::Millis(sent));
        case.envelope.as_object_mut().unwrap().insert("sent_at".to_owned(), json!(sent));
        case.inbound()
    };
    let (past, future) =
        (i64::try_from(limits::REPLAY_PAST_MS).unwrap(), i64::try_from(limits::REPLAY_FUTURE_MS).unwrap());
    // A busy machine takes its time: seconds lie between these and the bound.
    for (offset, expected) in [
        (-past + 20_000, None),
        (-past - 1, Some(ErrorCode::ReplayWindow)),
        (future - 20_000, None),
        (future + 20_000, Some(ErrorCode::ReplayWindow)),
    ] {
        assert_eq!(code(&at(offset)).await, expected, "{offset}");
    }
}

#[tokio::test]
async fn a_document_is_refused_at_its_bounds() {
    let case = Case::edge();
    let padded = |bytes: usize| {
        let mut envelope = case.envelope.clone();
        let mut texts: Vec<String> = vec!["x".repeat(100_000); 10];
        envelope.as_object_mut().unwrap().insert("trace".to_owned(), json!(texts));
        let quoted_and_separated = 3;
        texts.push("y".repeat(bytes - envelope.to_string().len() - quoted_and_separated));
        envelope.as_object_mut().unwrap().insert("trace".to_owned(), json!(texts));
        let text = envelope.to_string();
        assert_eq!(text.len(), bytes);
        text
    };
    let (most, past) = (padded(limits::ENVELOPE_BYTES_MAX), padded(limits::ENVELOPE_BYTES_MAX + 1));
    for wrap in [|envelope: &str| envelope.to_owned(), |envelope: &str| format!(r#"{{"envelope":{envelope}}}"#)] {
        assert_eq!(code(&case.carrying(wrap(&most))).await, None);
        assert_eq!(code(&case.carrying(wrap(&past))).await, Some(ErrorCode::TooLarge));
    }
    let nested = |depth: usize| {
        let mut envelope = case.envelope.clone();
        let mut value = json!(1);
        // The envelope itself is one level.
        for _ in 1..depth {
            value = json!([value]);
        }
        envelope.as_object_mut().unwrap().insert("trace".to_owned(), value);
        envelope.to_string()
    };
    for wrap in [|envelope: &str| envelope.to_owned(), |envelope: &str| format!(r#"{{"envelope":{envelope}}}"#)] {
        assert_eq!(code(&case.carrying(wrap(&nested(limits::DEPTH_MAX)))).await, None);
        assert_eq!(code(&case.carrying(wrap(&nested(limits::DEPTH_MAX + 1)))).await, Some(ErrorCode::TooDeep));
    }
}

#[tokio::test]
async fn a_wrapper_has_an_envelope_texts_and_nothing_else() {
    let case = Case::edge();
    let with = |member: &str, value: Value| {
        let mut wrapper = json!({ "envelope": case.envelope });
        wrapper.as_object_mut().unwrap().insert(member.to_owned(), value);
        case.carrying(wrapper.to_string())
    };
    assert_eq!(code(&with("metadata", json!({"a": "b"}))).await, None);
    for (member, value) in [("metadata", json!({"a": 1})), ("metadata", json!([])), ("more", json!("x"))] {
        assert_eq!(code(&with(member, value)).await, Some(ErrorCode::EnvelopeInvalid), "{member}");
    }
    assert_eq!(code(&case.carrying("[]".to_owned())).await, Some(ErrorCode::EnvelopeInvalid));
}

/// An earlier fault is answered however many later ones there are.
#[tokio::test]
async fn of_several_faults_the_earliest_is_answered() {
    type Fault = (ErrorCode, fn(&mut Case));
    let faults: [Fault; 4] = [
        (ErrorCode::TypeMismatch, |case| case.subject = "aip.v1.td.svc.v1.aip_core_v1_action"),
        (ErrorCode::ContextRefused, |case| case.headers.clear()),
        (ErrorCode::ActorMismatch, |case| {
            let from = json!({"id": "service:second", "kind": "service"});
            case.envelope.as_object_mut().unwrap().insert("from".to_owned(), from);
        }),
        (ErrorCode::ReplayWindow, |case| {
            case.envelope.as_object_mut().unwrap().insert("sent_at".to_owned(), json!("2020-01-01T00:00:00Z"));
        }),
    ];
    for set in 1..1_u32 << faults.len() {
        let mut case = Case::edge();
        let chosen: Vec<&Fault> =
            faults.iter().enumerate().filter(|(bit, _)| set >> bit & 1 == 1).map(|(_, fault)| fault).collect();
        chosen.iter().for_each(|(_, break_it)| break_it(&mut case));
        assert_eq!(code(&case.inbound()).await, chosen.first().map(|(code, _)| *code), "set {set:b}");
    }
}

/// A refusal copies what was readable, so that its receiver can tell which request it answers.
#[tokio::test]
async fn a_refusal_names_its_request() {
    let mut case = Case::edge();
    let members = case.envelope.as_object_mut().unwrap();
    members.insert("correlation_id".to_owned(), json!("corr_1"));
    members.insert("body".to_owned(), json!({}));
    let refused = receive(&case.inbound()).await.unwrap_err();
    assert_eq!(refused.correlation.correlation_id.unwrap().as_str(), "corr_1");
    assert_eq!(json!(refused.correlation.message_id), case.envelope["message_id"]);
}
