//! The bounds of everything, with their units. Configuration may lower them; nothing may pass them.
//!
//! Source: AIP 1.0 §16.4, §22.3, §22.8; `design.md` §10.

/// Bytes of one envelope.
pub const ENVELOPE_BYTES_MAX: usize = 1_048_576;
/// Nesting of arrays and objects in one document; a scalar alone has depth 0.
pub const DEPTH_MAX: usize = 64;
/// Bytes of one string or member name, escapes resolved.
pub const STRING_BYTES_MAX: usize = 262_144;
/// Bytes of the text of one number.
pub const NUMBER_BYTES_MAX: usize = 1_024;
/// Bytes of a JSON Pointer in an answer; a longer one is cut back to a parent.
pub const POINTER_BYTES_MAX: usize = 1_024;
/// Values in one document: scalars, arrays and objects.
pub const NODES_MAX: usize = 100_000;

/// Records in one page of a list (AIP 1.0 §16.4).
pub const LIST_PAGE_MAX: u32 = 1_000;
/// Records in one page when the request names no limit.
pub const LIST_PAGE_DEFAULT: u32 = 50;
/// Milliseconds that a query may wait (AIP 1.0 §16.4).
pub const WAIT_MS_MAX: u64 = 30_000;

/// Milliseconds that a signed message may be old (AIP 1.0 §22.3).
pub const REPLAY_PAST_MS: u64 = 300_000;
/// Milliseconds that a signed message may lie in the future (AIP 1.0 §22.3).
pub const REPLAY_FUTURE_MS: u64 = 30_000;

/// Entries of a delegation chain (AIP 1.0 §14.3).
pub const DELEGATION_CHAIN_MAX: usize = 10;
/// Milliseconds that an approval may stay open: 30 days.
pub const APPROVAL_TTL_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;

/// Bytes of one stored stream chunk.
pub const CHUNK_BYTES_MAX: usize = 65_536;
/// Bytes of a value that is kept in the record itself; larger ones go to the object store.
pub const RECORD_INLINE_BYTES_MAX: usize = 65_536;
/// Bytes of a record's state.
pub const RECORD_STATE_BYTES_MAX: usize = 262_144;
/// Message ids that a record remembers as its causes.
pub const CAUSES_LEN_MAX: usize = 16;

/// Bytes of a capability's input or output schema.
pub const SCHEMA_BYTES_MAX: usize = 65_536;
/// Values in a capability's input or output schema.
pub const SCHEMA_NODES_MAX: usize = 2_000;

/// Milliseconds of a lease.
pub const LEASE_MS: u64 = 10_000;
/// Milliseconds between two renewals of a lease.
pub const LEASE_RENEW_MS: u64 = LEASE_MS / 3;
/// Attempts of one action before it is dead-lettered.
pub const ATTEMPTS_MAX: u32 = 16;
/// Milliseconds before the second attempt after a failure that may be repeated; doubled for each one more.
pub const RETRY_BACKOFF_MS_MIN: u64 = 500;
/// Most milliseconds between two attempts, unless the failure asks for more.
pub const RETRY_BACKOFF_MS_MAX: u64 = 60_000;
/// Questions that one action may ask its caller.
pub const QUESTIONS_MAX: usize = 8;
/// Bytes of an action's questions and answers in its record.
pub const QUESTIONS_BYTES_MAX: usize = 65_536;
/// Bytes of a request body that is no envelope.
pub const REQUEST_BODY_BYTES_MAX: usize = 16 * 1_024;
/// Bytes of a reason that a person gives.
pub const REASON_BYTES_MAX: usize = 2_000;
/// Attempts to save one step against conflicting writers.
pub const SAVE_ATTEMPTS_MAX: u32 = 16;
/// Actions in flight in one scheduler process.
pub const IN_FLIGHT_MAX: usize = 1_024;
/// Queued actions of one tenant.
pub const QUEUED_PER_TENANT_MAX: usize = 10_000;

/// Subscriptions of one WebSocket.
pub const WEBSOCKET_SUBSCRIPTIONS_MAX: usize = 64;

