//! Identifiers. Opaque strings to a receiver; generated ones carry a prefix, a time and randomness.
//!
//! Source: AIP 1.0 §5.3.

use crate::time::Millis;
use crate::wire::wire_id;

/// The text of a generated id: `prefix`, 12 hex digits of `at`, 32 hex digits of `random`.
///
/// Ids of one prefix sort by time. `at` beyond 48 bits (the year 10889) is cut to its low 48 bits. For ids whose type
/// has no prefix of its own, such as plan and delivery ids.
#[must_use]
pub fn id(prefix: &str, at: Millis, random: [u8; 16]) -> String {
    let millis = at.0 & 0xffff_ffff_ffff;
    format!("{prefix}{millis:012x}{:032x}", u128::from_be_bytes(random))
}

wire_id! {
    /// Either the id of a message or a correlation id: both are bare strings, so the text alone does not tell which.
    ///
    /// Source: AIP 1.0 §6.2.
    pub struct MessageReference;
}

impl From<MessageId> for MessageReference {
    fn from(id: MessageId) -> Self {
        Self::new(id.into_string())
    }
}

impl From<CorrelationId> for MessageReference {
    fn from(id: CorrelationId) -> Self {
        Self::new(id.into_string())
    }
}

wire_id! {
    /// Message id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct MessageId with "msg_";
}

wire_id! {
    /// Principal id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct PrincipalId;
}

wire_id! {
    /// Capability id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct CapabilityId;
}

wire_id! {
    /// Profile id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct ProfileId;
}

wire_id! {
    /// Session id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct SessionId with "sess_";
}

wire_id! {
    /// Action id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct ActionId with "act_";
}

wire_id! {
    /// Conversation id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct ConversationId with "conv_";
}

wire_id! {
    /// Approval id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct ApprovalId with "appr_";
}

wire_id! {
    /// Transaction id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct TransactionId with "txn_";
}

wire_id! {
    /// Receipt id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct ReceiptId with "rcpt_";
}

wire_id! {
    /// Correlation id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct CorrelationId with "corr_";
}

wire_id! {
    /// Delegation id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct DelegationId with "dlg_";
}

wire_id! {
    /// Event id.
    ///
    /// Source: AIP 1.0 §5.3.
    pub struct EventId with "evt_";
}
