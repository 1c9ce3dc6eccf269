//! What a run showed, for people and as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    load::{Load, Measured},
    processes::{Cpu, Resident},
    target::Target,
    writes::Writes,
};

/// One row of the table.
pub(super) struct Row {
    name: String,
    in_flight: u16,
    measured: Measured,
    cpu: Cpu,
    /// Share of the ceiling's rate, and multiple of its median.
    beside: Option<(f64, f64)>,
}

impl Row {
    pub(super) fn new(name: impl Into<String>, load: Load, (measured, cpu): (Measured, Cpu)) -> Self {
        Self { name: name.into(), in_flight: load.in_flight(), measured, cpu, beside: None }
    }

    /// The same, compared with its ceiling.
    pub(super) fn beside(mut self, ceiling: Option<&Measured>) -> Self {
        self.beside = ceiling.map(|ceiling| {
            let median = ceiling.p50.as_secs_f64().max(f64::MIN_POSITIVE);
            (self.measured.rate / ceiling.rate.max(f64::MIN_POSITIVE), self.measured.p50.as_secs_f64() / median)
        });
        self
    }

    /// Microseconds of processors for one call: server, fleet, bench.
    fn cpu_us(&self) -> [u64; 3] {
        let Cpu { services_ms, server_ms, bench_ms } = self.cpu;
        let each = |ms: u64| ms.saturating_mul(1_000).checked_div(self.measured.calls).unwrap_or_default();
        [each(server_ms), each(services_ms), each(bench_ms)]
    }

    fn document(&self) -> Value {
        let [server, fleet, bench] = self.cpu_us();
        json!({
            "row": self.name,
            "in_flight": self.in_flight,
            "per_second": rounded(self.measured.rate),
            "p50_ms": millis(self.measured.p50),
            "p99_ms": millis(self.measured.p99),
            "answers": self.measured.answers,
            "cpu_us": { "nats_server": server, "fleet": fleet, "bench": bench },
            "rate_of_ceiling": self.beside.map(|(rate, _)| rounded(rate)),
            "p50_of_ceiling": self.beside.map(|(_, p50)| rounded(p50)),
        })
    }

    fn line(&self) -> String {
        let Self { name, in_flight, measured, beside, cpu: _ } = self;
        let [server, fleet, bench] = self.cpu_us();
        let Measured { rate, p50, p99, .. } = measured;
        let (p50, p99) = (millis(*p50), millis(*p99));
        let beside = beside.map_or_else(String::new, |(rate, p50)| format!("{rate:>8.2} {p50:>7.2}"));
        let cpu = format!("{server:>6} {fleet:>6} {bench:>6}");
        format!("{name:<24} {in_flight:>9} {rate:>11.0} {p50:>9.2} {p99:>9.2} {cpu} {beside}").trim_end().to_owned()
    }
}

/// Everything.
pub(super) struct Report {
    subject: String,
    rows: Vec<Row>,
    writes: Vec<Writes>,
    idle: Option<Resident>,
    loaded: Option<(u16, Resident)>,
}

impl Report {
    pub(super) fn new(target: &Target) -> Self {
        Self { subject: target.subject.clone(), rows: Vec::new(), writes: Vec::new(), idle: None, loaded: None }
    }

    pub(super) fn idle(&mut self, memory: Option<Resident>) {
        self.idle = memory;
    }

    /// The highest load that memory was looked at under.
    pub(super) fn load(&mut self, load: Load, memory: Option<Resident>) {
        let higher = self.loaded.is_none_or(|(in_flight, before)| {
            memory.is_some_and(|now| (load.in_flight(), now.services_kib) > (in_flight, before.services_kib))
        });
        if let Some(memory) = memory.filter(|_| higher) {
            self.loaded = Some((load.in_flight(), memory));
        }
    }

    pub(super) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub(super) fn writes(&mut self, writes: Writes) {
        self.writes.push(writes);
    }

    pub(super) fn document(&self) -> Value {
        json!({
            "subject": self.subject,
            "rows": self.rows.iter().map(Row::document).collect::<Vec<_>>(),
            "writes": self.writes.iter().map(Writes::document).collect::<Vec<_>>(),
            "memory": {
                "idle": self.idle.map(Resident::document),
                "loaded": self.loaded.map(|(in_flight, memory)| json!({ "in_flight": in_flight, "resident": memory.document() })),
            },
        })
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{:<24} {:>9} {:>11} {:>9} {:>9} {:>8} {:>7}",
            "", "in flight", "per second", "p50 ms", "p99 ms", "of loop", "x p50"
        )];
        lines.extend(self.rows.iter().map(Row::line));
        lines.push("server, fleet, bench: microseconds of processor for one call".to_owned());
        for writes in &self.writes {
            lines.push(String::new());
            lines.push(format!(
                "{} ({}): {:.3} JetStream writes an action, {} actions one after another",
                writes.kind.name(),
                writes.kind.capability(),
                writes.total(),
                writes.actions
            ));
            let stream = |(name, &count): (&String, &u64)| format!("  {:<20} {:.3}", name, writes.per_action(count));
            lines.extend(writes.streams.iter().map(stream));
            lines.push(format!("  an entry of the journal has {} bytes", writes.entry_bytes));
            lines.push(format!(
                "  apart from these, background: {:.2} keep-alives of connectors a second",
                writes.liveness_rate
            ));
        }
        lines.push(String::new());
        match (self.idle, self.loaded) {
            (Some(idle), Some((in_flight, loaded))) => {
                lines.push(memory_line("before the load", idle));
                lines.push(memory_line(&format!("at {in_flight} in flight"), loaded));
            }
            (Some(idle), None) => lines.push(memory_line("before the load", idle)),
            (None, _) => {
                lines.push("resident memory: no process of the fleet was found; name them by --pids".to_owned())
            }
        }
        lines
    }
}

fn memory_line(when: &str, memory: Resident) -> String {
    let mib = |kib: u64| kib / 1_024;
    format!(
        "resident memory {when}: {} MiB in {} processes of the fleet; nats-server {} MiB",
        mib(memory.services_kib),
        memory.processes,
        mib(memory.server_kib)
    )
}

fn millis(time: Duration) -> f64 {
    rounded(time.as_secs_f64() * 1_000.0)
}

fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}
