//! The table of rules: one row a rule of AIP 1.0 §5–§19 and §22, in the order of the sections.

use aip_types::ErrorCode;

use super::registry::Proof::{Fixtures, Later, Record, Tests};
use super::registry::Row;

/// The code of most rules.
const INVALID: Option<ErrorCode> = Some(ErrorCode::EnvelopeInvalid);
const REJECTED: Option<ErrorCode> = Some(ErrorCode::ManifestRejected);
const LARGE: Option<ErrorCode> = Some(ErrorCode::TooLarge);

macro_rules! rules {
    ($( $variant:ident, $name:literal, $section:literal, [$($constraint:literal),*], $code:expr, $holds:literal, $proof:expr; )+) => {
        /// A rule of the specification.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $( #[doc = concat!($holds, " AIP 1.0 §", $section, ".")] $variant, )+ }

        impl Rule {
            /// Every rule, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// What there is to say about it.
            #[must_use]
            pub const fn row(self) -> Row {
                match self { $(
                    Self::$variant => Row {
                        rule: self,
                        name: $name,
                        section: $section,
                        constraints: &[$($constraint),*],
                        code: $code,
                        holds: $holds,
                        proof: $proof,
                    },
                )+ }
            }
        }
    };
}

#[rustfmt::skip]
rules! {
    // What the strict reader checks.
    Utf8, "utf8", "5.1", [], Some(ErrorCode::NotJson), "A message is UTF-8.", Tests(&["what_is_no_json_is_refused"]);
    JsonSyntax, "json_syntax", "5.1", [], Some(ErrorCode::NotJson), "A message is well-formed JSON.", Tests(&["what_is_no_json_is_refused"]);
    TrailingBytes, "trailing_bytes", "5.1", [], Some(ErrorCode::NotJson), "Nothing follows the document.", Tests(&["what_is_no_json_is_refused"]);
    UniqueMembers, "unique_members", "5.5", [], Some(ErrorCode::DuplicateMember), "No object names a member twice.", Tests(&["a_member_that_comes_twice_is_refused_at_any_level"]);
    ReservedMember, "reserved_member", "5.1", [], INVALID, "No member has a name that the implementation keeps for itself.", Tests(&["the_names_that_serde_json_uses_inside_are_refused"]);
    DocumentBytesMax, "document_bytes_max", "22.8", [], LARGE, "A message has at most 1 MiB.", Tests(&["one_mebibyte_is_read_and_one_byte_more_is_refused"]);
    DepthMax, "depth_max", "22.8", [], Some(ErrorCode::TooDeep), "Arrays and objects nest at most 64 levels.", Tests(&["depth_64_is_read_and_65_is_refused"]);
    StringBytesMax, "string_bytes_max", "22.8", [], LARGE, "A string or member name has at most 256 KiB.", Tests(&["strings_and_names_are_bounded_by_their_decoded_bytes"]);
    NumberBytesMax, "number_bytes_max", "22.8", [], LARGE, "The text of a number has at most 1 KiB.", Tests(&["numbers_are_bounded"]);
    ValuesMax, "values_max", "22.8", [], LARGE, "A message has at most 100,000 values.", Tests(&["values_are_counted"]);
    // What the schemas check; these are keywords of JSON Schema.
    Required, "required", "5.4", [], INVALID, "What is required is there.", Fixtures(&[("ack", "no action id"), ("heartbeat", "no sequence")]);
    Closed, "additionalProperties", "5.1", [], INVALID, "A typed object has no member that its schema does not admit.", Fixtures(&[("ack", "unknown member"), ("action", "unknown member further in")]);
    Type, "type", "5.1", [], INVALID, "A member has the type that its schema says; `null` only where the schema admits it.", Fixtures(&[("ack", "retry delay as text"), ("action", "null chain")]);
    Enum, "enum", "7", [], INVALID, "An enum member has a registered value.", Fixtures(&[("ack", "unknown status")]);
    Const, "const", "6", [], INVALID, "A fixed member has its value.", Fixtures(&[("action", "version as a number")]);
    Minimum, "minimum", "5.1", [], INVALID, "An integer is not below its range.", Fixtures(&[("action", "negative timeout")]);
    Maximum, "maximum", "5.1", [], INVALID, "An integer is within the width that its schema names.", Fixtures(&[("action", "timeout past 64 bits"), ("action_events_request", "limit past 32 bits")]);
    PlainIntegers, "plain_integers", "5.1", [], INVALID, "An integer is written without fraction and exponent.", Tests(&["what_no_integer_type_holds_is_refused"]);
    OneTarget, "maxProperties", "11.8", [], INVALID, "A cancellation has one target.", Fixtures(&[("cancel", "two targets")]);
    SomeTarget, "minProperties", "11.8", [], INVALID, "A cancellation has a target.", Fixtures(&[("cancel", "no target")]);
    Timestamps, "format", "5.2", ["SC01"], INVALID, "A timestamp is an RFC 3339 instant with an offset.", Fixtures(&[("action", "no instant"), ("action", "an instant without offset"), ("heartbeat_ack", "an impossible day"), ("transaction_result", "a plan that never began")]);
    NamesNotEmpty, "minLength", "5.3", ["SC02", "SC03", "SC04", "SC06", "SC08"], INVALID, "An id is not empty.", Fixtures(&[("action", "empty message id"), ("action", "empty capability id"), ("action", "sender without an id"), ("manifest_request", "empty profile"), ("session_list_request", "empty principal")]);
    // The envelope.
    SupportedVersion, "supported_version", "6.4", [], Some(ErrorCode::UnsupportedVersion), "The version is 1.0.", Fixtures(&[("action", "version 2.0")]);
    RegisteredType, "registered_type", "7", [], Some(ErrorCode::MessageUnsupported), "The message type is registered.", Fixtures(&[("action", "unknown type")]);
    ExactlyOneBody, "exactly_one_body", "6.1", [], INVALID, "The body has exactly one member.", Fixtures(&[("action", "two bodies"), ("action", "no body member")]);
    RegisteredBody, "registered_body", "6.1", [], INVALID, "The member of the body is a registered key.", Fixtures(&[("action", "unknown body")]);
    TypeOfBody, "type_of_body", "6.1", ["SC05"], Some(ErrorCode::TypeMismatch), "The message type is the one that the body key stands for.", Fixtures(&[("action", "type of another body")]);
    EnvelopeKeyNotEmpty, "delivery_key_not_empty", "6.4", ["SC07"], INVALID, "The delivery key of an envelope is not empty.", Fixtures(&[("action", "empty delivery key")]);
    IdBytesMax, "id_bytes_max", "22.8", [], INVALID, "An id or key that is copied has at most 1,024 bytes.", Fixtures(&[("action", "too long a message id"), ("action", "too long a session id"), ("action", "too long a correlation id"), ("action", "too long a reference"), ("action", "too long an action id"), ("action", "too long a capability id"), ("action", "too long a key")]);
    SignedShape, "signed_shape", "22.2", ["SC65"], INVALID, "What names a signer or a signature has both, as strings.", Fixtures(&[("action", "signature without a signer"), ("action", "signer without a signature"), ("action", "a signature that is no text")]);
    FromIsAClaim, "from_is_a_claim", "6.3", [], Some(ErrorCode::ActorMismatch), "`from` is no proof; it must be whom transport or signature proves.", Record("aip-service, receive", &["a_forged_identity_is_refused", "who_asks_is_what_was_proved_and_nothing_else"]);
    // Principals, discovery.
    GrantsInForce, "grants_in_force", "8.4", [], None, "Expired and revoked grants are ignored.", Record("aip-core, delegation", &["a_grant_that_ended_anywhere_ends_the_chain"]);
    ManifestVersion, "manifest_version", "9.1", ["SC09"], REJECTED, "A manifest names its version.", Fixtures(&[("manifest", "another version")]);
    ManifestProfiles, "manifest_profiles", "9.1", ["SC10"], REJECTED, "A manifest has a profile.", Fixtures(&[("manifest", "no profiles")]);
    CapabilityIdUnique, "capability_id_unique", "9.1", ["SC11"], REJECTED, "The ids of a manifest's capabilities are unique.", Fixtures(&[("manifest", "an id twice")]);
    WholeManifest, "whole_manifest", "9.1", [], REJECTED, "A manifest is admitted whole or not at all.", Record("aip-admission, connectors", &["a_connector_that_breaks_its_promises_settles_nothing_wrong", "a_connector_registers_until_it_is_admitted_and_then_says_that_it_lives"]);
    HandlerAlive, "handler_alive", "9.2", [], Some(ErrorCode::CapabilityUnavailable), "Only what has a live handler is advertised.", Record("aip-service, catalogue", &["a_killed_connector_leaves_the_manifest_within_five_seconds_and_comes_back"]);
    InputSchemaObject, "input_schema_object", "9.3", ["SC12"], REJECTED, "An input schema is a JSON object schema.", Fixtures(&[("manifest", "input is no object"), ("manifest", "input schema true")]);
    ValidSchema, "valid_schema", "9.3", [], REJECTED, "The schemas of a capability are schemas.", Fixtures(&[("manifest", "output schema is no schema")]);
    SchemaShape, "schema_shape", "9.3", [], REJECTED, "A schema is an object or a boolean.", Fixtures(&[("manifest", "output schema is text")]);
    SupportedDraft, "supported_draft", "9.3", [], REJECTED, "A schema names no draft that we do not know.", Fixtures(&[("manifest", "a draft of long ago")]);
    RemoteReference, "remote_reference", "22.8", [], REJECTED, "A schema refers to itself only.", Fixtures(&[("manifest", "a schema from elsewhere")]);
    UnknownReference, "unknown_reference", "22.8", [], REJECTED, "A reference leads to a schema.", Fixtures(&[("manifest", "a reference to nowhere")]);
    EscapedReference, "escaped_reference", "22.8", [], REJECTED, "A reference has no percent escapes.", Fixtures(&[("manifest", "an escaped reference")]);
    NestedId, "nested_id", "22.8", [], REJECTED, "Only the root of a schema has an id and a draft.", Fixtures(&[("manifest", "an id inside")]);
    ReferenceCycle, "reference_cycle", "22.8", [], REJECTED, "No schema applies itself to the same value.", Fixtures(&[("manifest", "a schema that is itself")]);
    ExpansionMax, "expansion_max", "22.8", [], REJECTED, "A schema applies at most 4,000 schemas, 16 deep, to one value.", Tests(&["recursion_through_the_value_is_taken_and_through_itself_refused"]);
    SchemaBytesMax, "schema_bytes_max", "22.8", [], REJECTED, "A schema has at most 64 KiB.", Tests(&["size_nodes_and_depth_are_bounded"]);
    SchemaNodesMax, "schema_nodes_max", "22.8", [], REJECTED, "A schema has at most 2,000 values.", Tests(&["size_nodes_and_depth_are_bounded"]);
    SchemaDepthMax, "schema_depth_max", "22.8", [], REJECTED, "A schema nests at most 64 levels.", Tests(&["size_nodes_and_depth_are_bounded"]);
    ContractEffects, "contract_effects", "9.4", ["SC13"], REJECTED, "A contract declares an effect.", Fixtures(&[("manifest", "no effects")]);
    ContractMode, "contract_mode", "9.4", ["SC14"], REJECTED, "A contract supports a mode.", Fixtures(&[("manifest", "no mode")]);
    ContractCompensation, "contract_compensation", "9.4", ["SC15"], REJECTED, "Supported compensation names its capability.", Fixtures(&[("manifest", "compensation by nobody")]);
    ContractTransactionModes, "contract_transaction_modes", "9.4", ["SC16"], REJECTED, "A transaction contract lists a mode.", Fixtures(&[("manifest", "transactions in no mode")]);
    KeyTtl, "key_ttl", "9.4", ["SC17"], REJECTED, "Idempotency keys are kept for some time.", Fixtures(&[("manifest", "keys kept for no time")]);
    ContractApprovalTtl, "contract_approval_ttl", "9.4", ["SC18"], REJECTED, "An approval stays open for some time.", Fixtures(&[("manifest", "approval in no time")]);
    ServiceLevelTime, "service_level_time", "9.4", ["SC19"], REJECTED, "The times of a service level are greater than zero.", Fixtures(&[("manifest", "an answer in no time"), ("manifest", "no time to answer"), ("manifest", "no time to queue")]);
    CompensationWindow, "compensation_window", "9.4", ["SC20"], REJECTED, "Compensation is possible for some time.", Fixtures(&[("manifest", "compensation in no time")]);
    RetentionTime, "retention_time", "9.4", ["SC21"], REJECTED, "The times of retention are greater than zero.", Fixtures(&[("manifest", "data kept for no time"), ("manifest", "data deleted at once")]);
    KeyReserved, "key_reserved", "9.5", [], Some(ErrorCode::IdempotencyConflict), "A required key is reserved before anything is dispatched.", Record("aip-admission, keyed", &["fifty_calls_of_one_key_at_once_are_one_execution_and_fifty_equal_answers", "a_holder_that_wakes_up_late_makes_no_second_action"]);
    FilterNarrows, "filter_narrows", "9.8", [], None, "A filtered manifest stays valid and shows nothing more.", Record("aip-edge-http, aip-admission", &["a_manifest_query_filters_only_by_what_it_names"]);
    ReaderSees, "reader_sees", "16.3", [], Some(ErrorCode::ActionNotFound), "A reader sees what it may see, whatever it names or filters.", Record("every owner", &["what_belongs_to_another_answers_byte_for_byte_as_what_never_was"]);
    // Handshake and sessions.
    HandshakePurpose, "handshake_purpose", "10.1", ["SC22"], INVALID, "A handshake says what for.", Fixtures(&[("handshake", "for no purpose")]);
    RedirectByPolicy, "redirect_by_policy", "10.2", [], None, "A redirect to a weaker boundary is not followed.", Record("aip-core, session", &["a_redirect_leads_to_no_weaker_boundary"]);
    SessionTransitions, "session_transitions", "10.3", ["SC23"], Some(ErrorCode::StateNotAdmitted), "A session takes only the transitions of the table; settled is terminal.", Record("aip-core, session", &["a_session_takes_the_edges_of_the_specification_and_no_other"]);
    ResumeTokenOnce, "resume_token_once", "10.5", [], None, "A resume token is consumed once, and its owner verified.", Record("aip-core, session", &["a_token_works_once"]);
    // Actions.
    ActionInput, "action_input", "11.1", ["SC24"], Some(ErrorCode::InputNull), "The input of an action is not null.", Fixtures(&[("action", "null input"), ("delegation_request", "a child with null input"), ("transaction_request", "null input")]);
    ActionTimeout, "action_timeout", "11.1", ["SC25"], Some(ErrorCode::TimeoutInvalid), "The timeout of an action is greater than zero.", Fixtures(&[("action", "timeout 0")]);
    ActionKeyNotEmpty, "action_key_not_empty", "9.5", [], INVALID, "The key of an action is not empty.", Fixtures(&[("action", "empty key")]);
    ModeSupported, "mode_supported", "11.1", ["SC26"], Some(ErrorCode::ModeUnsupported), "The contract supports the mode.", Record("aip-core, action", &["a_mode_is_the_wanted_one_or_the_first_that_the_contract_supports"]);
    DeadlineFixed, "deadline_fixed", "11.1", [], Some(ErrorCode::ActionExpired), "The deadline is set once, and no connector extends it.", Record("aip-handler, aip-scheduler", &["a_handler_is_dropped_at_its_deadline", "what_nobody_can_take_before_its_deadline_expires"]);
    AdmissionOrder, "admission_order", "11.3", [], None, "Admission refuses in a fixed order, and nothing runs before it.", Record("aip-core, action", &["of_any_set_of_faults_the_earliest_is_answered", "nothing_runs_before_go"]);
    CachedRunsNothing, "cached_runs_nothing", "11.4", [], None, "A cached answer dispatches nothing.", Record("aip-admission, keyed", &["fifty_calls_with_one_key_are_one_action_with_fifty_equal_answers"]);
    TerminalStates, "terminal_states", "11.5", ["SC27"], Some(ErrorCode::StateTerminal), "A terminal action stays what it is.", Record("aip-core, action", &["random_lives_reach_every_phase_and_every_refusal", "the_matrix_has_no_empty_cell"]);
    ChunkReuse, "chunk_reuse", "11.6", ["SC28"], INVALID, "A sequence number stands for one chunk.", Fixtures(&[("action_events", "one number for two chunks"), ("action_status", "one number for two chunks")]);
    ChunkOrder, "chunk_order", "11.6", ["SC28"], INVALID, "Chunks come in the order of their numbers.", Fixtures(&[("action_events", "chunks out of order")]);
    ChunkAfterDone, "chunk_after_done", "11.6", [], INVALID, "No chunk follows `done`.", Fixtures(&[("action_events", "a chunk after done")]);
    ChunksAcrossMessages, "chunks_across_messages", "11.6", ["SC28"], None, "Over all messages of an action, numbers grow and are not reused.", Record("aip-handler, aip-scheduler", &["chunks_keep_their_order_and_precede_the_result", "a_chunk_whose_call_was_dropped_keeps_its_number_and_is_stored"]);
    ResultError, "result_error", "11.7", ["SC29"], INVALID, "A failed result has an error.", Fixtures(&[("action_result", "failed without an error"), ("action_status", "failed result without an error"), ("action_list", "failed result without an error"), ("approval_record_view", "failed result without an error"), ("delegation_result", "failed result without an error"), ("transaction_result", "failed result without an error"), ("transaction_view", "failed result without an error")]);
    ResultOfAction, "result_of_action", "6.2", [], INVALID, "A result inside a message is of the action that the message is about.", Fixtures(&[("action_status", "result of another action"), ("delegation_result", "result of another action"), ("transaction_result", "result of another action"), ("transaction_view", "result of another action")]);
    OutputSchema, "output_schema", "11.7", ["SC30"], Some(ErrorCode::OutputInvalid), "The output of a completed action satisfies the output schema.", Record("aip-scheduler, settle", &["an_output_that_violates_its_schema_fails_the_action"]);
    CancelConfirmed, "cancel_confirmed", "11.8", [], None, "Cancelled is said when the owner of the effect confirms it, else the outcome is unknown.", Record("aip-core, action", &["the_matrix_has_no_empty_cell", "an_uncertain_failure_of_a_mutation_is_parked_with_its_reference"]);
    HeartbeatEcho, "heartbeat_echo", "11.9", ["SC31"], None, "The acknowledgement of a heartbeat repeats its sequence.", Later("services/admission, heartbeats");
    // Approval.
    ActionApproval, "action_approval", "12.4", ["SC32"], INVALID, "An approval inside an action approves.", Fixtures(&[("action", "an approval that denies"), ("delegation_request", "a child with a denial")]);
    PolicyTtl, "policy_ttl", "9.4", ["SC18"], INVALID, "An approval policy leaves some time.", Fixtures(&[("approval_request", "approval in no time"), ("approval_record_view", "approval in no time"), ("approval_list", "approval in no time"), ("transaction_result", "approval in no time"), ("transaction_view", "approval in no time")]);
    TrustedAuthority, "trusted_authority", "12.1", [], None, "Authority rules are met by a trusted resolver only.", Record("aip-core, approval machine", &["claimed_authority_counts_for_nothing"]);
    GovernedAction, "governed_action", "12.2", [], None, "A request is derived from the admitted action, and its action cannot be exchanged.", Record("aip-core, approval machine", &["a_request_is_a_function_of_the_entry_that_asks"]);
    DecisionChecked, "decision_checked", "12.4", [], None, "A decision is accepted by its approver, authority, quorum, separation of duties, time and hash; a repeat changes nothing.", Record("aip-core, approval machine", &["one_wrong_decision_has_one_answer_however_much_is_wrong_with_it", "nobody_approves_for_themselves", "a_repeated_decision_is_told_from_a_conflict"]);
    ApprovalRevalidated, "approval_revalidated", "12.5", [], None, "What was approved is checked again before dispatch.", Record("aip-core, approval machine", &["a_grant_is_looked_at_again_before_dispatch"]);
    EscalationIsNoApproval, "escalation_is_no_approval", "12.7", [], None, "The text of an escalation approves nothing.", Record("aip-core, escalation machine", &["an_answer_is_never_an_approval"]);
    // Transactions.
    CommitPlan, "commit_plan", "13.1", ["SC33"], INVALID, "A commit names its plan.", Fixtures(&[("action", "commit without a plan"), ("approval_record_view", "commit without a plan"), ("transaction_request", "commit without a plan"), ("transaction_result", "commit without a plan"), ("transaction_view", "commit without a plan")]);
    CompensatedAction, "compensated_action", "13.1", ["SC34"], INVALID, "A compensation names the action that it compensates.", Fixtures(&[("action", "compensation of nothing"), ("delegation_request", "a child that compensates nothing")]);
    TransactionId, "transaction_id", "13.1", ["SC35"], INVALID, "A transaction request and its action name the same transaction.", Fixtures(&[("transaction_request", "another transaction inside")]);
    PlanOfResult, "plan_of_result", "13.3", ["SC36"], INVALID, "A planned result has a plan with its transaction, action and capability.", Fixtures(&[("transaction_result", "planned without a plan"), ("transaction_result", "plan of another transaction"), ("transaction_result", "plan of another action"), ("transaction_result", "plan of another capability")]);
    PlanCompensation, "plan_compensation", "13.7", ["SC15"], INVALID, "Supported compensation of a plan names its capability.", Fixtures(&[("transaction_result", "compensation by nobody"), ("transaction_view", "compensation by nobody")]);
    PlanCompensationWindow, "plan_compensation_window", "9.4", ["SC20"], INVALID, "Compensation of a plan is possible for some time.", Fixtures(&[("transaction_result", "compensation in no time")]);
    CommitClaim, "commit_claim", "13.4", [], Some(ErrorCode::StaleFence), "One worker at a time may commit a plan; an older one cannot.", Record("aip-core, transaction machine", &["a_valid_claim_is_not_taken_over", "each_mismatch_of_a_claim_has_a_refusal_of_its_own"]);
    TransactionError, "transaction_error", "13.5", ["SC37"], INVALID, "A failed transaction has an error, or a failed result that has one.", Fixtures(&[("transaction_result", "failed without an error"), ("transaction_result", "failed with a result that completed")]);
    OutcomeUnknown, "outcome_unknown", "13.6", [], Some(ErrorCode::OutcomeUnknown), "What may have happened is never repeated, only reconciled.", Record("aip-core, aip-scheduler", &["an_uncertain_failure_keeps_its_operation_reference_once", "a_lost_attempt_that_may_not_be_repeated_is_parked_and_settled_by_its_late_answer", "only_unsafe_work_of_a_killed_connector_may_be_unknown_and_none_is_repeated"]);
    CompensationIsAnAction, "compensation_is_an_action", "13.7", [], None, "Compensation is a governed action of its own.", Record("aip-core, transaction machine", &["a_compensation_is_another_action_with_its_own_claim_and_receipt", "a_compensation_has_its_own_approval"]);
    // Delegation.
    DelegationScope, "delegation_scope", "14.1", ["SC38"], INVALID, "A delegation has a scope.", Fixtures(&[("delegation_request", "no scope")]);
    DelegationChild, "delegation_child", "14.1", ["SC39"], INVALID, "Parent and child are two actions.", Fixtures(&[("delegation_request", "a child that is its parent")]);
    DelegationChainMax, "delegation_chain_max", "14.3", ["SC40"], INVALID, "A delegation chain has at most ten entries.", Fixtures(&[("action", "eleven hops"), ("transaction_request", "eleven hops")]);
    DelegationLoop, "delegation_loop", "14.3", [], INVALID, "Nobody in a delegation chain receives what it had.", Fixtures(&[("action", "a chain in a circle"), ("action", "a hop to oneself"), ("delegation_request", "a child in a circle")]);
    AuthorityNarrows, "authority_narrows", "14.3", [], None, "No hop has more than the one before.", Record("aip-core, delegation", &["authority_only_narrows_along_any_accepted_chain"]);
    DelegationOutcome, "delegation_outcome", "14.4", ["SC41"], INVALID, "A delegation that ended has a result or an error.", Fixtures(&[("delegation_result", "completed with nothing"), ("delegation_result", "failed with nothing"), ("delegation_result", "cancelled with nothing")]);
    ProviderAuthentic, "provider_authentic", "15.3", [], None, "A channel message is authentic and no replay.", Later("services/edge-http, webhooks");
    // Reads.
    ListLimit, "list_limit", "16.4", ["SC42", "SC43", "SC44", "SC45", "SC46", "SC47", "SC48", "SC49"], Some(ErrorCode::QueryInvalid), "The limit of a list is 1 to 1000.", Fixtures(&[("action_list_request", "limit 0"), ("action_list_request", "limit 1001"), ("action_events_request", "limit 0"), ("action_events_request", "limit 1001"), ("session_list_request", "limit 0"), ("session_list_request", "limit 1001"), ("approval_list_request", "limit 0"), ("approval_list_request", "limit 1001"), ("event_stream_request", "limit 0"), ("event_stream_request", "limit 1001"), ("resource_list_request", "limit 0"), ("resource_list_request", "limit 1001"), ("callback_delivery_list_request", "limit 0"), ("callback_delivery_list_request", "limit 1001"), ("audit_query_request", "limit 0"), ("audit_query_request", "limit 1001")]);
    ListPage, "list_page", "16.4", ["SC50", "SC51", "SC52", "SC53", "SC54", "SC55", "SC56", "SC57"], INVALID, "A page has at most 1000 records.", Tests(&["a_page_has_a_thousand_records_and_no_more"]);
    WaitMax, "wait_max", "16.4", ["SC58", "SC59"], Some(ErrorCode::QueryInvalid), "A query waits at most 30 seconds.", Fixtures(&[("action_status_request", "too long a wait"), ("action_result_request", "too long a wait")]);
    EventOfAction, "event_of_action", "16.5", ["SC60"], INVALID, "The events of an action are its own.", Fixtures(&[("action_events", "an event of another action")]);
    ChunkOfAction, "chunk_of_action", "16.5", ["SC60"], INVALID, "The chunks of an action are its own.", Fixtures(&[("action_events", "a chunk of another action"), ("action_status", "a chunk of another action")]);
    CursorsOpaque, "cursors_opaque", "16.2", [], Some(ErrorCode::CursorInvalid), "A cursor is bound to its query and reader.", Later("services/reconciler");
    ExportAuthorised, "export_authorised", "16.6", [], Some(ErrorCode::PolicyDenied), "Evidence is exported on authority of its own.", Record("aip-core, approval machine", &["the_governed_input_is_exported_with_its_right_and_its_hash_only"]);
    // Callbacks.
    TargetAllowed, "target_allowed", "17.1", [], None, "A callback target is checked by policy before the action is admitted.", Record("aip-core, action", &["governance_that_is_not_served_is_refused"]);
    RetryRunsNothing, "retry_runs_nothing", "17.2", [], None, "Delivery ids stay, and a retry runs no action.", Record("aip-core, callback", &["what_is_sent_never_changes"]);
    DeliveryFenced, "delivery_fenced", "17.3", [], None, "Deliveries are leased and fenced, and complete when the acknowledgement is stored.", Record("aip-core, callback", &["fences_only_grow_and_no_other_fence_ends_an_attempt"]);
    CallbackHosts, "callback_hosts", "17.4", [], None, "Callbacks reach allowed hosts and addresses only.", Later("shared/egress, with services/callback-worker");
    // Receipts.
    ReceiptHash, "receipt_hash", "18.2", ["SC61"], INVALID, "A receipt of a chain has its own hash.", Fixtures(&[("receipt_chain", "a receipt that was changed"), ("receipt_chain", "a receipt without a hash"), ("action_status", "a receipt that was changed"), ("action_list", "a receipt that was changed"), ("approval_record_view", "a receipt that was changed"), ("audit_query_result", "a receipt that was changed"), ("callback_delivery_record", "a receipt that was changed"), ("delegation_result", "a receipt that was changed"), ("transaction_result", "a receipt that was changed"), ("transaction_view", "a receipt that was changed")]);
    ReceiptLink, "receipt_link", "18.2", ["SC62"], INVALID, "A receipt names the hash of the one before, the first none.", Fixtures(&[("receipt_chain", "receipts swapped"), ("receipt_chain", "a first receipt with a link"), ("receipt_chain", "a link to another receipt")]);
    ChainRootRequired, "chain_root_required", "18.2", ["SC63"], INVALID, "A chain with receipts has a root.", Fixtures(&[("receipt_chain", "no root")]);
    ChainRoot, "chain_root", "18.2", ["SC64"], INVALID, "The root is the hash of the receipts' hashes.", Fixtures(&[("receipt_chain", "another root"), ("receipt_chain", "a root of nothing")]);
    ChainComputed, "chain_computed", "18.2", [], None, "Our own chains verify, also outside of this program.", Tests(&["receipt_chains_are_the_published_ones", "an_independent_implementation_computes_the_same"]);
    // Errors.
    CodesStable, "codes_stable", "19.1", [], None, "Our codes are namespaced and registered; a foreign one is passed on.", Record("aip-types, error_codes", &["every_code_has_the_status_of_its_row", "a_foreign_code_has_the_status_of_its_category"]);
    RetryDecision, "retry_decision", "19.2", [], None, "Nothing is repeated for its category alone.", Record("aip-core, action", &["a_repeatable_mutation_goes_on_after_its_lease_and_its_old_result_is_stale", "a_lost_read_that_may_not_be_repeated_ends"]);
    UncertainOutcome, "uncertain_outcome", "19.3", [], Some(ErrorCode::OutcomeUnknown), "An uncertain failure of a mutation is an unknown outcome.", Record("aip-core, aip-handler", &["an_uncertain_failure_of_a_mutation_is_parked_with_its_reference", "a_panic_is_an_uncertain_failure_of_a_mutation_and_a_plain_one_of_a_read"]);
    ReplayWindow, "replay_window", "22.3", [], Some(ErrorCode::ReplayWindow), "A signed message is received once, in its time.", Record("aip-service, receive", &["a_signed_message_is_received_once", "a_message_from_another_time_is_refused"]);
}
