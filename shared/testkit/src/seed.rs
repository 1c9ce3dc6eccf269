//! Randomness that a failure can be replayed with.

/// The seed of this run: `AIP_SEED`, or a new one. It is printed, so that a failing test shows it.
#[must_use]
pub fn seed() -> Seed {
    #[expect(clippy::disallowed_methods, reason = "AIP_SEED replays a failing test and is no setting of a process")]
    let given = std::env::var("AIP_SEED").ok().and_then(|text| text.parse().ok());
    let state = given.unwrap_or_else(|| {
        let [a, b, c, d, e, f, g, h, ..] = aip_bus::random();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    });
    #[expect(clippy::print_stderr, reason = "shown by the test harness when the test fails")]
    {
        eprintln!("AIP_SEED={state}");
    }
    Seed { state }
}

/// A reproducible sequence of numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Seed {
    state: u64,
}

impl Seed {
    /// The sequence of a given seed.
    #[must_use]
    pub fn new(state: u64) -> Self {
        Self { state }
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound; 0 for the bound 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next_u64().checked_rem(bound).unwrap_or(0)
    }

    /// True in `percent` of the cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
