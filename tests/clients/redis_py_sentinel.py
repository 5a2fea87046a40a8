"""A failover with redis-py: python3 redis_py_sentinel.py NAME HEIR SENTINEL ... Writes "ready", and exits with status 0 and "tour complete"
once it has written to the server on port HEIR."""
import sys
import time

import redis
from redis.sentinel import Sentinel

name, heir, *ports = sys.argv[1:]
primary = Sentinel([("127.0.0.1", int(port)) for port in ports], socket_timeout=2).master_for(name, socket_timeout=2)
assert primary.set("before", "1")
print("ready", flush=True)
while True:
    try:
        if primary.info("server")["tcp_port"] == int(heir) and primary.set("after", "2"):
            break
    except redis.RedisError:
        pass
    time.sleep(0.05)
assert primary.get("before") == b"1" and primary.get("after") == b"2"
print("tour complete")
