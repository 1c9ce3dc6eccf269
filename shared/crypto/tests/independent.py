#!/usr/bin/env python3
"""Recomputes schemas/vectors without our code.

independent.py check DIR [PACKAGES]   exit 1 and one line for each value that differs
independent.py write DIR              rewrites the computed members from the inputs (after adding a vector)

JSON, SHA-256, HKDF and base58 are the standard library and this file; Ed25519, X25519 and AES-256-GCM are those of the
package `cryptography` (taken from PACKAGES, installed there by pip where it is absent), else of the program `openssl`
(AIP_VECTORS_BY=openssl asks for it). Without both the check fails: nothing passes unchecked.
"""
import base64, hashlib, hmac, json, os, pathlib, re, shutil, subprocess, sys, tempfile

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
DEPTH_MAX = 64
P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P


class Number(str):
    """A number, by the text that came."""


class Refused(Exception):
    pass


# JSON and its canonical text

def unique(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Refused("duplicate")
    return members


def no_constant(name):
    raise Refused(name)


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def parse(text):
    try:
        value = json.loads(text, parse_int=Number, parse_float=Number, parse_constant=no_constant, object_pairs_hook=unique)
        canonical(value).encode()  # a lone surrogate has no UTF-8
    except (ValueError, RecursionError) as fault:
        raise Refused(str(fault))
    if depth(value) > DEPTH_MAX:
        raise Refused("too deep")
    return value


def string(text):
    return '"' + "".join(SHORT.get(ord(c)) or (f"\\u{ord(c):04x}" if ord(c) < 32 else c) for c in text) + '"'


def canonical(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return string(value)
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode())
        return "{" + ",".join(string(name) + ":" + canonical(value[name]) for name in names) + "}"
    return {None: "null", True: "true", False: "false"}[value]


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


# Keys and DIDs

def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def unbase58(text):
    number = 0
    for letter in text:
        if letter not in ALPHABET:
            raise Refused("base58")
        number = number * 58 + ALPHABET.index(letter)
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return b"\0" * (len(text) - len(text.lstrip("1"))) + data


def point(key):
    """The point of an encoding, by the curve equation; refuses what is off the curve or not the only encoding."""
    y = int.from_bytes(key, "little") & (2**255 - 1)
    if y >= P:
        raise Refused("encoding")
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and key[31] >> 7):
        raise Refused("off the curve")
    return (P - x if x & 1 != key[31] >> 7 else x), y


def double(at):
    x, y = at
    k = D * x * x * y * y % P
    return 2 * x * y * pow(1 + k, -1, P) % P, (y * y + x * x) * pow(1 - k, -1, P) % P


def did_key(text):
    found = re.fullmatch("did:key:z([1-9A-Za-z]*)", text)
    if not found or len(found[1]) > 64:
        raise Refused("form")
    data = unbase58(found[1])
    if data[:2] != b"\xed\x01" or len(data) != 34:
        raise Refused("no Ed25519 key")
    if double(double(double(point(data[2:])))) == (0, 1):
        raise Refused("small order")
    return data[2:]


def did_of(key):
    return "did:key:z" + base58(b"\xed\x01" + key)


# The two implementations of the primitives

class ByPackage:
    name = "cryptography"

    def ed25519(self, seed, message):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        key = Ed25519PrivateKey.from_private_bytes(seed)
        return key.public_key().public_bytes_raw(), key.sign(message)

    def x25519(self, secret, peer):
        from cryptography.hazmat.primitives.asymmetric import x25519
        key = x25519.X25519PrivateKey.from_private_bytes(secret)
        shared = key.exchange(x25519.X25519PublicKey.from_public_bytes(peer)) if peer else b""
        return key.public_key().public_bytes_raw(), shared

    def gcm(self, key, nonce, plaintext, aad):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        return AESGCM(key).encrypt(nonce, plaintext, aad)


