//! Rows of approvals, escalations, transactions, delegations, sessions and callbacks.

macro_rules! governed_rows {
    ($($rows:tt)*) => {
        error_codes! {
            $($rows)*
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
            TransactionCompensationUnsupported { "aip.transaction.compensation_unsupported", Permanent, false, 400,
                "The capability cannot be compensated.",
                "Its contract declares no compensation, or the window for it is over." }
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
            CallbackNotDue { "aip.callback.not_due", Temporary, true, 503,
                "The next delivery attempt is not due.",
                "Try again when its time has come." }
            CallbackPolicyInvalid { "aip.callback.policy_invalid", Permanent, false, 400,
                "The callback delivery policy is not acceptable.",
                "Attempts, timeout, waits and target are bounded; a terminal-only delivery reports an end." }
            CallbackConflict { "aip.callback.conflict", Permanent, false, 409,
                "The delivery id stands for another payload.",
                "One message to one target is one delivery; make a new message for new content." }
            CallbackRetriesExhausted { "aip.callback.retries_exhausted", Permanent, false, 409,
                "The delivery was retried too often.",
                "Repair the target, then let the source report anew." }
        }
    };
}
