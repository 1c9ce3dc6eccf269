//! Session encryption: what is sealed opens once, in order, at the other end, and nowhere else (AIP 1.0 §22.11).
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;

use aip_crypto::session::{
    Channel, Ephemeral, LIFETIME_MS_MAX, Lifetime, MESSAGES_MAX, PLAINTEXT_BYTES_MAX, Sealed, SessionFault, Side, Terms,
};
use aip_types::Millis;
use proptest::prelude::*;
use serde_json::{Value, json};

const NOW: Millis = Millis(1_000_000);
const TYPE: &str = "aip.core.v1.action";

fn lifetime() -> Lifetime {
    Lifetime::new(8, 60_000).unwrap()
}

fn secret(byte: u8) -> Ephemeral {
    Ephemeral::new(&[byte; 32])
}

fn end(own: u8, peer: u8, side: Side, session_id: &str) -> Channel {
    let terms = Terms { session_id, side, lifetime: lifetime() };
    Channel::establish(secret(own), &secret(peer).public(), terms, NOW).unwrap_or_else(|fault| panic!("{fault}"))
}

fn pair() -> (Channel, Channel) {
    (end(1, 2, Side::Initiator, "sess_1"), end(2, 1, Side::Responder, "sess_1"))
}

fn seal(channel: &mut Channel, text: &str) -> Sealed {
    channel.seal(TYPE, text.as_bytes(), NOW).unwrap()
}

#[test]
fn both_directions_work_and_their_texts_differ() {
    let (mut a, mut b) = pair();
    let (to_b, to_a) = (seal(&mut a, "hello"), seal(&mut b, "hello"));
    assert_ne!(to_b.ciphertext, to_a.ciphertext);
    assert_eq!((b.open(&to_b, NOW).unwrap(), a.open(&to_a, NOW).unwrap()), (b"hello".to_vec(), b"hello".to_vec()));
}

#[test]
fn an_unusable_key_of_the_peer_is_refused() {
    let agree = |own: u8, peer: &[u8; 32], session_id: &str| {
        let terms = Terms { session_id, side: Side::Initiator, lifetime: lifetime() };
        Channel::establish(secret(own), peer, terms, NOW).err()
    };
    let mut order_two = [0xff; 32];
    (order_two[0], order_two[31]) = (0xec, 0x7f);
    let mut p = [0xff; 32];
    (p[0], p[31]) = (0xed, 0x7f);
    let order_eight = "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800";
    let order_eight = <[u8; 32]>::try_from(hex::decode(order_eight).unwrap()).unwrap();
    let one = std::array::from_fn(|at| u8::from(at == 0));
    for weak in [[0; 32], one, order_two, p, order_eight] {
        assert_eq!(agree(1, &weak, "sess_1"), Some(SessionFault::WeakKey));
    }
    assert_eq!(agree(1, &secret(1).public(), "sess_1"), Some(SessionFault::KeyReused));
    assert_eq!(agree(1, &secret(2).public(), ""), Some(SessionFault::SessionId));
    assert_eq!(agree(1, &secret(2).public(), "sess_1"), None);
}

#[test]
fn a_repeated_or_reordered_message_is_refused_and_changes_nothing() {
    let (mut a, mut b) = pair();
    let sent: Vec<Sealed> = (0..4).map(|n| seal(&mut a, &n.to_string())).collect();
    assert_eq!(b.open(&sent[1], NOW), Err(SessionFault::OutOfOrder));
    assert!(b.open(&sent[0], NOW).is_ok());
    assert_eq!(b.open(&sent[0], NOW), Err(SessionFault::Replayed));
    assert_eq!(b.open(&sent[3], NOW), Err(SessionFault::OutOfOrder));
    assert!(b.open(&sent[1], NOW).is_ok() && b.open(&sent[2], NOW).is_ok() && b.open(&sent[3], NOW).is_ok());
    assert_eq!(b.open(&sent[2], NOW), Err(SessionFault::Replayed));
}

