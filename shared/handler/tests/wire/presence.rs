//! Being there and leaving.

use std::time::Duration;

use aip_bus::{
    Bus,
    subjects::Report,
    work::{Register, Registered},
};
use aip_handler::{Connector, ServeFault};
use aip_service::Tasks;
use aip_testkit::{Nats, eventually};
use serde_json::json;

use crate::fleet::{Call, Fleet, READ, SOON, Subject, WRITE, name};

#[tokio::test]
async fn a_connector_registers_until_it_is_admitted_and_then_says_that_it_lives() {
    let nats = Nats::start().await;
    let subject = Subject::serve(&nats, Call::answering(json!({}))).await;
    let fleet = Fleet::new(&nats).await;
    fleet.admits().await;
    assert_eq!(subject.served.admitted().await.as_deref(), Some("d"));
    fleet.heard(Report::Alive, 3).await;
    let registers = fleet.said(Report::Register);
    let register: Register = serde_json::from_value(registers[0].clone()).unwrap();
    assert_eq!(register.instance, subject.served.instance());
    let ids: Vec<&str> = register.capabilities.iter().map(|capability| capability.id.as_str()).collect();
    assert_eq!((registers.len(), ids), (1, vec![WRITE, READ]));
    let alive = json!({ "instance": subject.served.instance(), "digest": "d", "leaving": false });
    assert!(fleet.said(Report::Alive).iter().all(|word| *word == alive));
}

#[tokio::test]
async fn a_forgotten_connector_registers_anew() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats).await;
    fleet
        .on(Report::Register, |before, _| {
            Some(json!(Registered::Admitted { digest: format!("d{before}"), alive_every_ms: 50 }))
        })
        .await;
    fleet.on(Report::Alive, |before, _| Some(json!(if before == 1 { "register" } else { "kept" }))).await;
    let _subject = Subject::serve(&nats, Call::answering(json!({}))).await;
    fleet.heard(Report::Register, 2).await;
    eventually(SOON, || async { fleet.said(Report::Alive).iter().any(|word| word["digest"] == json!("d1")) }).await;
}

#[tokio::test]
async fn a_leaving_connector_says_goodbye() {
    let nats = Nats::start().await;
    let fleet = Fleet::new(&nats).await;
    fleet.admits().await;
    let subject = Subject::serve(&nats, Call::answering(json!({}))).await;
    subject.served.admitted().await;
    tokio::time::timeout(Duration::from_secs(5), subject.tasks.drain(SOON)).await.unwrap();
    let last = fleet.said(Report::Alive).pop().unwrap();
    assert_eq!(last, json!({ "instance": subject.served.instance(), "digest": "d", "leaving": true }));
}

#[tokio::test]
async fn a_connector_that_cannot_be_served_is_refused_at_once() {
    let nats = Nats::start().await;
    let (bus, tasks) = (Bus::new(std::sync::Arc::new(nats.port().await)), Tasks::default());
    let empty = Connector::new(name()).serve(&bus, &tasks).await;
    assert!(matches!(empty, Err(ServeFault::Empty)));
    let schema = json!({ "type": "object" });
    let capability = aip_types::Capability::new(
        aip_types::CapabilityId::new(WRITE),
        WRITE.to_owned(),
        aip_types::CapabilityKind::Tool,
        schema,
    );
    let twice = Connector::new(name())
        .capability(capability.clone(), Call::answering(json!({})))
        .capability(capability, Call::answering(json!({})));
    assert!(matches!(twice.serve(&bus, &tasks).await, Err(ServeFault::Twice(_))));
}