/// Bytes of a tenant id.
pub const TENANT_ID_BYTES_MAX: usize = 64;
/// Bytes of a record id that stands in a subject as it is.
pub const RECORD_ID_BYTES_MAX: usize = 96;

const _: () = assert!(STRING_BYTES_MAX < ENVELOPE_BYTES_MAX);
const _: () = assert!(RECORD_INLINE_BYTES_MAX < RECORD_STATE_BYTES_MAX);
const _: () = assert!(RECORD_STATE_BYTES_MAX < ENVELOPE_BYTES_MAX);
const _: () = assert!(SCHEMA_BYTES_MAX < ENVELOPE_BYTES_MAX && SCHEMA_NODES_MAX < NODES_MAX);
const _: () = assert!(LEASE_RENEW_MS * 2 < LEASE_MS);
const _: () = assert!(LIST_PAGE_DEFAULT <= LIST_PAGE_MAX);

/// Milliseconds that a passing refusal asks to wait.
pub const RETRY_AFTER_MS: u64 = 1_000;
/// Milliseconds of an action that names no timeout.
pub const ACTION_TIMEOUT_MS_DEFAULT: u64 = 300_000;
/// Milliseconds of the longest action.
pub const ACTION_TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Milliseconds after which a silent lane message is delivered again.
pub const ACK_WAIT_MS: u64 = 12_000;
/// Milliseconds that one bus operation may take.
pub const BUS_TIMEOUT_MS: u64 = 2_000;
/// Milliseconds that a connector may take to answer an offer.
pub const OFFER_TIMEOUT_MS: u64 = 2_000;
/// Milliseconds that an idempotency key lives where its contract names no time.
pub const KEY_TTL_MS_DEFAULT: u64 = 24 * 60 * 60 * 1_000;
/// Milliseconds that a terminal record is kept.
pub const RECORD_RETENTION_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Milliseconds that a claimed message id is kept: the replay window, the skew and a margin.
pub const REPLAY_CLAIM_MS: u64 = 400_000;
/// Milliseconds that a connector process counts as alive after its last word.
pub const LIVENESS_TTL_MS: u64 = 3_000;
/// Milliseconds between two words of a connector process.
pub const ALIVE_EVERY_MS: u64 = 1_000;
/// Entries of one record that a reader gets.
pub const HISTORY_LEN_MAX: usize = 256;
/// Bytes of a quarantined payload that are kept.
pub const QUARANTINE_BYTES_MAX: usize = 65_536;

const _: () = assert!(LEASE_MS < ACK_WAIT_MS);
const _: () = assert!(KEY_TTL_MS_DEFAULT < RECORD_RETENTION_MS);
const _: () = assert!(REPLAY_PAST_MS + REPLAY_FUTURE_MS < REPLAY_CLAIM_MS);
const _: () = assert!(ALIVE_EVERY_MS * 2 < LIVENESS_TTL_MS);

/// Bytes of an id from outside that is copied into an answer.
pub const ID_BYTES_MAX: usize = 1_024;

/// Followers of live streams in one process.
pub const FOLLOWERS_MAX: usize = 10_000;
/// Requests in work in one process.
pub const REQUESTS_IN_FLIGHT_MAX: usize = 1_024;

/// Milliseconds of the longest life of an idempotency key; shorter than a record is kept.
pub const KEY_TTL_MS_MAX: u64 = 6 * 24 * 60 * 60 * 1_000;
const _: () = assert!(KEY_TTL_MS_MAX < RECORD_RETENTION_MS);

/// Timers in work in one process.
pub const DUE_IN_FLIGHT_MAX: usize = 64;

/// Milliseconds between two looks at a lease that should be over.
pub const LEASE_LOOK_MS_MIN: u64 = 100;

/// Lane messages that wait in a process for room. Few, since their redelivery clock runs already.
pub const LANE_PREFETCH_MAX: usize = 128;

/// Bytes of a connector's error that a record keeps; a larger one loses its details.
pub const ERROR_BYTES_MAX: usize = 32_768;
const _: () = assert!(RECORD_INLINE_BYTES_MAX + QUESTIONS_BYTES_MAX + ERROR_BYTES_MAX < RECORD_STATE_BYTES_MAX);

