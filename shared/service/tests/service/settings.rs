//! `aip.toml`: every mistake at once, and nothing that is not said (default deny).

use aip_bus::subjects::ConnectorName;
use aip_service::{Directory, Settings};
use aip_types::CapabilityId;

#[test]
fn every_mistake_is_listed_at_once() {
    let text = r#"
trust_domain = "t d.x"
service = ""
version = "v1"
tenants = [{ id = "acme" }, { id = "acme" }, { id = "no dots." }]

[[principals]]
id = "service:a"
kind = "service"
tenant = "nowhere"
token_sha256 = ["short"]
nkeys = ["X"]
dids = ["did:web:x"]

[[principals]]
id = "service:a"
kind = "service"
tenant = "acme"

[[connectors]]
name = "Demo"
capabilities = []
"#;
    let faults = Settings::parse(text).unwrap_err().0;
    for wanted in [
        "must be subject tokens",
        "`acme` stands twice",
        "`no dots.` is no tenant id",
        "unknown tenant `nowhere`",
        "token_sha256",
        "nkey `X`",
        "did:web:x",
        "shares a principal id",
        "`Demo` is no connector name",
        "may register nothing",
    ] {
        assert_eq!(faults.iter().filter(|fault| fault.contains(wanted)).count(), 1, "{wanted}: {faults:#?}");
    }
}

#[test]
fn an_unknown_setting_is_refused_and_no_secret_is_repeated() {
    let text = "trust_domain = \"td\"\nservice = \"s\"\nversion = \"v1\"\ntenants = []\ntoken = \"very-secret\"\n";
    let faults = Settings::parse(text).unwrap_err();
    assert!(!faults.to_string().contains("very-secret"), "{faults}");
}

#[test]
fn what_is_not_granted_is_denied() {
    let settings = Settings::parse(
        r#"
trust_domain = "td"
service = "s"
version = "v1"
tenants = [{ id = "acme" }]

[[principals]]
id = "service:a"
kind = "service"
tenant = "acme"
capabilities = ["cap:demo:*", "cap:one"]

[[principals]]
id = "service:b"
kind = "service"
tenant = "acme"

[[connectors]]
name = "demo"
capabilities = ["cap:demo:*"]
"#,
    )
    .unwrap();
    let directory = Directory::new(&settings).unwrap();
    let may = |id: &str, capability: &str| directory.by_id(id).unwrap().may_call(&CapabilityId::new(capability));
    assert!(may("service:a", "cap:demo:x") && may("service:a", "cap:one"));
    assert!(!may("service:a", "cap:one:more") && !may("service:a", "cap:demo") && !may("service:b", "cap:one"));
    assert!(directory.by_token("").is_none() && directory.by_nkey("").is_none() && directory.by_did("").is_none());
    let register = |name: &str, capability: &str| {
        directory.may_register(&ConnectorName::new(name).unwrap(), &CapabilityId::new(capability))
    };
    assert!(register("demo", "cap:demo:x"));
    assert!(!register("demo", "cap:other") && !register("other", "cap:demo:x"));
}
