//! Canonical subjects (AIP 1.0 §20.4), by the fixtures of `schemas/frames/subjects.json` and by properties.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeSet;
use std::path::Path;

use aip_bus::subjects::{CanonicalSubject, Origin, Peer, Token};
use aip_types::{CorrelationId, MessageType};
use proptest::prelude::*;
use serde_json::Value;

fn fixtures(list: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/frames/subjects.json");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let fixtures = document[list].as_array().unwrap().clone();
    assert!(!fixtures.is_empty(), "{list} is empty");
    fixtures
}

fn request(peer: Peer, message: MessageType) -> CanonicalSubject {
    CanonicalSubject::Request { peer, message }
}

fn stream(peer: Peer, correlation: &CorrelationId) -> Option<CanonicalSubject> {
    Some(CanonicalSubject::Stream { peer, correlation: Token::new(correlation.as_str()).ok()? })
}

#[test]
fn subjects_are_built_as_published_and_read_back() {
    for fixture in fixtures("built") {
        let part = |name: &str| fixture[name].as_str().unwrap_or_else(|| panic!("{name}: {fixture}"));
        let peer = Peer::new(part("trust_domain"), part("service"), part("version")).unwrap();
        let subject = match fixture["message_type"].as_str() {
            Some(wire) => request(peer, MessageType::from_wire(wire).unwrap()),
            None => stream(peer, &CorrelationId::new(part("correlation"))).unwrap(),
        };
        assert_eq!(subject.build(), part("subject"), "{}", fixture["name"]);
        assert_eq!(CanonicalSubject::parse(part("subject")), Some(subject), "{}", fixture["name"]);
    }
}

#[test]
fn what_cannot_be_a_token_is_not_built() {
    for part in fixtures("not_built") {
        let part = part.as_str().unwrap();
        assert!(Token::new(part).is_err(), "{part:?}");
        assert!(Peer::new(part, "aip", "1").is_err() && Peer::new("dev", part, "1").is_err(), "{part:?}");
        assert!(Peer::new("dev", "aip", part).is_err(), "{part:?}");
    }
}

#[test]
fn what_is_no_canonical_subject_is_not_read() {
    for subject in fixtures("not_read") {
        assert_eq!(CanonicalSubject::parse(subject.as_str().unwrap()), None, "{subject}");
    }
}

#[test]
fn every_message_type_has_a_token_of_its_own_that_reads_back() {
    let peer = Peer::new("dev", "aip", "1").unwrap();
    let mut seen = BTreeSet::new();
    for &message in MessageType::ALL {
        let subject = request(peer.clone(), message).build();
        assert_eq!(CanonicalSubject::parse(&subject), Some(request(peer.clone(), message)), "{message}");
        assert_eq!(message.subject_token(), Token::new(message.as_str()).unwrap().as_str());
        assert!(message.subject_token() != "stream" && seen.insert(subject), "{message}");
    }
}

/// A part without anything that is folded.
fn plain() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_:=$é中-]{1,24}"
}

proptest! {
    #[test]
    fn what_is_built_is_read_back(
        parts in (plain(), plain(), plain()),
        message in prop::sample::select(MessageType::ALL),
        correlation in plain(),
    ) {
        let peer = Peer::new(&parts.0, &parts.1, &parts.2).unwrap();
        let correlation = CorrelationId::new(correlation);
        for subject in [request(peer.clone(), message), stream(peer, &correlation).unwrap()] {
            prop_assert_eq!(CanonicalSubject::parse(&subject.build()), Some(subject));
        }
    }

    /// Two places, types or correlations without anything that is folded never share a subject.
    #[test]
    fn plain_parts_never_meet(one in (plain(), plain(), plain(), plain()), other in (plain(), plain(), plain(), plain())) {
        let built = |(domain, service, version, correlation): &(String, String, String, String)| {
            let peer = Peer::new(domain, service, version).unwrap();
            stream(peer, &CorrelationId::new(correlation.clone())).unwrap().build()
        };
        prop_assert_eq!(built(&one) == built(&other), one == other);
    }

    /// Whatever can be read is written the same, and folding what is folded changes nothing.
    #[test]
    fn what_is_read_is_built_the_same(subject in prop_oneof![any::<String>(), "aip\\.v1\\.[a-z./ *]{1,9}\\.[a-z]\\.1\\.(stream\\.[a-z. >]{0,4}|aip_core_v1_(ack|action|x))"]) {
        if let Some(read) = CanonicalSubject::parse(&subject) {
            prop_assert_eq!(read.build(), subject.clone());
            let is_request = matches!(read, CanonicalSubject::Request { .. });
            prop_assert_eq!(Origin::parse(&subject).is_some(), is_request);
        }
    }

    #[test]
    fn folding_twice_is_folding_once(raw in any::<String>()) {
        if let Ok(token) = Token::new(&raw) {
            prop_assert_eq!(Token::new(token.as_str()), Ok(token.clone()));
        }
    }
}
