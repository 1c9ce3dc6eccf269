//! Laws that every machine keeps, whatever happens to it.

use std::fmt::Debug;

use aip_core::{Machine, Step};
use aip_crypto::{root_hash, verify_chain};
use aip_types::{Millis, Receipt, ReceiptChain};
use proptest::{prelude::*, test_runner::TestCaseError};

/// Runs a history and checks after every trigger: a terminal record absorbs, a repeated trigger changes nothing, steps are
/// numbered one by one, time never runs backwards in a record, and all receipts so far are one chain that verifies.
/// Gives the last record. That a rejection leaves the record untouched needs no check: `step` cannot change what it reads.
pub(crate) fn hold<M>(
    first: Step<M>,
    evidence: impl Fn(&M) -> (u32, Millis),
    history: impl IntoIterator<Item = (M::Trigger, Millis)>,
) -> Result<M, TestCaseError>
where
    M: Machine + Debug,
    M::Trigger: Debug,
{
    let mut receipts = first.receipts;
    let mut record = first.record;
    prop_assert_eq!(evidence(&record).0, 1);
    for (trigger, at) in history {
        let result = record.step(trigger.clone(), at);
        let Ok(step) = result else { continue };
        prop_assert!(!record.is_terminal(), "{} gave way to {:?}", record.phase(), trigger);
        let (before, after) = (evidence(&record), evidence(&step.record));
        prop_assert_eq!(after.0, before.0 + 1);
        prop_assert!(after.1 >= before.1);
        prop_assert!(step.record.step(trigger.clone(), at).is_err(), "{:?} was applied twice", trigger);
        receipts.extend(step.receipts);
        record = step.record;
    }
    verifies(receipts)?;
    Ok(record)
}

/// A fence relative to the present one, so that long histories get somewhere, or any.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    Current,
    Next,
    Any(u64),
}

impl Which {
    /// The fence, where `held` is the present one.
    pub(crate) fn of(self, held: u64) -> u64 {
        match self {
            Self::Current => held,
            Self::Next => held + 1,
            Self::Any(fence) => fence,
        }
    }
}

pub(crate) fn which() -> impl Strategy<Value = Which> {
    prop_oneof![4 => Just(Which::Current), 4 => Just(Which::Next), 1 => (0..40_u64).prop_map(Which::Any)]
}

/// The receipts are one unbroken chain.
pub(crate) fn verifies(receipts: Vec<Receipt>) -> Result<(), TestCaseError> {
    let root_hash = Some(root_hash(receipts.iter().filter_map(|receipt| receipt.hash.clone())));
    let chain = ReceiptChain { chain_id: "record:1".to_owned(), receipts, root_hash };
    prop_assert!(verify_chain(&chain).is_ok());
    Ok(())
}
