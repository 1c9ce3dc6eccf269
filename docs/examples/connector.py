"""A connector in Python: pip install 'nats-py[nkeys]'. Usage: connector.py NAME NKEY_FILE [NATS_URL]"""
import asyncio, json, sys, uuid

import nats

NAME, NKEY_FILE = sys.argv[1:3]
URL = sys.argv[3] if len(sys.argv) > 3 else "nats://127.0.0.1:4222"
INSTANCE = uuid.uuid4().hex
HELLO = f"cap:{NAME}:hello"
SEND = f"cap:{NAME}:send"


def hello(offer):  # a read: nothing changes outside, so a repeat is harmless
    return {"text": f"hello {offer['input']['who']}, from {offer['principal']['id']}"}


def send(offer):  # a write: hand the idempotency key to the provider, who then does it once
    return {"sent": offer["input"]["who"], "key": offer["idempotency_key"]}


HANDLERS = {HELLO: hello, SEND: send}


def capability(id, effect, safety, key):
    who = {"type": "object", "properties": {"who": {"type": "string", "maxLength": 100}}, "required": ["who"]}
    return {"id": id, "name": id.split(":")[-1], "kind": "tool", "input_schema": who, "contract": {
        "side_effects": [effect],
        "idempotency": {"requirement": key, "collision_behavior": "revalidate_input_hash", "key_scope": "principal"},
        "execution": {"supports_sync": True, "supports_async": True, "supports_streaming": False, "supports_cancel": False,
                      "supports_retry": True, "expected_completion": "sync", "retry_safety": safety},
        "data": {"sensitivity": "internal", "contains_pii": False, "redaction_required": False}}}


def outcome(offer):
    try:
        return {"completed": {"output": HANDLERS[offer["capability_id"]](offer)}}
    except Exception as fault:  # say uncertain when you do not know whether the provider did it
        error = {"code": f"{NAME}.failed", "message": type(fault).__name__, "category": "connector"}
        return {"failed": {"error": error, "uncertain": offer.get("fence") is not None}}


async def main():
    nc = await nats.connect(URL, nkeys_seed=NKEY_FILE, inbox_prefix=f"_INBOX_{NAME}".encode(), max_reconnect_attempts=-1)
    at_work = {}

    async def ask(about, body):  # repeats until somebody answers
        while True:
            try:
                return json.loads((await nc.request(f"aipr.{NAME}.{about}", json.dumps(body).encode(), timeout=2)).data)
            except nats.errors.Error:
                await asyncio.sleep(0.2)

    async def decide(about, body):
        while (verdict := await ask(about, body)) == "later":
            await asyncio.sleep(0.1)
        return verdict

    async def attempt(offer):
        me = {"tenant": offer["tenant"], "action": offer["action"], "fence": offer["fence"], "instance": INSTANCE}
        if await decide("begin", {"attempt": me}) == "go":  # nothing runs before
            at_work[offer["action"]] = me
            await decide("result", {"attempt": me, "outcome": await asyncio.to_thread(outcome, offer)})
            at_work.pop(offer["action"], None)

    async def on_offer(message):
        offer = json.loads(message.data)
        if offer["capability_id"] not in HANDLERS:
            return await message.respond(b'{"unknown":{}}')
        if offer.get("fence") is None:  # a plain read: the answer is the result
            result = {"instance": INSTANCE, "outcome": await asyncio.to_thread(outcome, offer)}
            return await message.respond(json.dumps({"result": result}).encode())
        await message.respond(json.dumps({"accepted": {"instance": INSTANCE}}).encode())
        asyncio.create_task(attempt(offer))

    async def beat():  # renews the leases of what is at work
        while True:
            await asyncio.sleep(3)
            if at_work:
                await nc.publish(f"aipr.{NAME}.hb", json.dumps({"attempts": list(at_work.values())}).encode())

    await nc.subscribe(f"aipw.{NAME}.>", queue=NAME, cb=on_offer)
    asyncio.create_task(beat())
    offered = [capability(HELLO, "read", "safe", "optional"),
               capability(SEND, "write", "safe_with_idempotency_key", "required")]
    while True:
        answer = await ask("register", {"instance": INSTANCE, "capabilities": offered})
        if "rejected" in answer:
            sys.exit(json.dumps(answer["rejected"]["error"]))
        print("admitted", flush=True)
        digest, every = answer["admitted"]["digest"], answer["admitted"]["alive_every_ms"] / 1000
        while await ask("alive", {"instance": INSTANCE, "digest": digest}) == "kept":
            await asyncio.sleep(every)


asyncio.run(main())
