#!/usr/bin/env python3
"""Recomputes schemas/vectors without our code: python's standard library, and openssl for Ed25519.

independent.py check DIR   exit 1 and one line for each value that differs
independent.py write DIR   rewrites the computed members from the inputs (after adding a vector)
"""
import base64, hashlib, json, pathlib, re, shutil, subprocess, sys, tempfile

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
SHORT = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}


class Number(str):
    """A number by its text; only the exponent is normalised."""


def parse(text):
    def number(raw):
        mantissa, mark, exponent = re.match(r"([^eE]*)([eE]?)(.*)", raw).groups()
        if mark and exponent[0] not in "+-":
            exponent = "+" + exponent
        return Number(mantissa + mark.lower() + exponent)

    return json.loads(text, parse_int=number, parse_float=number)


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


def base58(data):
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = ALPHABET[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def openssl(*args):
    return subprocess.run(["openssl", *args], check=True, capture_output=True).stdout


def ed25519(seed_hex, text):
    """(public key, signature) by openssl. An empty text is refused by its pkeyutl."""
    with tempfile.TemporaryDirectory() as folder:
        key, message = pathlib.Path(folder, "key.der"), pathlib.Path(folder, "message")
        key.write_bytes(bytes.fromhex("302e020100300506032b657004220420" + seed_hex))
        message.write_bytes(text.encode())
        public = openssl("pkey", "-inform", "DER", "-in", str(key), "-pubout", "-outform", "DER")[-32:]
        return public, openssl("pkeyutl", "-sign", "-rawin", "-keyform", "DER", "-inkey", str(key), "-in", str(message))


def without_signature(text):
    value = parse(text)
    value.get("security", {}).pop("signature", None)
    return value


def compute_canonical(vector):
    text = canonical(parse(vector["input_text"]))
    return {"canonical": text, "sha256": sha256(text)}


def compute_input_hash(vector):
    value = parse(json.dumps({"capability_id": vector["capability_id"]}))
    value["input"] = parse(vector["input_text"])
    value["transaction"] = parse(vector["transaction_text"]) if "transaction_text" in vector else None
    text = canonical(value)
    return {"canonical": text, "input_hash": sha256(text)}


def compute_receipts(vector):
    hashes, receipts = [], []
    for text in vector["receipt_texts"]:
        receipt = parse(text)
        if hashes:
            receipt["previous_hash"] = hashes[-1]
        hashes.append(sha256(canonical(receipt)))
        receipts.append(canonical({**receipt, "hash": hashes[-1]}))
    return {"sealed": receipts, "hashes": hashes, "root_hash": sha256("".join(hashes))}


def compute_signature(vector):
    if not shutil.which("openssl"):
        print("skipped: no openssl, signatures are not checked independently")
        return {}
    envelope = without_signature(vector["envelope_text"])
    public, _ = ed25519(vector["seed_hex"], "only the key is wanted")
    envelope.setdefault("security", {})["did"] = "did:key:z" + base58(b"\xed\x01" + public)
    text = canonical(envelope)
    signature = base64.b64encode(ed25519(vector["seed_hex"], text)[1]).decode()
    envelope["security"]["signature"] = signature
    return {"did": envelope["security"]["did"], "signing_text": text, "signature": signature, "signed": canonical(envelope)}


FILES = {"canonical.json": compute_canonical, "input-hash.json": compute_input_hash,
         "receipts.json": compute_receipts, "signature.json": compute_signature}


def main(mode, folder):
    bad = 0
    for name, compute in FILES.items():
        path = pathlib.Path(folder, name)
        document = json.loads(path.read_text())
        for vector in document["vectors"]:
            for member, value in compute(vector).items():
                if mode == "write":
                    vector[member] = value
                elif vector.get(member) != value:
                    bad += 1
                    print(f"{name}: {vector['name']}: {member}: {vector.get(member)!r} in the file, {value!r} computed")
        if mode == "write":
            path.write_text(json.dumps(document, indent=2) + "\n")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