class ByProgram:
    name = "openssl"
    ED, X = "302e020100300506032b657004220420", "302e020100300506032b656e04220420"
    X_PUBLIC = "302a300506032b656e032100"

    def run(self, *args, **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                pathlib.Path(folder, name).write_bytes(content)
            return subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=folder).stdout

    def public(self, der):
        return self.run("pkey", "-inform", "DER", "-in", "key", "-pubout", "-outform", "DER", key=der)[-32:]

    def ed25519(self, seed, message):
        key = bytes.fromhex(self.ED) + seed
        sign = ("pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", "key", "-in", "message")
        return self.public(key), self.run(*sign, key=key, message=message)

    def x25519(self, secret, peer):
        key = bytes.fromhex(self.X) + secret
        derive = ("pkeyutl", "-derive", "-keyform", "DER", "-inkey", "key", "-peerform", "DER", "-peerkey", "peer")
        return self.public(key), self.run(*derive, key=key, peer=bytes.fromhex(self.X_PUBLIC) + peer) if peer else b""

    def aes(self, mode, key, data, *more):
        return self.run("enc", "-e", f"-aes-256-{mode}", "-nopad", "-K", key.hex(), *more, "-in", "data", data=data)

    def gcm(self, key, nonce, plaintext, aad):
        """Counter mode by openssl, whose `enc` has no AEAD; the hash of SP 800-38D by hand."""
        h = int.from_bytes(self.aes("ecb", key, bytes(16)), "big")
        text = self.aes("ctr", key, plaintext, "-iv", (nonce + b"\0\0\0\2").hex()) if plaintext else b""
        lengths = (len(aad) * 8).to_bytes(8, "big") + (len(text) * 8).to_bytes(8, "big")
        pad = lambda data: data + bytes(-len(data) % 16)
        blocks, y = pad(aad) + pad(text) + lengths, 0
        for at in range(0, len(blocks), 16):
            x, v, y = y ^ int.from_bytes(blocks[at:at + 16], "big"), h, 0
            for bit in range(127, -1, -1):
                y ^= v if x >> bit & 1 else 0
                v = v >> 1 ^ (0xE1 << 120 if v & 1 else 0)
        mask = int.from_bytes(self.aes("ecb", key, nonce + b"\0\0\0\1"), "big")
        return text + (y ^ mask).to_bytes(16, "big")


def primitives(packages):
    if os.environ.get("AIP_VECTORS_BY") != "openssl":
        for attempt in range(2):
            try:
                import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401
                return ByPackage()
            except ImportError:
                if attempt or not packages:
                    break
                pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, "cryptography>=42"]
                subprocess.run(pip, capture_output=True, timeout=120)
                sys.path.insert(0, packages)
    if shutil.which("openssl"):
        return ByProgram()
    sys.exit("neither the package cryptography nor the program openssl is here: the vectors are not checked")


# What each file says

def compute_canonical(vector, _):
    text = canonical(parse(vector["input_text"]))
    return {"canonical": text, "sha256": sha256(text)}


def compute_refused(vector, _):
    try:
        parse(bytes.fromhex(vector["input_hex"]).decode() if "input_hex" in vector else vector["input_text"])
        return {"refused": False}
    except (Refused, UnicodeDecodeError):
        return {"refused": True}


def compute_input_hash(vector, _):
    value = {"capability_id": vector["capability_id"], "input": parse(vector["input_text"])}
    value["transaction"] = parse(vector["transaction_text"]) if "transaction_text" in vector else None
    text = canonical(value)
    return {"canonical": text, "input_hash": sha256(text)}


def compute_policy_hash(vector, _):
    value = {name: vector[name] for name in ("action_id", "capability_id", "requester_id", "subject_id", "input_hash")}
    value["policy"] = parse(vector["policy_text"])
    text = canonical(value)
    return {"canonical": text, "policy_hash": sha256(text)}


