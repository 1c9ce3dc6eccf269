//! The schema files are for everyone, byte for byte.

use serde_json::Value;

use crate::Rig;

#[tokio::test]
async fn every_schema_file_is_served_byte_for_byte_under_its_digest() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let list = client.send("GET", "/schemas/aip/", &[], b"").await;
    assert_eq!((list.status, list.headers["content-type"].as_str()), (200, "application/json"));
    let list = list.json();
    assert_eq!(list["sha256"], aip_schema::digests().total);
    assert_eq!(list["files"].as_object().unwrap().len(), aip_schema::FILES.len());
    for (name, text) in aip_schema::FILES {
        let answer = client.send("GET", &format!("/schemas/aip/{name}"), &[], b"").await;
        assert_eq!((answer.status, answer.body.as_slice()), (200, text.as_bytes()), "{name}");
        assert_eq!(answer.headers["content-type"], "application/schema+json");
        assert_eq!(answer.headers["cache-control"], "public, max-age=86400");
        assert_eq!(answer.headers["etag"], format!("\"{}\"", list["files"][name].as_str().unwrap()));
        let id = serde_json::from_slice::<Value>(&answer.body).unwrap()["$id"].clone();
        assert_eq!(id, format!("https://aip.dev/schemas/aip/{name}"));
    }
}

#[tokio::test]
async fn whoever_has_a_schema_file_is_told_so_and_what_is_none_is_absent() {
    let rig = Rig::start().await;
    let mut client = rig.client().await;
    let target = "/schemas/aip/ack.schema.json";
    let tag = client.send("GET", target, &[], b"").await.headers["etag"].clone();
    for (held, status) in [(tag.clone(), 304), (format!("\"x\", W/{tag}"), 304), ("\"x\"".to_owned(), 200)] {
        let answer = client.send("GET", target, &[("if-none-match", &held)], b"").await;
        assert_eq!((answer.status, answer.body.is_empty()), (status, status == 304), "{held}");
        assert_eq!(answer.headers["etag"], tag);
    }
    for absent in ["nothing.json", "..%2faip%2fack.schema.json", "%ff", "ack"] {
        let answer = client.send("GET", &format!("/schemas/aip/{absent}"), &[], b"").await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "aip.http.not_found"), "{absent}");
        assert_eq!(answer.headers["cache-control"], "no-store");
    }
    let answer = client.send("POST", target, &[], b"").await;
    assert_eq!((answer.status, answer.code().as_str()), (405, "aip.http.method_not_allowed"));
}
