//! The matrix of the machine, printed for people and compared in CI: every phase against every trigger.

use aip_types::{Callback, MessageId, Millis, Principal, PrincipalId, PrincipalKind, ProfileId, limits};
use alloc::{
    string::{String, ToString},
    vec,
    vec::Vec,
};
use serde_json::Value;

use super::{CallbackRecord, Delivery, Outcome, Phase, Trigger, VerifiedOperator, VerifiedTarget, open};
use crate::action::Held;
use crate::matrix::{Table, page};
use crate::outbox::Lease;

const DUE: Millis = Millis(1_000);
const EXPIRES: Millis = Millis(2_000);

/// Renders `docs/states/callback.md`.
#[must_use]
pub fn matrix() -> String {
    let table = |title, attempts, retries| Table {
        title,
        columns: phases().into_iter().filter_map(|phase| record(phase, attempts, retries)).collect(),
        rows: triggers(),
    };
    page(
        "The callback machine",
        "Three attempts a round. The last fence is 5, the next attempt is due at 1,000, the lease ends at 2,000. Of the two \
         columns `dead_lettered`, the second was dropped by an operator.",
        &["pending"],
        &[
            table("After the first attempt", 1, 0),
            table("After the last attempt", 3, 0),
            table("After the last attempt, retried too often", 3, limits::CALLBACK_RETRIES_MAX),
        ],
    )
}

fn phases() -> Vec<Phase> {
    vec![
        Phase::Pending { due: DUE },
        Phase::Running(Lease { fence: 5, worker: "one".to_string(), expires_at: EXPIRES }),
        Phase::Delivered {},
        Phase::Failed {},
        Phase::DeadLettered { dropped: false },
        Phase::DeadLettered { dropped: true },
    ]
}

fn triggers() -> Vec<(&'static str, Trigger, Millis)> {
    let lease = |fence| Trigger::Lease { fence, worker: "one".to_string() };
    let failed = |permanent| Outcome::Failed { reason: String::new(), permanent };
    let ended = |fence, outcome| Trigger::Ended { fence, outcome };
    let operator = || VerifiedOperator(Principal::new(PrincipalId::new("human:operator"), PrincipalKind::Human));
    let message = || MessageId::new("msg_2");
    vec![
        ("lease, fence 5 (the same)", lease(5), DUE),
        ("lease, fence 6, too early", lease(6), Millis(999)),
        ("lease, fence 6", lease(6), DUE),
        ("delivered, fence 4", ended(4, Outcome::Delivered), DUE),
        ("delivered, fence 5", ended(5, Outcome::Delivered), DUE),
        ("failed, fence 5", ended(5, failed(false)), DUE),
        ("failed for good, fence 5", ended(5, failed(true)), DUE),
        ("lease over, fence 4", Trigger::LeaseOver { fence: 4 }, EXPIRES),
        ("lease over, fence 5, too early", Trigger::LeaseOver { fence: 5 }, DUE),
        ("lease over, fence 5", Trigger::LeaseOver { fence: 5 }, EXPIRES),
        ("retry", Trigger::Retry { message: message(), by: operator() }, DUE),
        ("drop", Trigger::Drop { message: message(), by: operator() }, DUE),
    ]
}

fn record(phase: Phase, attempts: u32, retries: u32) -> Option<CallbackRecord> {
    let step = open(Delivery {
        tenant: "acme".to_string(),
        target: VerifiedTarget(Callback::new(ProfileId::new("aip.native.http.v1"), "https://a.example/".to_string())),
        message_id: MessageId::new("msg_1"),
        message_type: "aip.core.v1.action_result".to_string(),
        payload: Held::Inline(Value::Null),
        payload_hash: "hash".to_string(),
        terminal: true,
        terminal_only: true,
        max_attempts: 3,
        timeout_ms: 1_000,
        retry_backoff_ms: vec![250, 1_000],
        sign_payload: true,
        action_id: None,
        session_id: None,
        correlation_id: None,
        at: Millis(0),
    });
    let mut record = step.ok()?.record;
    (record.phase, record.fence, record.attempts, record.retries) = (phase, 5, attempts, retries);
    // Attempts of a round that wait for a next one are not the last.
    let waits = matches!(record.phase, Phase::Pending { .. });
    (attempts < 3 || !waits).then_some(record)
}
