//! Rows of what any message, call or connection may meet. The other rows follow them.

macro_rules! general_rows {
    ($next:ident) => {
        $next! {
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
            Internal { "aip.internal", Temporary, false, 503,
                "Something went wrong inside.",
                "A fault of this deployment; its log has the details under the correlation id." }
        }
    };
}