def compute_receipts(vector, _):
    hashes, receipts = [], []
    for text in vector["receipt_texts"]:
        receipt = parse(text)
        if hashes:
            receipt["previous_hash"] = hashes[-1]
        hashes.append(sha256(canonical(receipt)))
        receipts.append(canonical({**receipt, "hash": hashes[-1]}))
    return {"sealed": receipts, "hashes": hashes, "root_hash": sha256("".join(hashes))}


def compute_signature(vector, by):
    envelope, seed = parse(vector["envelope_text"]), bytes.fromhex(vector["seed_hex"])
    security = envelope.setdefault("security", {})
    security.pop("signature", None)
    security["did"] = did_of(by.ed25519(seed, b"only the key is wanted")[0])
    text = canonical(envelope)
    security["signature"] = base64.b64encode(by.ed25519(seed, text.encode())[1]).decode()
    return {"did": security["did"], "signing_text": text, "signature": security["signature"], "signed": canonical(envelope)}


def compute_did(vector, _):
    key = bytes.fromhex(vector["key_hex"])
    assert did_key(did_of(key)) == key
    return {"did": did_of(key)}


def compute_did_refused(vector, _):
    try:
        did_key(vector["did"])
        return {"refused": False}
    except (Refused, OverflowError):
        return {"refused": True}


def compute_session(vector, by):
    initiator, responder = (bytes.fromhex(vector[f"{side}_secret_hex"]) for side in ("initiator", "responder"))
    publics = {"initiator": by.x25519(initiator, None)[0], "responder": by.x25519(responder, None)[0]}
    shared = by.x25519(initiator, publics["responder"])[1]
    assert shared == by.x25519(responder, publics["initiator"])[1]
    prk = hmac.digest(vector["session_id"].encode(), shared, "sha256")
    key = hmac.digest(prk, b"aip-session-v1\x01", "sha256")
    messages = []
    for message in vector["messages"]:
        aad = canonical({
            "profile": "aip-session-v1", "session_id": vector["session_id"], "epoch": Number(vector["epoch"]),
            "direction": message["direction"], "sequence": Number(message["sequence"]),
            "message_type": message["message_type"],
            "initiator_key": publics["initiator"].hex(), "responder_key": publics["responder"].hex()})
        nonce = bytes([{"initiator": 1, "responder": 2}[message["direction"]]]) + message["sequence"].to_bytes(11, "big")
        sealed = by.gcm(key, nonce, message["plaintext"].encode(), aad.encode())
        ciphertext = base64.b64encode(sealed).decode()
        messages.append({**message, "associated_data": aad, "nonce_hex": nonce.hex(), "ciphertext": ciphertext})
    return {"initiator_key_hex": publics["initiator"].hex(), "responder_key_hex": publics["responder"].hex(),
            "shared_hex": shared.hex(), "key_hex": key.hex(), "messages": messages}


FILES = {
    "canonical.json": {"vectors": compute_canonical, "refused": compute_refused},
    "did.json": {"vectors": compute_did, "refused": compute_did_refused},
    "input-hash.json": {"vectors": compute_input_hash},
    "policy-hash.json": {"vectors": compute_policy_hash},
    "receipts.json": {"vectors": compute_receipts},
    "session.json": {"vectors": compute_session},
    "signature.json": {"vectors": compute_signature},
}


def main(mode, folder, packages=None):
    by, bad, good = primitives(packages), 0, 0
    for name, lists in FILES.items():
        path = pathlib.Path(folder, name)
        document = json.loads(path.read_text())
        for vector, compute in ((vector, compute) for key, compute in lists.items() for vector in document[key]):
            for member, value in compute(vector, by).items():
                if mode == "write":
                    vector[member] = value
                elif vector.get(member) == value:
                    good += 1
                else:
                    bad += 1
                    print(f"{name}: {vector['name']}: {member}: {vector.get(member)!r} in the file, {value!r} computed")
        if mode == "write":
            path.write_text(json.dumps(document, indent=2) + "\n")
    print(f"{good} values checked by {by.name}")
    return bad > 0 or (mode == "check" and good == 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
