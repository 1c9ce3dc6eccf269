//! The registry of event kinds: one row a kind. `docs/events.md` is printed from it.
//!
//! Kinds are never reused or renamed. An event is a fact that was stored: it is no error and nothing to retry. A reader
//! that meets an event again drops it by its id.
//!
//! Source: AIP 1.0 §16.1, §25.2.

use std::fmt::Write as _;

use crate::contract::DataSensitivity;
use crate::wire::wire_enum;

wire_enum! {
    /// The kind of record that an event is about, by its subject token.
    ///
    /// Source: `design.md` §2.
    pub enum EventRecord {
        /// An action.
        Action => "action",
        /// A session.
        Session => "session",
        /// An approval.
        Approval => "approval",
        /// An escalation.
        Escalation => "escalation",
        /// A transaction.
        Transaction => "transaction",
        /// A delegation.
        Delegation => "delegation",
        /// A callback delivery.
        Callback => "callback",
        /// No record: a line of the audit.
        Audit => "audit",
    }
}

/// One member of an event's `data`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventMember {
    /// Its name. It may be absent.
    pub name: &'static str,
    /// Who may see it: an audience that is cleared for less gets the event without it.
    pub sensitivity: DataSensitivity,
}

/// Everything that is fixed about one event kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRow {
    /// The stable kind.
    pub kind: &'static str,
    /// What it is about.
    pub record: EventRecord,
    /// What has happened.
    pub meaning: &'static str,
    /// All members that `data` may have; `data` is absent where there are none.
    pub data: &'static [EventMember],
}

