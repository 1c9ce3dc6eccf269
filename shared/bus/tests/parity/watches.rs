use std::time::Duration;

use aip_bus::{Append, Watched};

use crate::world::{World, next, next_change, nothing, text};

const REGISTRY: &str = "$KV.AIP_REGISTRY.>";

pub(crate) async fn a_watch_replays_then_follows(world: &World) {
    for (key, value) in [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1")] {
        world.put(&format!("$KV.AIP_REGISTRY.{key}"), value).await;
    }
    let mut watch = world.port.watch("KV_AIP_REGISTRY", REGISTRY).await.unwrap();
    for expected in [("$KV.AIP_REGISTRY.b", "1"), ("$KV.AIP_REGISTRY.a", "2"), ("$KV.AIP_REGISTRY.c", "1")] {
        let stored = next_change(&mut watch).await;
        assert_eq!((stored.subject.as_str(), text(&stored.payload)), expected);
    }
    assert_eq!(next(&mut watch).await, Watched::Caught);
    nothing(&mut watch).await;
    let last = world.put("$KV.AIP_REGISTRY.b", "2").await;
    let stored = next_change(&mut watch).await;
    assert_eq!((stored.sequence, text(&stored.payload)), (last, "2"));
    nothing(&mut watch).await;
}

pub(crate) async fn a_watch_of_nothing_is_caught_at_once(world: &World) {
    world.put("$KV.AIP_REGISTRY.a", "1").await;
    let mut watch = world.port.watch("KV_AIP_REGISTRY", "$KV.AIP_REGISTRY.nobody").await.unwrap();
    assert_eq!(next(&mut watch).await, Watched::Caught);
    world.put("$KV.AIP_REGISTRY.nobody", "1").await;
    assert_eq!(text(&next_change(&mut watch).await.payload), "1");
}

pub(crate) async fn an_expired_liveness_key_is_told_by_a_marker(world: &World) {
    let key = "$KV.AIP_LIVENESS.demo.i1";
    let mut watch = world.port.watch("KV_AIP_LIVENESS", "$KV.AIP_LIVENESS.>").await.unwrap();
    assert_eq!(next(&mut watch).await, Watched::Caught);
    let alive = world.port.append(Append::new(key, "alive").expiring(Duration::from_secs(1))).await.unwrap();
    let stored = next_change(&mut watch).await;
    assert_eq!((stored.sequence, stored.marker), (alive, false));
    let gone = next_change(&mut watch).await;
    assert_eq!((gone.subject.as_str(), gone.marker, gone.payload.len()), (key, true, 0));
    assert!(gone.sequence > alive && gone.at >= stored.at);
    assert_eq!(world.last("KV_AIP_LIVENESS", key).await.unwrap(), gone);
    // It lives again.
    world.port.append(Append::new(key, "alive").expiring(Duration::from_secs(60))).await.unwrap();
    let again = next_change(&mut watch).await;
    assert!(!again.marker);
    nothing(&mut watch).await;
}
