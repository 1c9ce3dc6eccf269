//! Every file of `fuzz/corpus`, by the functions of the fuzz targets: what a fuzzer found once is not found again.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    unreachable_pub,
    reason = "tests; the functions are those of the crate `fuzz`"
)]

use std::path::Path;

#[path = "../../../fuzz/src/targets.rs"]
mod targets;

#[track_caller]
fn run(target: &str, check: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty(), "{target} has no corpus");
    for file in files {
        // Named in the output of a test that fails.
        println!("{}", file.display());
        check(&std::fs::read(&file).unwrap());
    }
}

#[test]
fn envelopes() {
    run("envelope", targets::envelope);
}

#[test]
fn canonical_texts() {
    run("canonical", targets::canonical);
}

#[test]
fn subjects() {
    run("subject", targets::subject);
}

#[test]
fn dids() {
    run("did_key", targets::did_key);
}

#[test]
fn frames() {
    run("frames", targets::frames);
}
