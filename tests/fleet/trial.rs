//! A connector for these tests, as a process of its own: this test binary, started again.
//!
//! It writes a line `<key> <fence>` for each execution into a file of its own capability, as the demo connector does, and works
//! until the test opens the gate of that execution, so that a test says when an attempt ends.

use std::{
    io::{Read as _, Write as _},
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use aip_handler::{Connector, ConnectorName, Failure, Handler, Work};
use aip_service::{BusArgs, Context, Settings};
use aip_types::{
    Capability, CapabilityContract, CapabilityId, CapabilityKind, DataContract, DataSensitivity, ExecutionContract,
    ExpectedCompletionMode, IdempotencyCollisionBehavior, IdempotencyContract, IdempotencyKeyScope,
    IdempotencyRequirement, RetrySafety, SideEffect,
};
use async_trait::async_trait;
use serde_json::{Value, json};

use crate::process::variable;

/// Its name.
pub(crate) const NAME: &str = "trial";
/// The test that is this connector where [`DIR`] is set.
pub(crate) const TEST: &str = "trial::a_connector_for_these_tests";
pub(crate) const DIR: &str = "AIP_TRIAL_DIR";
pub(crate) const NATS_URL: &str = "AIP_TRIAL_NATS_URL";
pub(crate) const OPS: &str = "AIP_TRIAL_OPS";

/// The one that tests of attempts use.
pub(crate) const SLOW: &str = "cap:trial:slow";

/// One capability: its id, its collision behaviour, the scope of its keys. All are safe with their key.
type Terms = (&'static str, IdempotencyCollisionBehavior, IdempotencyKeyScope);

/// All of them.
pub(crate) const CAPABILITIES: [Terms; 9] = {
    use IdempotencyCollisionBehavior::{RejectConflict, ReturnOriginalResult, RevalidateInputHash};
    use IdempotencyKeyScope::{Action, Capability, ExternalAccount, Principal, Tenant};
    [
        (SLOW, RevalidateInputHash, Tenant),
        ("cap:trial:reject", RejectConflict, Tenant),
        ("cap:trial:original", ReturnOriginalResult, Tenant),
        ("cap:trial:action", RevalidateInputHash, Action),
        ("cap:trial:capability", RevalidateInputHash, Capability),
        ("cap:trial:capability-too", RevalidateInputHash, Capability),
        ("cap:trial:principal", RevalidateInputHash, Principal),
        ("cap:trial:tenant", RevalidateInputHash, Tenant),
        ("cap:trial:account", RevalidateInputHash, ExternalAccount),
    ]
};

/// How often a closed gate is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The file of a capability's executions.
pub(crate) fn notes(capability: &str) -> String {
    format!("{}.txt", capability.replace(':', "-"))
}

/// Lets an execution end: the first one of a key is number 1.
pub(crate) fn open(dir: &Path, gate: &str, execution: usize) {
    std::fs::write(gate_file(dir, gate, execution), "").unwrap();
}

fn gate_file(dir: &Path, gate: &str, execution: usize) -> PathBuf {
    dir.join(format!("gate-{gate}-{execution}"))
}

/// One of [`CAPABILITIES`], whole.
pub(crate) fn capability((id, collision, scope): Terms) -> Capability {
    let text = || json!({ "type": "string", "maxLength": 256 });
    let input =
        json!({ "type": "object", "properties": { "gate": text(), "text": text() }, "additionalProperties": false });
    let execution = ExecutionContract {
        supports_sync: true,
        supports_async: true,
        supports_streaming: false,
        supports_cancel: false,
        supports_retry: true,
        expected_completion: ExpectedCompletionMode::Any,
        retry_safety: RetrySafety::SafeWithIdempotencyKey,
    };
    let data = DataContract {
        sensitivity: DataSensitivity::Public,
        contains_pii: false,
        redaction_required: false,
        residency: None,
        retention: None,
    };
    let idempotency = IdempotencyContract::new(IdempotencyRequirement::Required, collision, scope);
    let mut contract = CapabilityContract::new(idempotency, execution, data);
    contract.side_effects = vec![SideEffect::Write];
    let mut capability = Capability::new(CapabilityId::new(id), id.to_owned(), CapabilityKind::Tool, input);
    capability.contract = Some(contract);
    capability
}

struct Trial {
    dir: PathBuf,
}

#[async_trait]
impl Handler for Trial {
    /// Notes that it runs, waits for its gate if it is given one, and answers with its fence.
    async fn call(&self, work: &Work) -> Result<Value, Failure> {
        let key = work.idempotency_key.as_deref().unwrap_or("-");
        let fence = work.fence.map_or(0, |fence| fence.0);
        let path = self.dir.join(notes(&work.capability_id));
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).unwrap();
        file.write_all(format!("{key} {fence}\n").as_bytes()).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let execution = text.lines().filter(|line| line.split(' ').next() == Some(key)).count();
        if let Some(gate) = work.input["gate"].as_str() {
            while !gate_file(&self.dir, gate, execution).exists() {
                tokio::time::sleep(LOOK).await;
            }
        }
        Ok(json!({ "key": key, "fence": fence, "text": work.input["text"] }))
    }
}

/// No test of its own: the process that [`crate::harness::Fleet`] starts.
#[test]
fn a_connector_for_these_tests() {
    let Some(dir) = variable(DIR).map(PathBuf::from) else { return };
    std::thread::spawn(|| {
        // The fleet's end of it closes when the test ends, however it ends.
        let mut byte = [0];
        while matches!(std::io::stdin().read(&mut byte), Ok(1)) {}
        std::process::exit(0);
    });
    aip_service::init_telemetry(false, "info");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(serve(dir)).unwrap();
}

async fn serve(dir: PathBuf) -> anyhow::Result<()> {
    let args = BusArgs {
        nats_url: variable(NATS_URL).unwrap_or_default(),
        nkey_file: dir.join("keys").join(format!("connector-{NAME}.nk")),
        config: dir.join("aip.toml"),
        ops_listen: variable(OPS).unwrap_or_default().parse::<SocketAddr>()?,
        nats_connect_timeout: Duration::from_secs(30),
    };
    let context = Context::connect(NAME, &Settings::read(&args.config)?, &args).await?;
    aip_service::run(context, |context| async move {
        let mut connector = Connector::new(ConnectorName::new(NAME)?);
        for terms in CAPABILITIES {
            connector = connector.capability(capability(terms), Trial { dir: dir.clone() });
        }
        connector.serve(&context.bus, &context.tasks).await?;
        Ok(())
    })
    .await
}
