//! What `aip up` says about calling the fleet.

use crate::home::Home;

/// Lines that work as they stand in a shell.
pub(super) fn lines(home: &Home) -> Vec<String> {
    let text = format!(
        r#"
Call it from another shell:

  . {env}

  # with this program
  aip manifest
  aip call cap:demo:echo --input '{{"text": "hello"}}'

  # with curl
  NOW=$(date -u +%FT%TZ) ID=$(cat /proc/sys/kernel/random/uuid)
  ENVELOPE='{{"aip_version":"1.0","message_type":"aip.core.v1.action","message_id":"msg_'$ID'","sent_at":"'$NOW'",
    "body":{{"action":{{"id":"act_'$ID'","capability_id":"cap:demo:echo","input":{{"text":"hello"}}}}}}}}'
  curl -sS "$AIP_URL/aip/v1/actions" -H "Authorization: Bearer $AIP_TOKEN" -H 'Content-Type: application/aip+json' -d "$ENVELOPE"

  # with any NATS client, here the nats CLI
  nats --server "$NATS_URL" --nkey "$AIP_NATS_CREDS" request "$AIP_NATS_SUBJECT.aip_core_v1_action" "$ENVELOPE"
"#,
        env = home.env().display()
    );
    text.lines().map(ToOwned::to_owned).collect()
}