/// Bytes of the capabilities that one connector may register.
pub const MANIFEST_BYTES_MAX: usize = 262_144;
/// Capabilities that one connector may register.
pub const CAPABILITIES_MAX: usize = 256;
/// Bytes of the chunks in one answer.
pub const CHUNK_PAGE_BYTES_MAX: usize = 524_288;
/// Chunks of one attempt.
pub const CHUNKS_PER_ATTEMPT_MAX: u64 = 100_000;
/// Bytes of an output; less than an envelope, which carries it.
pub const OUTPUT_BYTES_MAX: usize = ENVELOPE_BYTES_MAX - 32_768;
/// Levels of an output; the envelope around it takes the others.
pub const OUTPUT_DEPTH_MAX: usize = DEPTH_MAX - 4;
/// Kibibytes of request bodies that one edge process may hold.
pub const BODIES_KIB_MAX: usize = 65_536;
/// Bytes of the metadata of one transport message.
pub const TRANSPORT_METADATA_BYTES_MAX: usize = 65_536;

/// Milliseconds that a plan of a transaction may live (AIP 1.0 §13.3).
pub const PLAN_TTL_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Claims of one transaction on its commit, and as many on its compensation.
pub const TRANSACTION_CLAIMS_MAX: u32 = 16;
/// Modes that a transaction remembers: a dry run, a plan, and every claim with the reconciliations after it.
pub const TRANSACTION_MODES_LEN_MAX: usize = 66;
/// Reconciliations of one unknown outcome before a person must decide.
pub const RECONCILIATIONS_MAX: u32 = 16;
/// Decisions of persons about one transaction. Half of them may ask the provider once more; the rest settle.
pub const TRANSACTION_DECISIONS_LEN_MAX: usize = 64;
/// Milliseconds before the first reconciliation of an unknown outcome; doubled by each that tells nothing.
pub const RECONCILE_AFTER_MS: u64 = 5_000;
/// Milliseconds between two reconciliations at most.
pub const RECONCILE_AFTER_MS_MAX: u64 = 60 * 60 * 1_000;
/// Bytes of a reconciliation cursor.
pub const RECONCILIATION_CURSOR_BYTES_MAX: usize = 4_096;
const _: () = assert!(TRANSACTION_MODES_LEN_MAX as u64 >= 2 + 4 * TRANSACTION_CLAIMS_MAX as u64);
const _: () = assert!(TRANSACTION_DECISIONS_LEN_MAX as u64 >= 4 * TRANSACTION_CLAIMS_MAX as u64);
const _: () = assert!(
    RECORD_INLINE_BYTES_MAX
        + ERROR_BYTES_MAX
        + (TRANSACTION_MODES_LEN_MAX + 4) * ID_BYTES_MAX
        + TRANSACTION_DECISIONS_LEN_MAX * 160
        + RECONCILIATION_CURSOR_BYTES_MAX
        < RECORD_STATE_BYTES_MAX
);

/// Milliseconds that an approval stays open where its policy names no time.
pub const APPROVAL_TTL_MS_DEFAULT: u64 = 24 * 60 * 60 * 1_000;
/// Leaves of an approval rule; deciding whether votes satisfy it is exact, and so costs up to 2 to this power.
pub const APPROVAL_RULE_LEAVES_MAX: usize = 12;
/// Levels of an approval rule; a rule that is one leaf has depth 0.
pub const APPROVAL_RULE_DEPTH_MAX: usize = 8;
/// Approving decisions that an approval takes, those that were taken back included.
pub const APPROVAL_VOTES_MAX: usize = 32;
/// Pieces of evidence of an approval or of one decision.
pub const APPROVAL_EVIDENCE_LEN_MAX: usize = 16;
/// Constraints of one decision.
pub const APPROVAL_CONSTRAINTS_LEN_MAX: usize = 16;
/// Bytes of one decision.
pub const APPROVAL_DECISION_BYTES_MAX: usize = 2_048;
/// Bytes of what an approval is about: its policy, people, reason and evidence.
pub const APPROVAL_REQUEST_BYTES_MAX: usize = 65_536;
const _: () = assert!(APPROVAL_TTL_MS_DEFAULT <= APPROVAL_TTL_MS_MAX);
const _: () = assert!(APPROVAL_RULE_LEAVES_MAX <= 16);
// Each vote may be revoked once, one decision ends it, and what is noted about a vote is shorter than the vote may be.
const _: () = assert!(
    APPROVAL_REQUEST_BYTES_MAX + (2 * APPROVAL_VOTES_MAX + 1 + APPROVAL_VOTES_MAX / 2) * APPROVAL_DECISION_BYTES_MAX
        < RECORD_STATE_BYTES_MAX
);

