"""A cluster with redis-py: python3 redis_py_cluster.py ROUNDS PORT ... Writes "ready" after the first round, counts in many slots while slots
move and nodes fail over, and exits with status 0 and "tour complete" if no answer was wrong and no error remained after the retries."""
import sys
import time

from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import RedisError

rounds, *ports = sys.argv[1:]
cluster = RedisCluster(startup_nodes=[ClusterNode("127.0.0.1", int(port)) for port in ports], cluster_error_retry_attempts=10)
for number in range(1, int(rounds) + 1):
    for i in range(20):
        key = f"py:{i}"
        for attempt in range(200):
            try:
                assert cluster.set(key, number)
                assert int(cluster.get(key)) == number
                break
            except RedisError:
                # The cluster fails over.
                time.sleep(0.1)
        else:
            raise AssertionError(key)
    if number == 1:
        print("ready", flush=True)
assert cluster.mset_nonatomic({"{a}1": 1, "{b}1": 2})
assert cluster.mget("{a}1", "{a}2") == [b"1", None]
pipe = cluster.pipeline()
for i in range(20):
    pipe.get(f"py:{i}")
assert pipe.execute() == [rounds.encode()] * 20
print("tour complete")
