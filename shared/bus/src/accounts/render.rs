//! The configuration's text.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use crate::subjects::{ConnectorName, Peer, Tenant, control_all, work_all};

use super::{
    ANSWER_WITHIN, BENCH_ACCOUNT, ConnectorAccount, FLEET_ACCOUNT, Permissions, Roster, SYSTEM_ACCOUNT, ServerOptions,
    ServiceUser, SyncInterval, TenantAccount, UserKey, connector_account, connector_permissions, service_permissions,
    tenant_account, tenant_permissions,
};

/// A whole configuration of nats-server. Reloading it changes users and accounts without a restart.
#[must_use]
pub fn render(roster: &Roster, options: &ServerOptions) -> String {
    let mut out = Writer::default();
    server(&mut out, options);
    out.line(&format!("system_account: {}", quote(SYSTEM_ACCOUNT)));
    out.open("accounts {");
    out.open(&format!("{} {{", quote(SYSTEM_ACCOUNT)));
    out.open("users: [");
    user(&mut out, "operator", &roster.sys, None);
    out.close("]");
    out.close("}");
    fleet(&mut out, roster);
    for account in &roster.tenants {
        tenant(&mut out, account, &roster.peer);
    }
    for account in &roster.connectors {
        connector(&mut out, account);
    }
    if let Some(key) = &roster.bench {
        out.open(&format!("{} {{", quote(BENCH_ACCOUNT)));
        out.line("jetstream: enabled");
        out.open("users: [");
        user(&mut out, "bench", key, None);
        out.close("]");
        out.close("}");
    }
    out.close("}");
    out.text
}

/// The same with placeholders for the keys: the shape of a deployment's configuration, `nats-config/accounts.conf`.
#[must_use]
pub fn sample() -> String {
    let placeholder = |name: &str| UserKey(format!("U_PUBLIC_KEY_OF_{}", name.to_uppercase().replace('-', "_")));
    let (Ok(peer), Ok(tenant), Ok(name)) =
        (Peer::new("example.org", "aip", "1.0"), Tenant::new("acme"), ConnectorName::new("demo"))
    else {
        return String::new();
    };
    let roster = Roster {
        peer,
        services: ServiceUser::ALL
            .into_iter()
            .map(|user| (user, placeholder(user.as_str())))
            .collect::<BTreeMap<_, _>>(),
        tenants: vec![TenantAccount { tenant, users: vec![("alice".to_owned(), placeholder("alice"))] }],
        connectors: vec![ConnectorAccount { name, key: placeholder("connector-demo") }],
        bench: Some(placeholder("bench")),
        sys: placeholder("operator"),
    };
    let mut options = ServerOptions::single(SocketAddr::from(([0, 0, 0, 0], 4222)), "/data/jetstream");
    options.http = Some(SocketAddr::from(([0, 0, 0, 0], 8222)));
    let head = "# Printed from shared/bus/src/accounts by `cargo xtask`; do not edit. `aip keys` writes the real one, with keys.\n";
    format!("{head}{}", render(&roster, &options))
}

fn server(out: &mut Writer, options: &ServerOptions) {
    out.line(&format!("server_name: {}", quote(&options.name)));
    out.line(&format!("listen: {}", quote(&address(options.listen))));
    if let Some(http) = options.http {
        out.line(&format!("http: {}", quote(&address(http))));
    }
    out.line(&format!("max_payload: {}", options.max_payload));
    out.open("jetstream {");
    out.line(&format!("store_dir: {}", quote(&options.store_dir.to_string_lossy())));
    out.line(&match options.sync_interval {
        SyncInterval::Always => "sync_interval: always".to_owned(),
        SyncInterval::Every(interval) => format!("sync_interval: {}", seconds(interval)),
    });
    out.close("}");
    if let Some(cluster) = &options.cluster {
        out.open("cluster {");
        out.line(&format!("name: {}", quote(&cluster.name)));
        out.line(&format!("listen: {}", quote(&address(cluster.listen))));
        let routes: Vec<String> = cluster.routes.iter().map(|route| format!("nats://{route}")).collect();
        out.list("routes", &routes);
        out.close("}");
    }
}

