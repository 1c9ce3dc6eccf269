//! The README's tour against separate containers (issue 2, Done when 9). `compose.sh` says what is checked.

use std::process::Command;

#[test]
fn the_tour_passes_against_separate_containers_where_an_engine_answers() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/compose.sh");
    let status = Command::new(script).status().expect("bash runs");
    assert!(status.success(), "tests/compose.sh: {status}");
}
