//! The wire as its schemas describe it: rules hold wherever their types stand, documents survive their types, the table
//! of rules is whole.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod everywhere;
mod round_trip;
mod shapes;
mod table;
