//! The order of a step, written once: load, decide, save by compare-and-set, and decide again on a conflict. A refusal never
//! rests on a read that may be stale (`design.md` §2).

use aip_bus::{Backoff, Bus, BusError, Draft, Loaded, Source, subjects::RecordKey};
use aip_core::{
    Rejection,
    action::{self, ActionRecord, Trigger},
};
use aip_types::limits;

use crate::clock::now;

/// What became of a trigger.
#[derive(Debug)]
pub enum Driven {
    /// Its step is stored.
    Saved(Box<Loaded<ActionRecord>>),
    /// It changed nothing; the record as the leader has it.
    Refused(Rejection, Box<Loaded<ActionRecord>>),
    /// There is no such record.
    Absent,
}

/// Applies a trigger to an action's record. `known`: the record as the caller has it, to save the first load.
///
/// # Errors
/// [`BusError::Unavailable`] when the bus does not answer; [`BusError::Conflict`] when other writers won every time.
pub async fn drive(
    bus: &Bus,
    key: &RecordKey,
    cause: &str,
    trigger: &Trigger,
    known: Option<Loaded<ActionRecord>>,
) -> Result<Driven, BusError> {
    let mut source = Source::Nearest;
    let mut current = known;
    let mut backoff = Backoff::new(limits::SAVE_ATTEMPTS_MAX);
    loop {
        let loaded = match current.take() {
            Some(loaded) => Some(loaded),
            None => bus.load::<ActionRecord>(key, source).await?,
        };
        let Some(loaded) = loaded else {
            if source == Source::Leader {
                return Ok(Driven::Absent);
            }
            source = Source::Leader;
            continue;
        };
        match action::step(&loaded.entry.state, trigger.clone(), now()) {
            Ok(step) => match bus.save(key, Draft::of(step, cause, loaded.entry.notify.clone()), loaded.sequence).await
            {
                Ok(saved) => return Ok(Driven::Saved(Box::new(saved))),
                Err(BusError::Conflict) if backoff.wait().await => {}
                Err(fault) => return Err(fault),
            },
            Err(rejection) if source == Source::Leader => return Ok(Driven::Refused(rejection, Box::new(loaded))),
            Err(_) => {}
        }
        source = Source::Leader;
    }
}
