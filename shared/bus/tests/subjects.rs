//! Names on the bus: hostile ids change no subject, two ids never share one, and what is built can be read back.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use aip_bus::{subjects::*, work::Fence};
use aip_types::MessageType;
use proptest::prelude::*;

const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn tenant() -> Tenant {
    Tenant::new("acme").unwrap()
}

fn connector() -> ConnectorName {
    ConnectorName::new("demo").unwrap()
}

fn peer() -> Peer {
    Peer::new("example.org", "aip", "1.0").unwrap()
}

/// Texts that people and attackers send: subject syntax, white space, control characters, long, empty, and plain.
fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[.*> \\\\/\t\r\na-z]{1,12}",
        "[A-Za-z0-9_-]{1,96}",
        "h_[0-9a-f]{0,64}",
        "[A-Za-z0-9_:-]{90,110}",
        "cap:[a-z]{1,8}(:[a-z-]{1,8}){0,3}",
        any::<String>(),
    ]
}

/// Every subject that is built from one untrusted text.
fn built(id: &str) -> Vec<(usize, String)> {
    let (tenant, connector) = (tenant(), connector());
    let key = RecordKey::action(tenant.clone(), id);
    vec![
        (6, key.entry("queued")),
        (6, key.entry(id)),
        (7, key.timer("deadline", id)),
        (7, key.due(id, "n1")),
        (5, chunk(&tenant, id, Fence(7))),
        (3, blob(&tenant, id)),
        (3, audit(Some(&tenant), id)),
        (3, audit(None, id)),
        (3, quarantine(id, id)),
        (5, lease(&key)),
        (4, idempotency(&tenant, id)),
        (4, replay(id, id)),
        (4, liveness(&connector, id)),
        (3, work(&connector, id)),
        (3, control(&connector, id)),
    ]
}

fn assert_is_one_subject(tokens: usize, subject: &str) {
    assert_eq!(subject.split('.').count(), tokens, "{subject:?}");
    for token in subject.split('.') {
        assert!(!token.is_empty(), "{subject:?}");
        assert!(
            !token.contains(|c: char| matches!(c, '*' | '>') || c.is_whitespace() || c.is_control()),
            "{subject:?}"
        );
    }
}

proptest! {
    #[test]
    fn no_id_changes_the_shape_of_a_subject(id in hostile()) {
        for (tokens, subject) in built(&id) {
            assert_is_one_subject(tokens, &subject);
        }
    }

    #[test]
    fn two_ids_never_share_a_subject(one in hostile(), other in hostile()) {
        prop_assume!(one != other);
        for ((_, one), (_, other)) in built(&one).into_iter().zip(built(&other)) {
            prop_assert_ne!(one, other);
        }
    }

    #[test]
    fn a_token_is_folded_or_refused(raw in hostile()) {
        if let Ok(token) = Token::new(&raw) {
            assert_is_one_subject(1, token.as_str());
            assert_is_one_subject(7, &peer().stream(&token));
            assert_is_one_subject(3, &correlation(&tenant(), &token));
        }
    }

    #[test]
    fn an_entry_and_a_trigger_are_read_back(id in hostile(), tenant in "[A-Za-z0-9_-]{1,64}") {
        let key = RecordKey::action(Tenant::new(&tenant).unwrap(), &id);
        let entry = EntrySubject::parse(&key.entry("completed")).unwrap();
        prop_assert_eq!((&entry.key, entry.event.as_str()), (&key, "completed"));
        let due = DueSubject::parse(&key.due("deadline", "n1")).unwrap();
        prop_assert_eq!((&due.key, due.purpose.as_str(), due.nonce.as_str()), (&key, "deadline", "n1"));
        prop_assert_eq!(parse_lease(&lease(&key)).unwrap(), key);
    }

    #[test]
    fn reading_any_text_is_safe(subject in any::<String>()) {
        let _read = (
            EntrySubject::parse(&subject),
            DueSubject::parse(&subject),
            Origin::parse(&subject),
            parse_report(&subject),
            (parse_lease(&subject), parse_registry(&subject), parse_liveness(&subject), parse_chunk_fence(&subject)),
        );
    }

    #[test]
    fn the_entries_of_every_tenant_come_to_the_one_lane_of_their_kind(tenant in "[A-Za-z0-9_-]{1,64}") {
        let key = RecordKey::action(Tenant::new(&tenant).unwrap(), "act_1");
        let brings = |kind, subject: &str| {
            let mut filter = lane(kind).filter.split('.');
            subject.split('.').all(|token| filter.next().is_some_and(|wanted| ["*", token].contains(&wanted)))
        };
        prop_assert!(brings(LaneKind::Queued, &key.entry("queued")));
        prop_assert!(!brings(LaneKind::Queued, &key.entry("started")));
        prop_assert!(lane(LaneKind::DueAction).filter == "aipd.*.action.>");
    }
}

