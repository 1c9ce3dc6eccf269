//! The NATS users of a fleet: one nkey seed a user in a file of its own.

use std::collections::BTreeMap;

use aip_bus::{
    accounts::{ConnectorAccount, Roster, ServiceUser, TenantAccount, UserKey},
    subjects::{ConnectorName, Tenant},
};
use aip_service::Settings;
use anyhow::{Context as _, anyhow};
use nkeys::KeyPair;

use crate::{
    failure::Failure,
    home::{self, Home},
};

/// Makes the seeds that are missing, and returns the public side of all users.
pub(super) fn ensure(home: &Home, settings: &Settings) -> Result<Roster, Failure> {
    let mut services = BTreeMap::new();
    for user in ServiceUser::ALL {
        services.insert(user, nkey(home, user.as_str())?);
    }
    let tenants =
        settings.tenants.iter().map(|tenant| tenant_account(settings, &tenant.id)).collect::<anyhow::Result<_>>();
    let mut connectors = Vec::new();
    for connector in &settings.connectors {
        let name = ConnectorName::new(&connector.name).context("a connector's name").map_err(Failure::Settings)?;
        let key = nkey(home, &format!("connector-{name}"))?;
        connectors.push(ConnectorAccount { name, key });
    }
    Ok(Roster {
        peer: settings.peer().map_err(Failure::settings)?,
        services,
        tenants: tenants.map_err(Failure::Settings)?,
        connectors,
        bench: Some(nkey(home, "bench")?),
        sys: nkey(home, "operator")?,
    })
}

/// The public key of a user; its seed is made where there is none.
pub(super) fn nkey(home: &Home, name: &str) -> Result<UserKey, Failure> {
    let path = home.nkey(name);
    let at = || format!("the key {}", path.display());
    let pair = match home::read(&path)? {
        Some(seed) => KeyPair::from_seed(seed.trim())
            .map_err(|_| Failure::Settings(anyhow!("{} holds no nkey seed", path.display())))?,
        None => {
            let pair = KeyPair::new_user();
            let seed = pair.seed().map_err(|fault| Failure::Settings(anyhow!(fault).context(at())))?;
            home::write_private(&path, &seed)?; // no newline: some clients take the whole file as the seed
            pair
        }
    };
    UserKey::new(&pair.public_key()).with_context(at).map_err(Failure::Settings)
}

fn tenant_account(settings: &Settings, id: &str) -> anyhow::Result<TenantAccount> {
    let tenant = Tenant::new(id).context("a tenant's id")?;
    let mut users = Vec::new();
    for principal in settings.principals.iter().filter(|principal| principal.tenant == id) {
        for key in &principal.nkeys {
            let key = UserKey::new(key).with_context(|| format!("an nkey of {}", principal.id))?;
            users.push((principal.id.clone(), key));
        }
    }
    Ok(TenantAccount { tenant, users })
}
