//! The registry of error codes: one row a code. `docs/errors.md` is printed from it.
//!
//! Codes are never reused or renamed. The public text of an error is the fixed sentence of its row.
//!
//! Source: AIP 1.0 §19.1, §25.2; `design.md` §8.

use std::fmt::Write as _;

use crate::error::{ErrorCategory, ProtocolError};

/// Everything that is fixed about one error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRow {
    /// The stable code.
    pub code: &'static str,
    /// The category, which tells a program what kind of failure this is.
    pub category: ErrorCategory,
    /// Whether the same request may succeed later. Never enough to retry: AIP 1.0 §19.2 has more conditions.
    pub retryable: bool,
    /// The HTTP status of the native binding.
    pub http_status: u16,
    /// The public sentence.
    pub message: &'static str,
    /// What causes it and what to change; for the documentation.
    pub meaning: &'static str,
}

macro_rules! error_codes {
    ( $( $variant:ident { $code:literal, $category:ident, $retryable:literal, $status:literal, $message:literal, $meaning:literal } )+ ) => {
        /// A registered error code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $( #[doc = concat!("`", $code, "`: ", $meaning)] $variant, )+
        }

        impl ErrorCode {
            /// All codes, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// What is fixed about this code.
            #[must_use]
            pub const fn row(self) -> ErrorRow {
                match self {
                    $( Self::$variant => ErrorRow {
                        code: $code,
                        category: ErrorCategory::$category,
                        retryable: $retryable,
                        http_status: $status,
                        message: $message,
                        meaning: $meaning,
                    }, )+
                }
            }

            /// The code with this text, or `None` if it is not ours.
            #[must_use]
            pub fn from_code(text: &str) -> Option<Self> {
                match text { $($code => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

error_codes! {
    NotJson { "aip.envelope.not_json", Permanent, false, 400,
        "The message is not well-formed UTF-8 JSON.",
        "Send one JSON document in UTF-8, with nothing after it." }
    TooLarge { "aip.envelope.too_large", Permanent, false, 413,
        "The message is larger than this binding accepts.",
        "An envelope has at most 1 MiB, a string 256 KiB, a document 100,000 values. Pass larger content by reference." }
    TooDeep { "aip.envelope.too_deep", Permanent, false, 400,
        "The message is nested too deeply.",
        "Arrays and objects nest at most 64 levels." }
    DuplicateMember { "aip.envelope.duplicate_member", Permanent, false, 400,
        "An object has the same member twice.",
        "Name each member of an object once; `details.pointer` says where." }
    EnvelopeInvalid { "aip.envelope.invalid", Permanent, false, 400,
        "The message violates its schema or a rule of the specification.",
        "`details.pointer` is the JSON Pointer of the offending value, `details.rule` the rule it breaks." }
    TypeMismatch { "aip.envelope.type_mismatch", Permanent, false, 400,
        "The message type does not match the body.",
        "`message_type` must be the type that the one member of `body` stands for (AIP 1.0 §6.1)." }
    UnsupportedVersion { "aip.envelope.unsupported_version", Permanent, false, 400,
        "The protocol version is not supported.",
        "Send `aip_version` `1.0`." }
    MessageUnsupported { "aip.message.unsupported", Permanent, false, 400,
        "The message type is not supported here.",
        "The type is not registered, or no service of this deployment answers it." }
    AuthRequired { "aip.auth.required", Auth, false, 401,
        "Authentication is required.",
        "The request carries no credential that this binding accepts." }
    TokenInvalid { "aip.auth.token_invalid", Auth, false, 401,
        "The credential is not valid.",
        "The token is unknown, expired, revoked or meant for somebody else." }
    SignatureInvalid { "aip.auth.signature_invalid", Auth, false, 401,
        "The signature does not verify.",
        "Sign the canonical form of this very envelope with the key of the DID (AIP 1.0 §22.2)." }
    DidUnbound { "aip.auth.did_unbound", Auth, false, 401,
        "The signing identity is not bound to the sender.",
        "The DID is not configured for the principal that the message claims." }
    ActorMismatch { "aip.auth.actor_mismatch", Auth, false, 401,
        "The claimed sender is not the authenticated one.",
        "`from` must name the authenticated principal or be left out." }
    TenantMismatch { "aip.auth.tenant_mismatch", Auth, false, 403,
        "The tenant is not the one of the authenticated caller.",
        "The credential belongs to another tenant than the one that the message names." }
    ContextRefused { "aip.auth.context_refused", Auth, false, 401,
        "The transport context is not acceptable.",
        "A trusted header is missing, forged, or may not be set by this caller." }
    ReplayWindow { "aip.replay.window", Auth, false, 401,
        "The message is too old or lies in the future.",
        "`sent_at` of a signed message is at most 300 s old and 30 s ahead; check the clock, then sign anew." }
    ReplayDuplicate { "aip.replay.duplicate", Auth, false, 401,
        "The signed message was received before.",
        "Every signed message needs a message id of its own." }
    CapabilityNotFound { "aip.capability.not_found", Permanent, false, 404,
        "There is no such capability.",
        "No admitted manifest has it, or the caller may not see it; both answer alike." }
    InputInvalid { "aip.capability.input_invalid", Permanent, false, 400,
        "The input violates the schema of the capability.",
        "`details.pointer` is the JSON Pointer inside `input`, `details.rule` the rule it breaks." }
    OutputInvalid { "aip.capability.output_invalid", Connector, false, 502,
        "The handler returned a value that violates its own schema.",
        "The provider of the capability must fix it; the effect may have happened." }
    CapabilityUnavailable { "aip.capability.unavailable", Temporary, true, 503,
        "The capability has no live handler.",
        "The connector is gone or draining; it may come back." }
    ModeUnsupported { "aip.action.mode_unsupported", Permanent, false, 400,
        "The capability does not support this mode.",
        "Choose a mode that the execution contract of the capability supports." }
    TimeoutInvalid { "aip.action.timeout_invalid", Permanent, false, 400,
        "The timeout is not valid.",
        "`timeout_ms` must be greater than zero and within the bound of the deployment, or absent." }
    InputNull { "aip.action.input_null", Permanent, false, 400,
        "The input of an action must not be null.",
        "Send the input that the schema of the capability describes; an empty object if it takes none." }
    ContextUnsupported { "aip.action.context_unsupported", Permanent, false, 400,
        "The action asks for governance that is not served here.",
        "`details.pointer` names the member; leave it out, or use a deployment that serves it." }
    ActionIdConflict { "aip.action.id_conflict", Permanent, false, 409,
        "The action id stands for another request.",
        "The id was used with another input, key or capability. Make a new id." }
    ActionNotFound { "aip.action.not_found", Permanent, false, 404,
        "There is no such action.",
        "It never existed, was removed, or the caller may not see it; all answer alike." }
    ActionNotFinished { "aip.action.not_finished", Temporary, true, 503,
        "The action has no result yet.",
        "Ask again, with `wait_ms` to wait for the end." }
    ActionExpired { "aip.action.expired", Permanent, false, 400,
        "The action passed its deadline before it ended.",
        "Send a new action with a longer `timeout_ms`, if the work is still wanted." }
    ActionDeadLettered { "aip.action.dead_lettered", Permanent, false, 400,
        "The action was given up after its last attempt.",
        "The attempts are exhausted; an operator can tell why." }
    ActionCancelled { "aip.action.cancelled", Permanent, false, 409,
        "The action was cancelled.",
        "Somebody who may asked for it, and its owner has confirmed that it stopped." }
    QuestionsExhausted { "aip.action.questions_exhausted", Connector, false, 502,
        "The action asked its caller too often.",
        "The handler must collect what it needs in fewer questions." }
    OutcomeUnknown { "aip.action.outcome_unknown", Connector, false, 502,
        "It is not known whether the action took effect.",
        "Never repeat it blindly: read its status, reconcile it, or ask a person (AIP 1.0 §13.6)." }
    KeyRequired { "aip.idempotency.key_required", Permanent, false, 400,
        "The capability requires an idempotency key.",
        "Send `idempotency_key` in the action." }
    KeyUnsupported { "aip.idempotency.key_unsupported", Permanent, false, 400,
        "The capability does not support idempotency keys.",
        "Leave `idempotency_key` out." }
    IdempotencyConflict { "aip.idempotency.conflict", Permanent, false, 409,
        "The idempotency key is taken.",
        "The contract of the capability refuses a second use of a key." }
    IdempotencyInputMismatch { "aip.idempotency.input_mismatch", Permanent, false, 409,
        "The idempotency key was used with another input.",
        "Use a new key for a new input." }
    ConnectorFailed { "aip.connector.failed", Connector, false, 502,
        "The connector failed.",
        "The external system or its handler reported a failure; `details` says what may be told." }
    StaleFence { "aip.lease.stale_fence", Permanent, false, 409,
        "The work was handed to somebody else.",
        "A newer lease exists. Stop, and report nothing more for this attempt." }
    LeaseHeld { "aip.lease.held", Temporary, true, 503,
        "The work is held by somebody else.",
        "Try again when the lease of the holder is over." }
    StateMismatch { "aip.state.mismatch", Permanent, false, 409,
        "The message names something else than the record waits for.",
        "Read the record: it names the approval or question that it waits for." }
    StateNotAdmitted { "aip.state.not_admitted", Permanent, false, 409,
        "The present state does not admit this.",
        "Read the state and send what it admits." }
    StateTerminal { "aip.state.terminal", Permanent, false, 409,
        "The record has reached its end.",
        "Nothing can change it any more." }
    StateNotDue { "aip.state.not_due", Temporary, true, 503,
        "The time for this has not come.",
        "Try again when it is due." }
    StateRepeated { "aip.state.repeated", Permanent, false, 409,
        "This was already applied.",
        "Nothing to do: the first one stands." }
    ApprovalNotOpen { "aip.approval.not_open", Permanent, false, 409,
        "The approval is not open.",
        "It was decided, withdrawn or has expired. A repeat of the decision that ended it is answered as that one." }
    ApprovalSelfApproval { "aip.approval.self_approval", Policy, false, 403,
        "Duties must be separated.",
        "Requester or operator of the governed action may not decide about it; ask somebody else." }
    ApprovalNotAuthorised { "aip.approval.not_authorised", Policy, false, 403,
        "The caller has no authority over this approval.",
        "No rule of the approval policy gives it; what a payload claims of roles and groups counts for nothing." }
    ApprovalPolicyChanged { "aip.approval.policy_changed", Permanent, false, 409,
        "The policy is not the one that the approval was asked under.",
        "The policy hash differs: read the approval again, or ask for a new one." }
    ApprovalInputChanged { "aip.approval.input_changed", Permanent, false, 409,
        "The governed input is not the one that the approval is for.",
        "The input hash differs: what was approved is not what would run." }
    ApprovalExpired { "aip.approval.expired", Permanent, false, 410,
        "The approval has expired.",
        "Ask for a new one." }
    ApprovalGrantExpired { "aip.approval.grant_expired", Policy, false, 403,
        "The delegated authority is not valid any more.",
        "The grant that the decision rests on has expired or was revoked." }
    ApprovalRevoked { "aip.approval.revoked", Permanent, false, 409,
        "The approval was revoked.",
        "What it allowed may not begin. Ask for a new one." }
    ApprovalConstraintInvalid { "aip.approval.constraint_invalid", Permanent, false, 400,
        "A constraint of the decision is not valid.",
        "`details.pointer` names the constraint that cannot be read or enforced, or that the action does not meet." }
    ApprovalConflict { "aip.approval.conflict", Permanent, false, 409,
        "The decision id stands for another decision.",
        "A repeated decision must be the same in every member. Make a new id for a new decision." }
    TransactionPlanExpired { "aip.transaction.plan_expired", Permanent, false, 410,
        "The plan has expired.",
        "Make a new plan." }
    TransactionPlanMissing { "aip.transaction.plan_missing", Permanent, false, 404,
        "There is no such plan.",
        "A commit needs the plan of this transaction; it never existed, was removed, or the caller may not see it." }
    TransactionClaimHeld { "aip.transaction.claim_held", Temporary, true, 503,
        "The commit is claimed by somebody else.",
        "Read the transaction; another claim is possible when this one is over and the outcome is known." }
    TransactionOutcomeUnknown { "aip.transaction.outcome_unknown", Permanent, false, 409,
        "It is not known whether the commit took effect.",
        "Nothing is committed or compensated again before a reconciliation has a definitive answer (AIP 1.0 §13.6)." }
    TransactionModeUnsupported { "aip.transaction.mode_unsupported", Permanent, false, 400,
        "The capability does not support this transaction mode.",
        "Choose a mode that its transaction contract lists." }
    DelegationLoop { "aip.delegation.loop", Permanent, false, 400,
        "The delegation would come back to itself.",
        "A principal stands in the chain already, or parent and child are one action." }
    DelegationChainTooLong { "aip.delegation.chain_too_long", Permanent, false, 400,
        "The delegation chain is too long.",
        "An action has at most ten entries; a deployment may allow fewer (AIP 1.0 §14.3)." }
    DelegationBrokenChain { "aip.delegation.broken_chain", Permanent, false, 400,
        "The delegation chain does not hold together.",
        "Each entry must be delegated by the delegate before it, at no earlier time, and the last one to the requester." }
    DelegationScopeWidened { "aip.delegation.scope_widened", Policy, false, 403,
        "The delegation would widen authority.",
        "A hop may keep or narrow the scope that it received, and must name one." }
    DelegationGrantExpired { "aip.delegation.grant_expired", Policy, false, 403,
        "The delegated authority is not valid any more.",
        "The grant of a hop has expired or was revoked." }
    DelegationTrustDomainForbidden { "aip.delegation.trust_domain_forbidden", Policy, false, 403,
        "The delegation would reach a trust domain that policy forbids.",
        "Choose a delegate whose trust domain this deployment admits." }
    DelegationTenantMismatch { "aip.delegation.tenant_mismatch", Policy, false, 403,
        "The delegation would leave its tenant.",
        "Parent, child and every hop belong to one tenant, unless policy admits another." }
    DelegationNotFound { "aip.delegation.not_found", Permanent, false, 404,
        "There is no such delegation.",
        "It never existed, was removed, or the caller may not see it; all answer alike." }
    DelegationConflict { "aip.delegation.conflict", Permanent, false, 409,
        "The delegation id stands for something else.",
        "The id was used with other content, or the result differs from the one that stands." }
    DelegationScopeInvalid { "aip.delegation.scope_invalid", Permanent, false, 400,
        "The delegated scope is not valid.",
        "One to 64 tokens `a:b:c` with single spaces between them; `*` only as the last part of a token." }
    DelegationResidencyForbidden { "aip.delegation.residency_forbidden", Policy, false, 403,
        "Data residency policy forbids this delegation.",
        "A hop would take the data to a region where it may not be." }
    DelegationPeerMismatch { "aip.delegation.peer_mismatch", Auth, false, 401,
        "The sender is not the peer that the delegation is bound to.",
        "Only the authenticated peer that holds the child action may report about it." }
    DelegationResultMismatch { "aip.delegation.result_mismatch", Permanent, false, 409,
        "The result belongs to another delegation.",
        "Delegation, parent and child action must be those of the request." }
    DelegationResultInvalid { "aip.delegation.result_invalid", Permanent, false, 400,
        "The delegation result is not acceptable.",
        "A terminal one has a result of the child action with the same status, or an error, within bounds." }
    DelegationCancelled { "aip.delegation.cancelled", Permanent, false, 400,
        "The delegation was cancelled.",
        "The parent wanted no child any more, and the child is confirmed not to run." }
    DelegationUndelivered { "aip.delegation.undelivered", Transport, false, 503,
        "The delegation did not reach its peer.",
        "Every dispatch failed before the peer had it, so nothing ran; delegate anew when the peer is back." }
    SessionSettled { "aip.session.settled", Permanent, false, 409,
        "The session is settled.",
        "Open a new session." }
    SessionTokenInvalid { "aip.session.token_invalid", Auth, false, 401,
        "The resume token is not valid.",
        "It is unknown, expired, or was issued to somebody else or for another session." }
    SessionTokenUsed { "aip.session.token_used", Auth, false, 401,
        "The resume token was used.",
        "A token is good once; use the one that the last resume issued." }
    SessionActionsActive { "aip.session.actions_active", Temporary, true, 503,
        "The session still has active actions.",
        "Cancel them or wait for their end, then close the session." }
    SessionNotFound { "aip.session.not_found", Permanent, false, 404,
        "There is no such session.",
        "It never existed, was removed, or the caller may not see it; all answer alike." }
    SessionNoCommonProfile { "aip.session.no_common_profile", Permanent, false, 400,
        "No profile is supported by both sides.",
        "Offer a profile with the exact version that the manifest lists." }
    SessionComplianceUnmet { "aip.session.compliance_unmet", Policy, false, 403,
        "A required compliance regime is not met here.",
        "Use a deployment that meets every entry of `compliance_required`, or require less." }
    SessionRedirectRefused { "aip.session.redirect_refused", Policy, false, 403,
        "The session cannot be served here, nor may it be sent elsewhere.",
        "Policy approves no target of an equal security boundary; ask an operator." }
    SessionTermsInvalid { "aip.session.terms_invalid", Permanent, false, 400,
        "The terms of the session are not acceptable.",
        "Its profiles, capabilities and preferences have at most 64 KiB; it lasts a day at most." }
    SessionActionsFull { "aip.session.actions_full", Temporary, true, 429,
        "The session has too many actions in progress.",
        "Wait until one has ended, or open another session." }
    SessionClosing { "aip.session.closing", Permanent, false, 409,
        "The session is closing.",
        "Nothing new begins in it; open a new session." }
    SessionEnded { "aip.session.ended", Permanent, false, 410,
        "The session has ended.",
        "It was closed, failed or passed its time; open a new session." }
    CallbackTargetDenied { "aip.callback.target_denied", Policy, false, 403,
        "Policy denies this callback target.",
        "Scheme, host, address, port or profile of the target are not allowed by the deployment." }
    CallbackAttemptsExhausted { "aip.callback.attempts_exhausted", Permanent, false, 409,
        "The delivery was given up after its last attempt.",
        "The source action is not touched by it: read its result, or have an operator deliver it again." }
    CallbackNotDue { "aip.callback.not_due", Temporary, true, 503,
        "The next delivery attempt is not due.",
        "Try again when its time has come." }
    CallbackNotFound { "aip.callback.not_found", Permanent, false, 404,
        "There is no such callback delivery.",
        "It never existed, was removed, or the caller may not see it; all answer alike." }
    CallbackPolicyInvalid { "aip.callback.policy_invalid", Permanent, false, 400,
        "The callback delivery policy is not acceptable.",
        "Attempts, timeout, waits and target are bounded; a terminal-only delivery reports an end." }
    CallbackConflict { "aip.callback.conflict", Permanent, false, 409,
        "The delivery id stands for another payload.",
        "One message to one target is one delivery; make a new message for new content." }
    CallbackRetriesExhausted { "aip.callback.retries_exhausted", Permanent, false, 409,
        "The delivery was retried too often.",
        "Repair the target, then let the source report anew." }
    QueryInvalid { "aip.query.invalid", Permanent, false, 400,
        "The query is not valid.",
        "`details.pointer` and `details.rule` say which selector, limit or wait to change." }
    CursorInvalid { "aip.query.cursor_invalid", Permanent, false, 400,
        "The cursor is not valid.",
        "Use a cursor as it was given out, for the same query and by the same caller." }
    ReceiptNotFound { "aip.receipt.not_found", Permanent, false, 404,
        "There is no such receipt or chain.",
        "It never existed, was removed, or the caller may not see it; all answer alike." }
    ManifestRejected { "aip.manifest.rejected", Permanent, false, 400,
        "The manifest was not admitted.",
        "`details` lists every finding with its pointer and rule; nothing of it was made visible." }
    CapabilityTaken { "aip.manifest.capability_taken", Permanent, false, 409,
        "The capability id belongs to another connector.",
        "Choose an id of your own." }
    PolicyDenied { "aip.policy.denied", Policy, false, 403,
        "Policy denies this request.",
        "The caller is known but not permitted to do this." }
    // Transaction (AIP 1.0 §13).
    TransactionFidelityExceeded { "aip.transaction.fidelity_exceeded", Permanent, false, 400,
        "The dry run claims more than the capability supports.",
        "Ask for the fidelity that the transaction contract declares, or a weaker one." }
    TransactionPlanRequired { "aip.transaction.plan_required", Permanent, false, 400,
        "The capability needs a plan before a commit.",
        "Send the action with mode `plan`, then commit that plan." }
    TransactionPlanInvalid { "aip.transaction.plan_invalid", Permanent, false, 400,
        "The plan would expire at once or live too long.",
        "Choose an expiry in the future and within the bound of the deployment." }
    TransactionConflict { "aip.transaction.conflict", Permanent, false, 409,
        "The id stands for other content.",
        "The plan or decision was recorded with other content; the first one stands. Choose a new id." }
    TransactionTooLarge { "aip.transaction.too_large", Permanent, false, 413,
        "The transaction would be larger than a record may be.",
        "Shorten the snapshot, the metadata, the operation reference or the cursor." }
    TransactionCapabilityMismatch { "aip.transaction.capability_mismatch", Permanent, false, 409,
        "The capability is not the planned one, or its contract has changed.",
        "Make a new plan for the capability as it is now." }
    TransactionInputMismatch { "aip.transaction.input_mismatch", Permanent, false, 409,
        "The input is not the planned one.",
        "Commit exactly the input that was planned, or make a new plan." }
    TransactionPrincipalMismatch { "aip.transaction.principal_mismatch", Policy, false, 403,
        "Only the planning principal may commit.",
        "Commit as the principal, and for the subject, that made the plan." }
    TransactionTenantMismatch { "aip.transaction.tenant_mismatch", Policy, false, 403,
        "The tenant is not the planned one.",
        "Commit in the tenant in which the plan was made." }
    TransactionAccountMismatch { "aip.transaction.account_mismatch", Policy, false, 403,
        "The external account is not the planned one.",
        "Commit on the external account for which the plan was made." }
    TransactionPolicyChanged { "aip.transaction.policy_changed", Policy, false, 403,
        "The policy has changed since the plan was made.",
        "Make a new plan under the present policy." }
    TransactionApprovalRequired { "aip.transaction.approval_required", Policy, false, 403,
        "The commit needs an approval.",
        "Wait for the approval of this very action." }
    TransactionApprovalExpired { "aip.transaction.approval_expired", Policy, false, 403,
        "The approval has expired.",
        "Ask for a new approval." }
    TransactionApprovalMismatch { "aip.transaction.approval_mismatch", Policy, false, 403,
        "The approval is for something else.",
        "An approval counts for one action, one input and one policy." }
    TransactionContextMismatch { "aip.transaction.context_mismatch", Permanent, false, 409,
        "The transaction context does not match the transaction.",
        "Mode, transaction id, plan id and action must be those of the transaction." }
    TransactionNotRepeatable { "aip.transaction.not_repeatable", Permanent, false, 409,
        "The commit began and may not be repeated.",
        "Its outcome must be reconciled; never commit again blindly." }
    TransactionNotStarted { "aip.transaction.not_started", Permanent, false, 409,
        "The claim has not begun.",
        "Nothing runs before its start is stored, so nothing can have come of it." }
    TransactionCommitStarted { "aip.transaction.commit_started", Permanent, false, 409,
        "The commit has begun: only its owner can tell that it stopped.",
        "Cancel the action; the transaction follows what its owner confirms." }
    TransactionCommitted { "aip.transaction.committed", Permanent, false, 409,
        "The transaction is committed already.",
        "Read its result. To undo its effect, compensate it." }
    TransactionNotCommitted { "aip.transaction.not_committed", Connector, false, 502,
        "The transaction did not take effect.",
        "The provider reported that nothing was committed. A new transaction may be tried." }
    TransactionNothingCommitted { "aip.transaction.nothing_committed", Permanent, false, 409,
        "The transaction is not committed, so there is nothing to compensate.",
        "Compensate a transaction only after its commit." }
    TransactionRollbackNotSupported { "aip.transaction.rollback_not_supported", Permanent, false, 400,
        "There is no way back.",
        "The capability declares no compensation." }
    TransactionWindowClosed { "aip.transaction.window_closed", Permanent, false, 410,
        "The time in which the effect can be compensated has passed.",
        "The window of the compensation contract is counted from the commit." }
    TransactionCompensationMismatch { "aip.transaction.compensation_mismatch", Permanent, false, 409,
        "The compensation does not fit what was committed.",
        "Name the action that committed, and use the compensating capability of its contract." }
    TransactionEvidenceMissing { "aip.transaction.evidence_missing", Permanent, false, 400,
        "The decision names no evidence.",
        "An operator who settles an unknown outcome says by what evidence." }
    TransactionExhausted { "aip.transaction.exhausted", Permanent, false, 409,
        "The transaction has been tried too often.",
        "Its claims, reconciliations or decisions are used up." }
    MediaUnsupported { "aip.media.unsupported", Permanent, false, 415,
        "The media type is not supported.",
        "Send `application/aip+json`, `application/json` or another `+json` type, in UTF-8." }
    HttpNotFound { "aip.http.not_found", Permanent, false, 404,
        "There is no such path.",
        "See the documentation for the paths of this binding." }
    HttpMethodNotAllowed { "aip.http.method_not_allowed", Permanent, false, 405,
        "The path does not support this method.",
        "The `Allow` header lists the methods." }
    TransportUnavailable { "aip.transport.unavailable", Transport, true, 503,
        "The delivery path is not available.",
        "The message was not accepted for certain only if no state exists: read the status before sending it again." }
    TransportTimeout { "aip.transport.timeout", Transport, true, 503,
        "No answer came in time.",
        "The action may go on: read its status before sending it again." }
    TenantQueueFull { "aip.capacity.tenant_queue", Temporary, true, 429,
        "Too much work of this tenant is queued.",
        "Slow down and try again after `retry_after_ms`." }
    JournalFull { "aip.capacity.journal", Temporary, true, 503,
        "The deployment accepts no new work at present.",
        "Storage is near its bound; what runs can still end. An operator must make room." }
    RateLimited { "aip.capacity.rate_limited", Temporary, true, 429,
        "Too many requests.",
        "Slow down and try again after `retry_after_ms`." }
    // Approval and escalation machines.
    ApprovalNotFound { "aip.approval.not_found", Permanent, false, 404,
        "There is no such approval.",
        "It never existed, was removed, or the caller may not see it; all answer alike." }
    ApprovalApproverMismatch { "aip.approval.approver_mismatch", Auth, false, 403,
        "The claimed approver is not the authenticated one.",
        "Nobody decides in another's name: `approver` must be the authenticated principal." }
    ApprovalDecisionIdRequired { "aip.approval.decision_id_required", Permanent, false, 400,
        "A decision needs an id.",
        "Send a stable `decision_id`, so that a repeat is recognised." }
    ApprovalAlreadyDecided { "aip.approval.already_decided", Permanent, false, 409,
        "The caller has decided already.",
        "A principal has one vote. Revoke the earlier decision before another one is sent." }
    ApprovalTargetUnknown { "aip.approval.target_unknown", Permanent, false, 409,
        "There is no such decision to revoke.",
        "`target_decision_id` must name an approving decision that still counts; while the approval is open, one's own." }
    ApprovalExpiredByCaller { "aip.approval.expired_by_caller", Permanent, false, 400,
        "Nobody but the clock of the deployment ends an approval by time.",
        "Deny or revoke instead." }
    ApprovalActionOver { "aip.approval.action_over", Permanent, false, 409,
        "The action has ended.",
        "There is nothing left to decide about." }
    ApprovalActionDispatched { "aip.approval.action_dispatched", Permanent, false, 409,
        "The action has been dispatched.",
        "A grant cannot be taken back once its action has been handed to a connector; cancel or compensate the action." }
    ApprovalEvidenceMissing { "aip.approval.evidence_missing", Permanent, false, 400,
        "The decision lacks evidence that the policy asks for.",
        "`evidence_requirements` of the policy says what: a reason, a ticket, an attachment." }
    ApprovalEvidenceInvalid { "aip.approval.evidence_invalid", Permanent, false, 400,
        "A piece of evidence is not acceptable.",
        "Evidence is passed by reference: no inline content and no credential in its address, and its hash is the one of what is governed." }
    ApprovalTooLarge { "aip.approval.too_large", Permanent, false, 413,
        "The approval or decision is larger than a record holds.",
        "Shorten the reason, or pass evidence by reference; a full approval takes no more votes." }
    ApprovalRuleInvalid { "aip.approval.rule_invalid", Permanent, false, 400,
        "The approval rule can never be satisfied or is too large.",
        "No empty rule, no quorum of none or of more than it has, and at most the documented depth, leaves and principals." }
    ApprovalNotGranted { "aip.approval.not_granted", Policy, false, 403,
        "The approval is not granted.",
        "Only a stored grant lets the governed action begin; a claimed one counts for nothing." }
    ApprovalIdentityChanged { "aip.approval.identity_changed", Policy, false, 403,
        "Somebody whom the approval rests on is not valid any more.",
        "The requester, or the one on whose behalf the action runs, has lost its identity since; ask for a new approval." }
    ApprovalTransactionChanged { "aip.approval.transaction_changed", Permanent, false, 409,
        "The transaction is owned by somebody else.",
        "The stage that was approved is not the caller's to carry out any more." }
    ApprovalConstraintFailed { "aip.approval.constraint_failed", Policy, false, 403,
        "The action does not meet a constraint of its approval.",
        "What an approver demanded does not hold for the input." }
    EscalationNotFound { "aip.escalation.not_found", Permanent, false, 404,
        "There is no such escalation.",
        "It never existed, was removed, or the caller may not see it; all answer alike." }
    EscalationNotOpen { "aip.escalation.not_open", Permanent, false, 409,
        "The escalation is not open.",
        "It was resolved, withdrawn or has expired. The first resolution stands." }
    EscalationExpired { "aip.escalation.expired", Permanent, false, 410,
        "The escalation has expired.",
        "Nobody answered in time." }
    EscalationResolverMismatch { "aip.escalation.resolver_mismatch", Auth, false, 403,
        "The claimed resolver is not the authenticated one.",
        "Nobody answers in another's name: `resolved_by` must be the authenticated principal." }
    EscalationNotAuthorised { "aip.escalation.not_authorised", Policy, false, 403,
        "The caller may not resolve this escalation.",
        "Policy names who may; the one who asked may not answer itself." }
    EscalationDecisionRefused { "aip.escalation.decision_refused", Permanent, false, 400,
        "The escalation does not allow this decision.",
        "`allowed_decisions` lists what may be decided; only the clock of the deployment lets it expire." }
    EscalationAnswerInvalid { "aip.escalation.answer_invalid", Permanent, false, 400,
        "The answer does not match its form.",
        "`result` must satisfy the JSON Schema in `form`, and is required where there is one and the answer lets the work go on." }
    EscalationTooLarge { "aip.escalation.too_large", Permanent, false, 413,
        "The escalation or answer is larger than a record holds.",
        "Pass larger content by reference." }
    Internal { "aip.internal", Temporary, false, 503,
        "Something went wrong inside.",
        "A fault of this deployment; its log has the details under the correlation id." }
    TransactionCompensationUnsupported { "aip.transaction.compensation_unsupported", Permanent, false, 400,
        "The capability cannot be compensated.",
        "Its contract declares no compensation, or the window for it is over." }
}

impl ErrorCode {
    /// The stable text of the code.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.row().code
    }

    /// The protocol error of this code, ready to be sent.
    #[must_use]
    pub fn error(self) -> ProtocolError {
        ProtocolError::from(self)
    }
}

impl core::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The HTTP status of a category whose code names no more specific one (AIP 1.0 §19.1).
#[must_use]
pub const fn http_status(category: ErrorCategory) -> u16 {
    match category {
        ErrorCategory::Temporary | ErrorCategory::Transport => 503,
        ErrorCategory::Permanent => 400,
        ErrorCategory::Auth => 401,
        ErrorCategory::Policy => 403,
        ErrorCategory::Economic => 402,
        ErrorCategory::Connector => 502,
    }
}

/// The text of `docs/errors.md`.
#[must_use]
pub fn docs() -> String {
    let mut text = String::from(
        "# Error codes\n\nGenerated from `aip_types::error_codes` by `cargo xtask generate`; do not edit. A program reads `code`, \
         `category` and\n`retryable`; the message is for people and may change. `retryable` alone is no leave to retry (AIP 1.0 §19.2).\n\n\
         | Code | Category | Retryable | HTTP | Message | What to do |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for code in ErrorCode::ALL {
        let row = code.row();
        let retryable = if row.retryable { "yes" } else { "no" };
        let line = writeln!(
            text,
            "| `{}` | {} | {retryable} | {} | {} | {} |",
            row.code, row.category, row.http_status, row.message, row.meaning
        );
        debug_assert!(line.is_ok(), "a string takes all that is written to it");
    }
    text
}

#[cfg(test)]
mod tests;