/// Bytes of an escalation: its reason, form and conversation.
pub const ESCALATION_BYTES_MAX: usize = 65_536;
/// Bytes of an escalation's answer.
pub const ESCALATION_ANSWER_BYTES_MAX: usize = 65_536;
/// Milliseconds that an escalation stays open where it names no time.
pub const ESCALATION_TTL_MS_DEFAULT: u64 = 24 * 60 * 60 * 1_000;
/// Milliseconds that an escalation may stay open: 30 days.
pub const ESCALATION_TTL_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;
const _: () = assert!(ESCALATION_BYTES_MAX + ESCALATION_ANSWER_BYTES_MAX < RECORD_STATE_BYTES_MAX);

/// Actions of one session that have not ended.
pub const SESSION_ACTIONS_LEN_MAX: usize = 128;
/// Ended actions that a session remembers, to recognise a late word about them.
pub const SESSION_ENDED_LEN_MAX: usize = 32;
/// Bytes of the terms of a session: profiles, capabilities and preferences.
pub const SESSION_TERMS_BYTES_MAX: usize = 65_536;
/// Milliseconds of the longest session.
pub const SESSION_TTL_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
const _: () = assert!(SESSION_TTL_MS_MAX < RECORD_RETENTION_MS);
const _: () = assert!(
    (SESSION_ACTIONS_LEN_MAX + SESSION_ENDED_LEN_MAX + CAUSES_LEN_MAX) * ID_BYTES_MAX + SESSION_TERMS_BYTES_MAX
        <= RECORD_STATE_BYTES_MAX
);

/// Attempts of a callback delivery in one round; an operator's retry begins a new round.
pub const CALLBACK_ATTEMPTS_MAX: u32 = 16;
/// Rounds that operators may add to one delivery; each request stays known among its causes.
pub const CALLBACK_RETRIES_MAX: u32 = 16;
/// Attempts that a delivery's record keeps; older ones are in its receipts.
pub const CALLBACK_ATTEMPTS_LEN_MAX: usize = 16;
/// Milliseconds of one attempt of a callback delivery.
pub const CALLBACK_TIMEOUT_MS_MAX: u64 = 60_000;
/// Waits that a callback delivery policy lists.
pub const CALLBACK_BACKOFF_LEN_MAX: usize = 16;
/// Milliseconds of the longest wait before an attempt.
pub const BACKOFF_MS_MAX: u64 = 60 * 60 * 1_000;
/// Bytes of a callback's profile, target and metadata.
pub const CALLBACK_TARGET_BYTES_MAX: usize = 8_192;
const _: () = assert!(CALLBACK_RETRIES_MAX as usize <= CAUSES_LEN_MAX);

/// Tokens of one delegated scope.
pub const DELEGATION_SCOPE_LEN_MAX: usize = 64;
/// Bytes of one delegated scope.
pub const DELEGATION_SCOPE_BYTES_MAX: usize = 4_096;
/// Dispatches of one delegation to its peer.
pub const DELEGATION_DISPATCHES_MAX: u32 = 8;
/// Milliseconds that a peer may take to answer a dispatch.
pub const DELEGATION_TIMEOUT_MS: u64 = 10_000;
/// Milliseconds before each further dispatch; the last one stands for all that follow.
pub const DELEGATION_BACKOFF_MS: &[u64] = &[250, 1_000, 5_000, 15_000, 30_000];
/// Times that a peer is asked to cancel.
pub const DELEGATION_CANCELS_MAX: u32 = 16;