#[test]
fn a_message_opens_at_its_own_place_only() {
    let (mut a, mut b) = pair();
    let sealed = seal(&mut a, "hello");
    let changes: [fn(&mut Sealed); 6] = [
        |s| s.message_type = "aip.core.v1.cancel".to_owned(),
        |s| s.session_id = "sess_2".to_owned(),
        |s| s.ciphertext[0] ^= 1,
        |s| *s.ciphertext.last_mut().unwrap() ^= 0x80,
        |s| s.ciphertext.truncate(3),
        |s| s.ciphertext.clear(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut changed = sealed.clone();
        change(&mut changed);
        assert_eq!(b.open(&changed, NOW), Err(SessionFault::Forged), "change {number}");
    }
    assert_eq!(a.open(&sealed, NOW), Err(SessionFault::Forged), "a message sent back to its sender");
    let mut other_session = end(2, 1, Side::Responder, "sess_2");
    assert_eq!(
        other_session.open(&Sealed { session_id: "sess_2".to_owned(), ..sealed.clone() }, NOW),
        Err(SessionFault::Forged)
    );
    assert_eq!(b.open(&Sealed { epoch: 2, ..sealed.clone() }, NOW), Err(SessionFault::Epoch));
    assert_eq!(b.open(&Sealed { sequence: 0, ..sealed.clone() }, NOW), Err(SessionFault::Replayed));
    assert_eq!(b.open(&sealed, NOW).unwrap(), b"hello");
}

#[test]
fn a_key_protects_so_many_messages_and_not_one_more() {
    let (mut a, mut b) = pair();
    for number in 0..8 {
        let sealed = seal(&mut a, &number.to_string());
        assert!(b.open(&sealed, NOW).is_ok());
    }
    assert_eq!(a.seal(TYPE, b"9", NOW), Err(SessionFault::MessagesExhausted));
    assert!(b.seal(TYPE, b"the other direction has its own", NOW).is_ok());
}

#[test]
fn a_receiver_enforces_its_own_bound() {
    let mut a = {
        let terms =
            Terms { session_id: "sess_1", side: Side::Initiator, lifetime: Lifetime::new(100, 1_000_000).unwrap() };
        Channel::establish(secret(1), &secret(2).public(), terms, NOW).unwrap_or_else(|fault| panic!("{fault}"))
    };
    let mut b = end(2, 1, Side::Responder, "sess_1");
    for _ in 0..8 {
        let sealed = seal(&mut a, "x");
        assert!(b.open(&sealed, NOW).is_ok());
    }
    let ninth = seal(&mut a, "x");
    assert_eq!(b.open(&ninth, NOW), Err(SessionFault::MessagesExhausted));
    assert_eq!(b.open(&ninth, NOW.plus(60_000)), Err(SessionFault::Expired));
}

#[test]
fn a_key_lives_so_long_and_no_millisecond_more() {
    let (mut a, mut b) = pair();
    let last = NOW.plus(59_999);
    let sealed = a.seal(TYPE, b"in time", last).unwrap();
    assert!(b.open(&sealed, last).is_ok());
    let sealed = a.seal(TYPE, b"in time", last).unwrap();
    assert_eq!(b.open(&sealed, NOW.plus(60_000)), Err(SessionFault::Expired));
    assert_eq!(a.seal(TYPE, b"late", NOW.plus(60_000)), Err(SessionFault::Expired));
}

#[test]
fn a_lifetime_is_bounded() {
    for (messages, ms) in [(0, 1), (1, 0), (MESSAGES_MAX + 1, 1), (1, LIFETIME_MS_MAX + 1)] {
        assert_eq!(Lifetime::new(messages, ms), None);
    }
    assert!(Lifetime::new(MESSAGES_MAX, LIFETIME_MS_MAX).is_some());
}

#[test]
fn a_new_epoch_has_a_new_key_and_starts_anew() {
    let (mut a, mut b) = pair();
    let old = seal(&mut a, "old");
    let in_flight = seal(&mut a, "in flight");
    assert!(b.open(&old, NOW).is_ok());
    let later = NOW.plus(50_000);
    a.rekey(secret(3), &secret(4).public(), later).unwrap();
    b.rekey(secret(4), &secret(3).public(), later).unwrap();
    assert_eq!((a.epoch(), b.epoch()), (2, 2));
    assert_eq!(b.open(&in_flight, later), Err(SessionFault::Epoch));
    assert_eq!(b.open(&Sealed { epoch: 2, sequence: 1, ..old.clone() }, later), Err(SessionFault::Forged));
    let new = a.seal(TYPE, b"old", NOW.plus(100_000)).unwrap();
    assert_eq!((new.epoch, new.sequence), (2, 1));
    assert_ne!(new.ciphertext, old.ciphertext);
    assert_eq!(b.open(&new, NOW.plus(100_000)).unwrap(), b"old");
}

#[test]
fn a_key_of_the_epoch_before_is_no_new_key() {
    let (mut a, mut b) = pair();
    for (own, peer) in [(1, 4), (3, 2), (2, 4), (3, 1), (3, 3)] {
        assert_eq!(a.rekey(secret(own), &secret(peer).public(), NOW), Err(SessionFault::KeyReused), "{own} {peer}");
    }
    assert_eq!(a.rekey(secret(3), &[0; 32], NOW), Err(SessionFault::WeakKey));
    let sealed = seal(&mut a, "the old key goes on");
    assert!(b.open(&sealed, NOW).is_ok());
}

#[test]
fn a_message_is_at_most_an_envelope() {
    let (mut a, mut b) = pair();
    let largest = vec![7; PLAINTEXT_BYTES_MAX];
    let sealed = a.seal(TYPE, &largest, NOW).unwrap();
    assert_eq!(Sealed::from_value(&sealed.to_value()).unwrap(), sealed);
    assert!(b.open(&sealed, NOW).unwrap() == largest);
    assert_eq!(a.seal(TYPE, &vec![7; PLAINTEXT_BYTES_MAX + 1], NOW), Err(SessionFault::TooLarge));
    let huge = Sealed { ciphertext: vec![7; PLAINTEXT_BYTES_MAX + 17], sequence: 2, ..sealed };
    assert_eq!(b.open(&huge, NOW), Err(SessionFault::TooLarge));
}

#[test]
fn a_frame_reads_back_and_no_other_document_is_a_frame() {
    let sealed = seal(&mut pair().0, "hello");
    let frame = sealed.to_value();
    assert_eq!(Sealed::from_value(&frame).unwrap(), sealed);
    let changes = [
        ("profile", json!("aip-session-v2")),
        ("session_id", json!(7)),
        ("epoch", json!(4_294_967_296_u64)),
        ("epoch", json!(-1)),
        ("sequence", json!("1")),
        ("sequence", json!(1.0)),
        ("message_type", Value::Null),
        ("ciphertext", json!("_-_-")),
        ("ciphertext", json!("AA=")),
        ("another", json!(true)),
    ];
    for (member, value) in changes {
        let mut changed = frame.clone();
        changed[member] = value;
        assert_eq!(Sealed::from_value(&changed).unwrap_err().member, member);
    }
    for member in frame.as_object().unwrap().keys() {
        let mut changed = frame.clone();
        changed.as_object_mut().unwrap().remove(member);
        assert_eq!(Sealed::from_value(&changed).unwrap_err().member, member);
    }
    assert!(Sealed::from_value(&json!([])).is_err());
}

fn sent_text(number: usize) -> String {
    format!("message {number}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))] // unoptimised curve arithmetic is slow

    /// Whatever the order of delivery, what is opened is what was sent, in its order, each once.
    #[test]
    fn what_is_opened_is_a_prefix_of_what_was_sent(order in prop::collection::vec(0_usize..6, 0..24)) {
        let (mut a, mut b) = pair();
        let sent: Vec<Sealed> = (0..6).map(|n| seal(&mut a, &sent_text(n))).collect();
        let mut opened = Vec::new();
        for at in order {
            opened.extend(b.open(&sent[at], NOW).ok());
        }
        for (n, text) in opened.iter().enumerate() {
            prop_assert!(text == sent_text(n).as_bytes());
        }
    }

    /// No text of one key is ever sealed with a nonce that was used: equal texts give different ciphertexts.
    #[test]
    fn no_nonce_comes_twice(sides in prop::collection::vec(any::<bool>(), 1..16)) {
        let (mut a, mut b) = pair();
        let mut seen = BTreeSet::new();
        for initiator in sides {
            if let Ok(sealed) = (if initiator { &mut a } else { &mut b }).seal(TYPE, &[0; 32], NOW) {
                prop_assert!(seen.insert(sealed.ciphertext[..32].to_vec()));
            }
        }
    }
}