macro_rules! event_kinds {
    ( $( $variant:ident { $kind:literal, $record:ident, $meaning:literal $(, $member:ident: $sensitivity:ident)* } )+ ) => {
        /// A registered event kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EventKind {
            $( #[doc = concat!("`", $kind, "`: ", $meaning)] $variant, )+
        }

        impl EventKind {
            /// All kinds, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The stable text of the kind.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $kind,)+ }
            }

            /// What is fixed about this kind.
            #[must_use]
            pub const fn row(self) -> EventRow {
                match self {
                    $( Self::$variant => EventRow {
                        kind: $kind,
                        record: EventRecord::$record,
                        meaning: $meaning,
                        data: &[$(EventMember { name: stringify!($member), sensitivity: DataSensitivity::$sensitivity }),*],
                    }, )+
                }
            }

            /// The kind with this text, or `None` if it is not ours.
            #[must_use]
            pub fn from_kind(text: &str) -> Option<Self> {
                match text { $($kind => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

event_kinds! {
    ActionAccepted { "aip.action.accepted", Action, "The action was admitted and is stored." }
    ActionPendingApproval { "aip.action.pending_approval", Action,
        "The action waits for an approval.", approval_id: Internal }
    ActionApproved { "aip.action.approved", Action,
        "The approval was granted; the action may run.", approval_id: Internal }
    ActionStarted { "aip.action.started", Action,
        "An attempt began under a lease.", attempt: Internal, fence: Internal, instance: Internal }
    ActionAttemptLost { "aip.action.attempt_lost", Action,
        "The attempt's lease is over and it said nothing; another may follow.", attempt: Internal, fence: Internal }
    ActionRetryScheduled { "aip.action.retry_scheduled", Action,
        "The attempt failed without an effect; another follows.", attempt: Internal, code: Internal }
    ActionInputRequired { "aip.action.input_required", Action,
        "The handler asked a question; the action waits for the answer.", correlation_id: Internal }
    ActionInputReceived { "aip.action.input_received", Action,
        "The question was answered.", correlation_id: Internal }
    ActionCancelling { "aip.action.cancelling", Action,
        "Somebody asked to cancel; the work may still end otherwise.", by: Internal, deadline: Internal }
    ActionOutcomeUnknown { "aip.action.outcome_unknown", Action,
        "Nobody knows whether the action took effect; it waits for reconciliation.",
        code: Internal, attempt: Internal, fence: Internal }
    ActionCompleted { "aip.action.completed", Action, "The action ended well; its result is stored." }
    ActionFailed { "aip.action.failed", Action, "The action failed.", code: Internal }
    ActionCancelled { "aip.action.cancelled", Action, "The owner of the work confirmed that it stopped." }
    ActionExpired { "aip.action.expired", Action, "The action passed its deadline before it ended." }
    ActionDeadLettered { "aip.action.dead_lettered", Action, "The action was given up after its last attempt." }
    SessionCreated { "aip.session.created", Session, "A handshake made the session." }
    SessionActive { "aip.session.active", Session, "The session is open." }
    SessionQueued { "aip.session.queued", Session, "Work of the session waits." }
    SessionProcessing { "aip.session.processing", Session, "Work of the session runs." }
    SessionStreaming { "aip.session.streaming", Session, "Work of the session streams." }
    SessionWaitingForHuman { "aip.session.waiting_for_human", Session, "The session waits for a person." }
    SessionResumed { "aip.session.resumed", Session, "Its principal came back; a used token is dead." }
    SessionClosing { "aip.session.closing", Session,
        "Its end is wanted and comes with the end of its last action.", to: Internal, code: Internal }
    SessionCompleted { "aip.session.completed", Session, "The session ended well." }
    SessionFailed { "aip.session.failed", Session, "The session failed.", code: Internal }
    SessionCancelled { "aip.session.cancelled", Session, "The session was stopped." }
    SessionSettled { "aip.session.settled", Session, "The session is over for good." }
    ApprovalRequested { "aip.approval.requested", Approval,
        "Somebody must decide about an action.", approval_id: Internal, expires_at: Internal }
    ApprovalDecisionRecorded { "aip.approval.decision_recorded", Approval,
        "One decision was accepted; it need not end the approval.",
        approval_id: Internal, decision: Internal, decision_id: Internal, approver: Confidential }
    ApprovalGranted { "aip.approval.granted", Approval, "The rule is satisfied.", approval_id: Internal }
    ApprovalDenied { "aip.approval.denied", Approval, "The action may not run.", approval_id: Internal }
    ApprovalExpired { "aip.approval.expired", Approval, "Nobody decided in time.", approval_id: Internal }
    ApprovalRevoked { "aip.approval.revoked", Approval,
        "A grant was taken back; what has begun is not undone.", approval_id: Internal, decision_id: Internal }
    ApprovalWithdrawn { "aip.approval.withdrawn", Approval,
        "The action ended before a decision; none is needed any more.", approval_id: Internal }
    EscalationRequested { "aip.escalation.requested", Escalation, "A person is asked to help.", kind: Internal }
    EscalationResolved { "aip.escalation.resolved", Escalation,
        "A person has answered. This is no approval.", status: Internal, resolved_by: Confidential }
    EscalationExpired { "aip.escalation.expired", Escalation, "Nobody answered in time." }
    EscalationWithdrawn { "aip.escalation.withdrawn", Escalation, "What it was raised for has ended." }
    TransactionPlanned { "aip.transaction.planned", Transaction,
        "There is a plan.", transaction_id: Internal, plan_id: Internal, input_hash: Internal }
    TransactionPrepared { "aip.transaction.prepared", Transaction,
        "Nothing has begun: an execution or a dry run was admitted, or somebody claimed the commit.",
        transaction_id: Internal, mode: Internal, action_id: Internal, fence: Internal }
    TransactionDryRunCompleted { "aip.transaction.dry_run_completed", Transaction,
        "A dry run ended; nothing was committed.", transaction_id: Internal, fidelity: Internal }
    TransactionClaimReleased { "aip.transaction.claim_released", Transaction,
        "A claim was given up; nothing of it took effect.", transaction_id: Internal, action_id: Internal, fence: Internal }
    TransactionCommitStarted { "aip.transaction.commit_started", Transaction,
        "The provider may be at work.", transaction_id: Internal, action_id: Internal, fence: Internal }
    TransactionCommitted { "aip.transaction.committed", Transaction,
        "The effect is certain.", transaction_id: Internal, action_id: Internal, fence: Internal }
    TransactionOutcomeUnknown { "aip.transaction.outcome_unknown", Transaction,
        "The work may have taken effect. Nothing is tried again before it is known.",
        transaction_id: Internal, action_id: Internal, fence: Internal, work: Internal, code: Internal,
        reconciliation: Internal, reconcile_after_ms: Internal }
    TransactionReconciling { "aip.transaction.reconciling", Transaction,
        "The provider is being asked what happened.",
        transaction_id: Internal, fence: Internal, reconciliation: Internal }
    TransactionReconciled { "aip.transaction.reconciled", Transaction,
        "It is known what happened.", transaction_id: Internal, outcome: Internal, by: Internal }
    TransactionCompensating { "aip.transaction.compensating", Transaction,
        "A new action claimed the compensation.", transaction_id: Internal, action_id: Internal, fence: Internal }
    TransactionCompensationStarted { "aip.transaction.compensation_started", Transaction,
        "The provider may be at work on the compensation.",
        transaction_id: Internal, action_id: Internal, fence: Internal }
    TransactionCompensationFailed { "aip.transaction.compensation_failed", Transaction,
        "The compensation had no effect; the transaction stays committed.",
        transaction_id: Internal, action_id: Internal, code: Internal }
    TransactionCompensated { "aip.transaction.compensated", Transaction,
        "The compensating action ended well.", transaction_id: Internal, action_id: Internal, fence: Internal }
    TransactionRequiresHuman { "aip.transaction.requires_human", Transaction,
        "No rule can go on; a person must.", transaction_id: Internal, action_id: Internal, fence: Internal,
        work: Internal, code: Internal, partial: Internal }
    TransactionCancelled { "aip.transaction.cancelled", Transaction,
        "It was stopped, and nothing took effect.", transaction_id: Internal, action_id: Internal, fence: Internal }
    TransactionFailed { "aip.transaction.failed", Transaction,
        "It failed without an effect.", transaction_id: Internal, action_id: Internal, code: Internal }
    TransactionRollbackNotSupported { "aip.transaction.rollback_not_supported", Transaction,
        "The effect stands: the capability cannot undo it.", transaction_id: Internal }
    DelegationRequested { "aip.delegation.requested", Delegation,
        "Work is to be done by a delegate.", delegation_id: Internal, child_action_id: Internal, delegate: Internal }
    DelegationDispatching { "aip.delegation.dispatching", Delegation,
        "The request is being sent to the peer.", delegation_id: Internal, child_action_id: Internal, dispatch: Internal }
    DelegationDispatchFailed { "aip.delegation.dispatch_failed", Delegation,
        "The peer did not answer; the same request is sent again.",
        delegation_id: Internal, child_action_id: Internal, dispatch: Internal, due_at: Internal }
    DelegationAccepted { "aip.delegation.accepted", Delegation,
        "The delegate took the child action.", delegation_id: Internal, child_action_id: Internal }
    DelegationRunning { "aip.delegation.running", Delegation,
        "The child action runs.", delegation_id: Internal, child_action_id: Internal }
    DelegationCancelling { "aip.delegation.cancelling", Delegation,
        "The parent wants no child any more; the peer is asked and must confirm.",
        delegation_id: Internal, child_action_id: Internal, asked: Internal }
    DelegationOutcomeUnknown { "aip.delegation.outcome_unknown", Delegation,
        "Nobody here knows what becomes of the child; only its peer can tell.",
        delegation_id: Internal, child_action_id: Internal }
    DelegationCompleted { "aip.delegation.completed", Delegation,
        "The child action ended well.", delegation_id: Internal, child_action_id: Internal }
    DelegationFailed { "aip.delegation.failed", Delegation,
        "The child action failed.", delegation_id: Internal, child_action_id: Internal, code: Internal }
    DelegationCancelled { "aip.delegation.cancelled", Delegation,
        "The child action was stopped.", delegation_id: Internal, child_action_id: Internal }
    DelegationRequiresHuman { "aip.delegation.requires_human", Delegation,
        "The child action needs a person.", delegation_id: Internal, child_action_id: Internal }
    CallbackScheduled { "aip.callback.scheduled", Callback,
        "A delivery waits for its time.", delivery_id: Internal, attempt: Internal, due_at: Internal }
    CallbackAttempted { "aip.callback.attempted", Callback,
        "An attempt to deliver began.", delivery_id: Internal, attempt: Internal, fence: Internal }
    CallbackDelivered { "aip.callback.delivered", Callback,
        "The target acknowledged.", delivery_id: Internal, attempt: Internal }
    CallbackFailed { "aip.callback.failed", Callback,
        "An attempt, or the delivery, failed.", delivery_id: Internal, attempt: Internal, code: Internal }
    CallbackDeadLettered { "aip.callback.dead_lettered", Callback,
        "The delivery was given up. Its action is not touched.", delivery_id: Internal, attempt: Internal, code: Internal }
    NegotiationDecided { "aip.negotiation.decided", Audit,
        "It was decided what a peer may use here.", decision: Internal, profiles: Internal, code: Internal }
}

impl core::fmt::Display for EventKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text of `docs/events.md`.
#[must_use]
pub fn docs() -> String {
    let mut text = String::from(
        "# Event kinds\n\nGenerated from `aip_types::event_kinds` by `cargo xtask generate`; do not edit. An event is a fact that was stored:\n\
         there is nothing to retry, and one that comes again is dropped by its id (AIP 1.0 §16.1, §16.2). `data` has no other\n\
         members than these, each with its classification (AIP 1.0 §9.6), and none where the column is empty. No event carries\n\
         input, output, tokens or evidence.\n\n\
         | Kind | Record | Meaning | Data |\n| --- | --- | --- | --- |\n",
    );
    for kind in EventKind::ALL {
        let row = kind.row();
        let data: Vec<String> =
            row.data.iter().map(|member| format!("`{}` ({})", member.name, member.sensitivity)).collect();
        let line = writeln!(text, "| `{}` | {} | {} | {} |", row.kind, row.record, row.meaning, data.join(", "));
        debug_assert!(line.is_ok(), "a string takes all that is written to it");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_unique_namespaced_and_found_by_its_text() {
        for &kind in EventKind::ALL {
            let row = kind.row();
            assert_eq!(EventKind::from_kind(kind.as_str()), Some(kind));
            assert!(row.kind.bytes().all(|byte| byte.is_ascii_lowercase() || b"._".contains(&byte)), "{kind}");
            let family = row.kind.strip_prefix("aip.").and_then(|rest| rest.split_once('.')).map(|(family, _)| family);
            let audit = row.record == EventRecord::Audit;
            assert!(audit || family == Some(row.record.as_str()), "{kind} is of another record");
            assert!(row.meaning.ends_with('.'), "{kind}");
        }
        assert_eq!(EventKind::from_kind("aip.nothing"), None);
    }

    #[test]
    fn no_event_carries_what_only_few_may_see() {
        for member in EventKind::ALL.iter().flat_map(|kind| kind.row().data) {
            assert!(member.sensitivity <= DataSensitivity::Confidential, "{}", member.name);
        }
    }
}
