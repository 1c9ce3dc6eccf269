//! Resident memory of the fleet's processes, nats-server apart (`/proc/<pid>/status`).

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::time::sleep;

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The processes that are looked at.
pub(super) struct Memory {
    services: Vec<u32>,
    server: Vec<u32>,
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

impl Memory {
    /// The processes that were named, else those of DIR/pids, else those with the folder on their command line.
    pub(super) fn find(dir: &Path, named: &[u32]) -> Self {
        let listed = fs::read_to_string(dir.join("pids")).unwrap_or_default();
        let listed: Vec<u32> = listed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let folder = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        let seen = processes().into_iter().filter(|process| process.pid != std::process::id());
        let (server, others): (Vec<_>, Vec<_>) =
            seen.filter(|process| process.is_about(&folder) || process.is_about(dir)).partition(Process::is_server);
        let pids = |all: Vec<Process>| all.into_iter().map(|process| process.pid).collect::<Vec<_>>();
        let services = match (named, listed.as_slice()) {
            ([], []) => pids(others.into_iter().filter(Process::is_service).collect()),
            ([], _) => listed,
            (_, _) => named.to_vec(),
        };
        let server = pids(server);
        let services = services.into_iter().filter(|pid| !server.contains(pid)).collect();
        Self { services, server }
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
        let folder: &str = &folder.to_string_lossy();
        self.arguments.iter().any(|argument| argument.contains(folder))
    }

    fn is_server(&self) -> bool {
        self.arguments.first().is_some_and(|program| program.contains("nats-server"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_named_process_is_read() {
        let memory = Memory { services: vec![std::process::id()], server: Vec::new() };
        assert!(memory.now().unwrap().services_kib > 100);
        assert!(Memory { services: Vec::new(), server: Vec::new() }.now().is_none());
    }
}
