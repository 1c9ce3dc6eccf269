//! What the processes of the fleet use: resident memory (`/proc/<pid>/status`) and processor time (`/proc/<pid>/stat`).

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::time::sleep;

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Ticks of `/proc/<pid>/stat` in a second: the kernel's USER_HZ, 100 on every Linux that we run on.
const TICKS_MS: u64 = 10;

/// The processes that are looked at.
pub(super) struct Processes {
    services: Vec<u32>,
    server: Vec<u32>,
    /// This one and its responder.
    bench: Vec<u32>,
}

/// Processor time, in milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cpu {
    pub(super) services_ms: u64,
    pub(super) server_ms: u64,
    pub(super) bench_ms: u64,
}

impl Cpu {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            services_ms: self.services_ms.saturating_add(other.services_ms),
            server_ms: self.server_ms.saturating_add(other.server_ms),
            bench_ms: self.bench_ms.saturating_add(other.bench_ms),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            services_ms: self.services_ms.saturating_sub(before.services_ms),
            server_ms: self.server_ms.saturating_sub(before.server_ms),
            bench_ms: self.bench_ms.saturating_sub(before.bench_ms),
        }
    }
}

/// What they had at one time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Resident {
    pub(super) processes: usize,
    pub(super) services_kib: u64,
    pub(super) server_kib: u64,
}

impl Resident {
    pub(super) fn document(self) -> Value {
        json!({ "processes": self.processes, "services_kib": self.services_kib, "nats_server_kib": self.server_kib })
    }

    fn highest(self, other: Self) -> Self {
        Self {
            processes: self.processes.max(other.processes),
            services_kib: self.services_kib.max(other.services_kib),
            server_kib: self.server_kib.max(other.server_kib),
        }
    }
}

impl Processes {
    /// The processes that were named, else those of DIR/pids, else those with the folder on their command line.
    pub(super) fn find(dir: &Path, named: &[u32]) -> Self {
        let listed = fs::read_to_string(dir.join("pids")).unwrap_or_default();
        let listed: Vec<u32> = listed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let folder = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        let seen = processes().into_iter().filter(|process| process.pid != std::process::id());
        let (server, others): (Vec<_>, Vec<_>) =
            seen.filter(|process| process.is_about(&folder) || process.is_about(dir)).partition(Process::is_server);
        let responders = others.iter().filter(|process| process.is_responder()).map(|process| process.pid);
        let bench = responders.chain([std::process::id()]).collect();
        let pids = |all: Vec<Process>| all.into_iter().map(|process| process.pid).collect::<Vec<_>>();
        let services = match (named, listed.as_slice()) {
            ([], []) => pids(others.into_iter().filter(Process::is_service).collect()),
            ([], _) => listed,
            (_, _) => named.to_vec(),
        };
        let server = pids(server);
        let services = services.into_iter().filter(|pid| !server.contains(pid)).collect();
        Self { services, server, bench }
    }

    /// Runs something and tells what it took of the processors.
    pub(super) async fn cpu_of<T>(&self, work: impl Future<Output = T>) -> (T, Cpu) {
        let before = self.cpu();
        let done = work.await;
        (done, self.cpu().since(before))
    }

    fn cpu(&self) -> Cpu {
        let sum = |pids: &[u32]| pids.iter().filter_map(|&pid| cpu_ms(pid)).sum();
        Cpu { services_ms: sum(&self.services), server_ms: sum(&self.server), bench_ms: sum(&self.bench) }
    }

    pub(super) fn now(&self) -> Option<Resident> {
        let sum = |pids: &[u32]| pids.iter().filter_map(|&pid| resident_kib(pid)).sum();
        (!self.services.is_empty()).then(|| Resident {
            processes: self.services.len(),
            services_kib: sum(&self.services),
            server_kib: sum(&self.server),
        })
    }

    /// Runs something and tells the most that they had at any time of it.
    pub(super) async fn highest_during<T>(&self, work: impl Future<Output = T>) -> (T, Option<Resident>) {
        let mut work = std::pin::pin!(work);
        let mut highest: Option<Resident> = None;
        loop {
            tokio::select! {
                done = &mut work => return (done, highest),
                () = sleep(LOOK_EVERY) => {
                    let now = self.now();
                    highest = now.map(|now| highest.map_or(now, |highest| highest.highest(now)));
                }
            }
        }
    }
}

struct Process {
    pid: u32,
    arguments: Vec<String>,
}

impl Process {
    fn is_about(&self, folder: &Path) -> bool {
        let folder = folder.to_string_lossy();
        let inside = format!("{folder}/");
        self.arguments.iter().any(|argument| *argument == folder || argument.contains(&inside))
    }

    fn is_server(&self) -> bool {
        self.arguments.first().is_some_and(|program| program.contains("nats-server"))
    }

    fn is_responder(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--responder")
    }

    fn is_service(&self) -> bool {
        self.arguments.iter().skip(1).any(|argument| argument == "serve" || argument == "up")
    }
}

fn processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let read = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let arguments = line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        Some(Process { pid, arguments })
    };
    entries.flatten().filter_map(read).collect()
}

fn resident_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// User and system time: the 12th and 13th word after the name, which stands in brackets and may hold blanks.
fn cpu_ms(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let ticks = rest.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum::<u64>();
    Some(ticks.saturating_mul(TICKS_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_named_process_is_read() {
        let of = |services| Processes { services, server: Vec::new(), bench: vec![std::process::id()] };
        assert!(of(vec![std::process::id()]).now().unwrap().services_kib > 100);
        assert!(of(Vec::new()).now().is_none());
    }

    #[test]
    fn processor_time_of_this_process_is_read() {
        assert!(cpu_ms(std::process::id()).is_some() && cpu_ms(u32::MAX).is_none());
    }
}
