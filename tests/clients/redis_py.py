"""A tour with redis-py: python3 redis_py.py PORT. Exits with status 0 and "tour complete" if all replies are as expected."""
import sys
import threading

import redis

r = redis.Redis(port=int(sys.argv[1]), socket_timeout=60)
commands = set(r.command())

r.flushall()
assert r.ping()
assert r.set("greeting", "hello", ex=1000)
assert r.get("greeting") == b"hello"
assert 0 < r.ttl("greeting") <= 1000
assert r.set("greeting", "again", nx=True) is None
everything = bytes(range(256)) * 1000
r.set(b"bytes\x00\r\n", everything)
assert r.get(b"bytes\x00\r\n") == everything
assert r.incr("counter", 42) == 42
assert r.incrbyfloat("float", 0.1) == 0.1
r.mset({"a": 1, "b": 2})
assert r.mget("a", "b", "missing") == [b"1", b"2", None]
assert r.getrange("greeting", 1, 3) == b"ell"
assert r.append("greeting", "!") == 6
assert r.setbit("bits", 100, 1) == 0 and r.bitcount("bits") == 1 and r.bitpos("bits", 1) == 100
assert r.exists("a", "b", "missing") == 2
assert sorted(r.keys("[ab]")) == [b"a", b"b"]
assert r.rename("a", "z") and r.delete("z", "b") == 2
assert r.pfadd("visitors", "x", "y", "x") == 1 and r.pfcount("visitors") == 2
info = r.info("server")
assert info["redis_version"] and info["process_id"] > 0
assert r.client_setname("tour") and any(c["name"] == "tour" for c in r.client_list())
assert r.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
try:
    r.incr("greeting")
    raise AssertionError("text was incremented")
except redis.ResponseError as error:
    assert str(error) == "value is not an integer or out of range", error

with r.pipeline(transaction=False) as pipe:
    for i in range(2000):
        pipe.set(f"p:{i}", i).get(f"p:{i}")
    assert pipe.execute()[1::2] == [str(i).encode() for i in range(2000)]
assert len(set(r.scan_iter("p:*", count=100))) == 2000

assert r.pipeline().set("t", 1).incr("t").get("t").execute() == [True, 2, b"2"]
with r.pipeline() as pipe:
    pipe.watch("t")
    r.set("t", "changed")
    pipe.multi()
    pipe.set("t", "lost")
    try:
        pipe.execute()
        raise AssertionError("a watched key changed, and the transaction ran")
    except redis.WatchError:
        pass

# Several threads increment with optimistic locking. No increment is lost.
def increment(pipe):
    value = int(pipe.get("shared") or 0)
    pipe.multi()
    pipe.set("shared", value + 1)

threads = [threading.Thread(target=lambda: [r.transaction(increment, "shared") for _ in range(25)]) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert r.get("shared") == b"100"

if "rpush" in commands:
    assert r.rpush("list", "a", "b", "c") == 3 and r.lrange("list", 0, -1) == [b"a", b"b", b"c"]
    assert r.lmove("list", "other", "LEFT", "RIGHT") == b"a"
    threading.Timer(0.05, lambda: r.rpush("queue", "job")).start()
    assert r.blpop("queue", 30) == (b"queue", b"job")
if "hset" in commands:
    r.hset("hash", mapping={"name": "x", "size": 3})
    assert r.hgetall("hash") == {b"name": b"x", b"size": b"3"}
if "sadd" in commands:
    r.sadd("set", "a", "b")
    assert r.smembers("set") == {b"a", b"b"}
if "zadd" in commands:
    r.zadd("scores", {"one": 1, "two": 2.5})
    assert r.zrange("scores", 0, -1, withscores=True) == [(b"one", 1.0), (b"two", 2.5)]
if "eval" in commands:
    assert r.register_script("return redis.call('GET', KEYS[1])")(keys=["greeting"]) == b"hello!"
if "subscribe" in commands:
    with r.pubsub(ignore_subscribe_messages=True) as channel:
        channel.subscribe("news")
        while not r.pubsub_numsub("news")[0][1]:
            pass
        r.publish("news", "today")
        message = None
        while message is None:
            message = channel.get_message(timeout=10)
        assert message["data"] == b"today"

print("tour complete")