fn fleet(out: &mut Writer, roster: &Roster) {
    out.open(&format!("{} {{", quote(FLEET_ACCOUNT)));
    out.line("jetstream: enabled");
    out.open("users: [");
    for (service, key) in &roster.services {
        user(out, service.as_str(), key, Some(&service_permissions(*service, &roster.peer)));
    }
    out.close("]");
    out.open("exports: [");
    for account in &roster.tenants {
        let to = tenant_account(&account.tenant);
        export(out, "service", &requests_of(&account.tenant), &to);
        export(out, "stream", &streams_of(&account.tenant), &to);
    }
    for account in &roster.connectors {
        export(out, "service", &reports_of(&account.name), &connector_account(&account.name));
    }
    out.close("]");
    out.open("imports: [");
    for account in &roster.connectors {
        let from = connector_account(&account.name);
        import(out, "service", &from, &work_all(&account.name), "");
        import(out, "service", &from, &control_all(&account.name), "");
    }
    out.close("]");
    out.close("}");
}

fn tenant(out: &mut Writer, account: &TenantAccount, peer: &Peer) {
    out.open(&format!("{} {{", quote(&tenant_account(&account.tenant))));
    out.open("users: [");
    for (name, key) in &account.users {
        user(out, name, key, Some(&tenant_permissions(&account.tenant, peer)));
    }
    out.close("]");
    out.open("imports: [");
    let shared = format!(", to: {}, share: true", quote(&peer.subjects()));
    import(out, "service", FLEET_ACCOUNT, &requests_of(&account.tenant), &shared);
    import(out, "stream", FLEET_ACCOUNT, &streams_of(&account.tenant), &format!(", to: {}", quote(&peer.streams())));
    out.close("]");
    out.close("}");
}

fn connector(out: &mut Writer, account: &ConnectorAccount) {
    out.open(&format!("{} {{", quote(&connector_account(&account.name))));
    out.open("users: [");
    user(out, account.name.as_str(), &account.key, Some(&connector_permissions(&account.name)));
    out.close("]");
    out.open("exports: [");
    export(out, "service", &work_all(&account.name), FLEET_ACCOUNT);
    export(out, "service", &control_all(&account.name), FLEET_ACCOUNT);
    out.close("]");
    out.open("imports: [");
    import(out, "service", FLEET_ACCOUNT, &reports_of(&account.name), "");
    out.close("]");
    out.close("}");
}

fn requests_of(tenant: &Tenant) -> String {
    format!("aipn.{tenant}.*")
}

fn streams_of(tenant: &Tenant) -> String {
    format!("aips.{tenant}.*")
}

fn reports_of(connector: &ConnectorName) -> String {
    format!("aipr.{connector}.*")
}

fn export(out: &mut Writer, kind: &str, subject: &str, to: &str) {
    let threshold =
        if kind == "service" { format!(", response_threshold: {}", seconds(ANSWER_WITHIN)) } else { String::new() };
    out.line(&format!("{{ {kind}: {}, accounts: [{}]{threshold} }}", quote(subject), quote(to)));
}

fn import(out: &mut Writer, kind: &str, from: &str, subject: &str, rest: &str) {
    out.line(&format!("{{ {kind}: {{ account: {}, subject: {} }}{rest} }}", quote(from), quote(subject)));
}

fn user(out: &mut Writer, name: &str, key: &UserKey, permissions: Option<&Permissions>) {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    out.line(&format!("# {name}"));
    let Some(permissions) = permissions else {
        out.line(&format!("{{ nkey: {} }}", quote(key.as_str())));
        return;
    };
    out.open(&format!("{{ nkey: {}, permissions: {{", quote(key.as_str())));
    out.open("publish: {");
    out.list("allow", &permissions.publish);
    if !permissions.publish_not.is_empty() {
        out.list("deny", &permissions.publish_not);
    }
    out.close("}");
    out.open("subscribe: {");
    out.list("allow", &permissions.subscribe);
    out.close("}");
    if let Some(within) = permissions.answer_within {
        out.line(&format!("allow_responses: {{ max: 1, expires: {} }}", seconds(within)));
    }
    out.close("} }");
}

/// The server takes port -1 for a free one, and 0 for its default.
fn address(address: SocketAddr) -> String {
    let text = address.to_string();
    text.strip_suffix(":0").map_or_else(|| text.clone(), |host| format!("{host}:-1"))
}

fn seconds(duration: Duration) -> String {
    quote(&format!("{}s", duration.as_secs().max(1)))
}

fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Lines with two spaces a level.
#[derive(Default)]
struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(&"  ".repeat(self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn open(&mut self, line: &str) {
        self.line(line);
        self.depth = self.depth.saturating_add(1);
    }

    fn close(&mut self, line: &str) {
        self.depth = self.depth.saturating_sub(1);
        self.line(line);
    }

    fn list(&mut self, name: &str, items: &[String]) {
        self.open(&format!("{name}: ["));
        for item in items {
            self.line(&quote(item));
        }
        self.close("]");
    }
}