#[test]
fn names_are_spelled_as_the_design_says() {
    let tenant = tenant();
    let key = RecordKey::action(tenant.clone(), "act_1");
    let vp = tenant.vp();
    let spelled = [
        (peer().subject(MessageType::Action), "aip.v1.example_org.aip.1_0.aip_core_v1_action".to_owned()),
        (tenant_request(&tenant, MessageType::Action), "aipn.acme.aip_core_v1_action".to_owned()),
        (peer().stream(&Token::new("corr 1.2").unwrap()), "aip.v1.example_org.aip.1_0.stream.corr_1_2".to_owned()),
        (correlation(&tenant, &Token::new("corr_1").unwrap()), "aips.acme.corr_1".to_owned()),
        (key.filter(), format!("aipj.{vp}.action.acme.act_1.*")),
        (key.entry("queued"), format!("aipj.{vp}.action.acme.act_1.queued")),
        (key.live(), format!("aipl.{vp}.action.acme.act_1.*")),
        (key.timer("deadline", "n"), format!("aipt.{vp}.action.acme.act_1.deadline.n")),
        (key.due("deadline", "n"), format!("aipd.{vp}.action.acme.act_1.deadline.n")),
        (live_events(RecordKind::Action, "completed"), "aipl.*.action.*.*.completed".to_owned()),
        (chunk(&tenant, "act_1", Fence(7)), format!("aipk.{vp}.acme.act_1.7")),
        (chunks(&tenant, "act_1"), format!("aipk.{vp}.acme.act_1.*")),
        (lease(&key), format!("$KV.AIP_LEASES.{vp}.acme.act_1")),
        (blob(&tenant, HASH), format!("aipb.acme.{HASH}")),
        (work(&connector(), "cap:demo:note:append-unsafe"), "aipw.demo.cap=demo=note=append-unsafe".to_owned()),
        (control(&connector(), "act_1"), "aipx.demo.act_1".to_owned()),
        (report(&connector(), Report::Heartbeat), "aipr.demo.hb".to_owned()),
        (RecordKey::action(tenant, "").filter(), format!("aipj.{vp}.action.acme.h_{HASH}.*")),
    ];
    for (built, expected) in spelled {
        assert_eq!(built, expected);
    }
}

/// The partition decides where records lie: a change of the hash would lose them all.
#[test]
fn the_partition_of_a_tenant_never_changes() {
    for (tenant, vp) in [("acme", "02"), ("globex", "27"), ("t-1", "06")] {
        assert_eq!(Tenant::new(tenant).unwrap().vp().to_string(), vp, "{tenant}");
    }
}

#[test]
fn an_entry_under_another_tenants_partition_is_not_read() {
    let vp = Vp::new((tenant().vp().number() + 1) % VPS).unwrap();
    assert_eq!(EntrySubject::parse(&format!("aipj.{vp}.action.acme.act_1.queued")), None);
}

#[test]
fn the_origin_of_a_request_is_in_its_subject() {
    let type_token = "aip_core_v1_action".to_owned();
    let edge = Origin::Edge { type_token: type_token.clone() };
    assert_eq!(Origin::parse("aip.v1.example_org.aip.1_0.aip_core_v1_action"), Some(edge));
    let from_tenant = Origin::Tenant { tenant: tenant(), type_token };
    assert_eq!(Origin::parse("aipn.acme.aip_core_v1_action"), Some(from_tenant));
    for other in ["aip.v1.a.b.c.stream.x", "aipn.acme", "aipn.a.b.c", "aipn.a*.b", "aip.v2.a.b.c.d", "aip.v1..b.c.d"] {
        assert_eq!(Origin::parse(other), None, "{other}");
    }
}

#[test]
fn only_connectors_are_heard_on_reports() {
    assert_eq!(parse_report("aipr.demo.begin"), Some((connector(), Report::Begin)));
    for other in ["aipr.demo.go", "aipr.De.begin", "aipr.demo", "aipr.demo.begin.x", "aipw.demo.begin"] {
        assert_eq!(parse_report(other), None, "{other}");
    }
}

#[test]
fn tenants_and_connectors_are_bounded() {
    assert!(Tenant::new(&"a".repeat(64)).is_ok() && ConnectorName::new(&"a".repeat(48)).is_ok());
    assert!(Token::new(&"a".repeat(TOKEN_BYTES_MAX)).is_ok());
    assert!(Token::new(&"a".repeat(TOKEN_BYTES_MAX + 1)).is_err());
    for bad in ["", "a.b", "a b", "*", ">", "ä", &"a".repeat(65)] {
        assert!(Tenant::new(bad).is_err(), "{bad}");
    }
    for bad in ["", "A", "a_b", "a.b", "*", &"a".repeat(49)] {
        assert!(ConnectorName::new(bad).is_err(), "{bad}");
    }
    for bad in ["", "*", "a>", "a\tb", "a\u{7f}", "a\u{2003}b"] {
        assert!(Token::new(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn every_subject_is_captured_by_at_most_one_stream() {
    let roots: Vec<&str> = STREAMS.iter().flat_map(|stream| stream.subjects).copied().collect();
    assert_eq!(roots.iter().collect::<BTreeSet<_>>().len(), roots.len());
    assert!(roots.iter().all(|root| root.ends_with(".>") && !root.starts_with("aip.") && !root.starts_with("aipn.")));
}

#[test]
fn every_request_has_one_owner_and_two_subjects() {
    let messages = Owner::Admission.messages();
    let subjects = owner_subjects(&peer(), &messages);
    assert_eq!(subjects.len(), messages.len() * 2);
    assert!(subjects.contains(&"aipn.*.aip_core_v1_action".to_owned()));
    assert_eq!(owner(MessageType::ActionStatusRequest), Some(Owner::Scheduler));
    assert_eq!(owner(MessageType::ActionResult), None);
}

/// An edge could ask with a record's subject as its reply.
#[test]
fn an_answer_goes_to_an_inbox_only() {
    for inbox in ["_INBOX.a", "_INBOX_edge-http.a.b", "_R_.a.b"] {
        assert!(is_inbox(inbox), "{inbox}");
    }
    for other in ["", "_INBOX", "_R_", "_INBOX.", "_INBOX.*", "_INBOXa.b", "aipj.02.action.acme.a.queued", "$KV.X.a"] {
        assert!(!is_inbox(other), "{other}");
    }
}
