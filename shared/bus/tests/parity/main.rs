//! One list of expectations over both buses: the real server and the simulation. What is not listed here, the simulation may
//! not be relied on for.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod lanes;
mod live;
mod records;
mod timers;
mod watches;
mod world;

/// Runs each expectation once over each bus.
macro_rules! parity {
    ($($module:ident: $($name:ident),+;)+) => {
        mod real {
            $($(#[tokio::test]
            async fn $name() {
                super::$module::$name(&super::world::World::real().await).await;
            })+)+
        }
        mod sim {
            $($(#[tokio::test]
            async fn $name() {
                super::$module::$name(&super::world::World::sim()).await;
            })+)+
        }
    };
}

parity! {
    records:
        of_fifty_creates_of_one_record_one_is_stored,
        a_save_over_a_stale_sequence_is_a_conflict,
        a_guard_may_stand_on_a_wildcard_filter,
        a_guard_on_no_message_holds_until_one_is_stored,
        both_sources_read_the_last_message,
        a_message_is_read_by_its_sequence,
        pages_are_in_order_and_end_empty,
        a_page_of_large_messages_loses_none,
        a_repeated_message_id_is_stored_once,
        a_subject_that_no_stream_captures_is_unavailable,
        an_expiry_where_none_is_allowed_is_refused,
        a_bucket_keeps_the_newest_value_only,
        an_expired_key_may_be_created_again,
        a_renewed_key_outlives_its_first_expiry,
        the_topology_is_verified;
    timers:
        a_schedule_fires_once_at_its_target,
        a_schedule_of_the_past_fires_at_once,
        a_replaced_schedule_fires_at_its_new_time_only,
        a_cancelled_schedule_does_not_fire,
        a_schedule_where_none_is_allowed_is_refused;
    lanes:
        a_lane_brings_what_its_filters_name,
        a_message_not_answered_comes_again,
        a_nak_brings_the_message_after_its_delay,
        progress_puts_the_redelivery_off,
        an_acknowledged_message_does_not_come_again,
        a_terminated_message_does_not_come_again,
        two_pullers_share_a_lane,
        a_lane_stops_at_its_bound_of_unanswered_messages,
        an_acknowledged_trigger_leaves_its_stream,
        a_lane_that_does_not_exist_is_refused;
    watches:
        a_watch_replays_then_follows,
        a_watch_of_nothing_is_caught_at_once,
        an_expired_liveness_key_is_told_by_a_marker;
    live:
        what_is_stored_is_republished_afterwards,
        a_refused_save_is_not_republished,
        a_request_is_answered,
        a_request_that_nobody_answers_ends_in_time,
        a_request_without_listeners_says_so,
        a_queue_group_takes_each_message_once,
        every_plain_subscriber_gets_every_message,
        headers_arrive_as_sent,
        an_ended_subscription_no_longer_answers;
}
