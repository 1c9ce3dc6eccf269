//! The order of a step, written once: load, decide, save by compare-and-set, and decide again on a conflict. A refusal never
//! rests on a read that may be stale (`design.md` §2).

use aip_bus::{Backoff, Bus, BusError, Draft, Loaded, Record, Source, subjects::RecordKey};
use aip_core::Machine;
use aip_types::limits;

use crate::clock::now;

/// What became of a trigger.
#[derive(Debug)]
pub enum Driven<M: Machine> {
    /// Its step is stored.
    Saved(Box<Loaded<M>>),
    /// It changed nothing; the record as the leader has it.
    Refused(M::Rejection, Box<Loaded<M>>),
    /// There is no such record.
    Absent,
}

/// Applies a trigger to a record. `known`: the record as the caller has it, to save the first load.
///
/// # Errors
/// [`BusError::Unavailable`] when the bus does not answer; [`BusError::Conflict`] when other writers won every time.
pub async fn drive<M: Machine + Record>(
    bus: &Bus,
    key: &RecordKey,
    cause: &str,
    trigger: &M::Trigger,
    known: Option<Loaded<M>>,
) -> Result<Driven<M>, BusError> {
    let mut source = Source::Nearest;
    let mut current = known;
    let mut backoff = Backoff::new(limits::SAVE_ATTEMPTS_MAX);
    loop {
        let loaded = match current.take() {
            Some(loaded) => Some(loaded),
            None => bus.load::<M>(key, source).await?,
        };
        let Some(loaded) = loaded else {
            if source == Source::Leader {
                return Ok(Driven::Absent);
            }
            source = Source::Leader;
            continue;
        };
        match loaded.entry.state.step(trigger.clone(), now()) {
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
