//! What a receiver pays for one message, beside what parsing alone costs (`docs/performance.md`):
//! `cargo bench -p aip-schema --bench receive`.
#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a bench")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use aip_crypto::{canonical, hash};
use aip_schema::{Schemas, receive};
use aip_types::document::{self, Bounds};
use divan::Bencher;
use serde_json::Value;

/// An action of 2 KiB as a booking system sends one.
const ACTION: &str = include_str!("action-2k.json");

fn main() {
    Schemas::embedded().unwrap();
    divan::main();
    let parse = best(|| drop(black_box(serde_json::from_slice::<Value>(black_box(ACTION.as_bytes())))));
    let whole = best(|| {
        let received = receive(black_box(ACTION.as_bytes())).unwrap();
        drop(black_box((canonical(&received.document), received)));
    });
    let ratio = whole.as_secs_f64() / parse.as_secs_f64();
    println!("{} bytes: parse {parse:?}, receive and canonical text {whole:?}, ratio {ratio:.2}", ACTION.len());
}

/// The time of one call: the fastest of many short rows, since the machine is shared.
fn best(mut call: impl FnMut()) -> Duration {
    const CALLS: u32 = 200;
    (0..400)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| call());
            start.elapsed() / CALLS
        })
        .min()
        .unwrap_or_default()
}

#[divan::bench]
fn a_parse_as_value(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| serde_json::from_slice::<Value>(black_box(ACTION.as_bytes())).unwrap());
}

#[divan::bench]
fn a_strict_parse(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| document::parse(black_box(ACTION.as_bytes()), Bounds::ENVELOPE).unwrap());
}

#[divan::bench]
fn b_schema_alone(bencher: Bencher<'_, '_>) {
    let (schemas, document) =
        (Schemas::embedded().unwrap(), document::parse(ACTION.as_bytes(), Bounds::ENVELOPE).unwrap());
    bencher.bench_local(|| schemas.check_envelope(black_box(&document)).unwrap());
}

#[divan::bench]
fn b_types_alone(bencher: Bencher<'_, '_>) {
    let document = document::parse(ACTION.as_bytes(), Bounds::ENVELOPE).unwrap();
    bencher.bench_local(|| aip_types::exact::typed::<aip_types::Envelope>(black_box(&document)).unwrap());
}

#[divan::bench]
fn b_receive(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| receive(black_box(ACTION.as_bytes())).unwrap());
}

#[divan::bench]
fn b_receive_and_canonical_text(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| {
        let received = receive(black_box(ACTION.as_bytes())).unwrap();
        (canonical(&received.document), received)
    });
}

#[divan::bench]
fn c_canonical_text_alone(bencher: Bencher<'_, '_>) {
    let document = document::parse(ACTION.as_bytes(), Bounds::ENVELOPE).unwrap();
    bencher.bench_local(|| canonical(black_box(&document)));
}

#[divan::bench]
fn c_hash_of_the_input(bencher: Bencher<'_, '_>) {
    let received = receive(ACTION.as_bytes()).unwrap();
    let input = received.document.pointer("/body/action/input").unwrap();
    bencher.bench_local(|| hash(black_box(input)));
}
