"""Tasks with Celery: python3 celery_tour.py PORT. Exits with status 0 and "tour complete" if all tasks ran as expected.

The worker is a process of its own, which imports this file for the tasks.
"""
import os
import subprocess
import sys
import tempfile
import time

from celery import Celery, chain, chord, group

PORT = os.environ.get("TOUR_PORT") or sys.argv[1]
PATIENCE = 90

app = Celery("celery_tour", broker=f"redis://127.0.0.1:{PORT}/1", backend=f"redis://127.0.0.1:{PORT}/2")
app.conf.update(worker_prefetch_multiplier=2, task_acks_late=True, result_expires=600, worker_hijack_root_logger=False, broker_connection_timeout=60)


@app.task
def add(a, b):
    return a + b


@app.task
def total(numbers):
    return sum(numbers)


@app.task(bind=True, max_retries=5)
def flaky(self):
    if self.request.retries < 2:
        raise self.retry(countdown=0.1)
    return self.request.retries


@app.task
def fail():
    raise ValueError("as it should")


def tour():
    # This task is queued before a worker exists.
    early = [add.delay(i, i) for i in range(50)]
    assert early[0].state == "PENDING"
    log = tempfile.TemporaryFile()
    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "celery_tour", "worker", "--pool=threads", "--concurrency=4", "--loglevel=WARNING"],
        cwd=os.path.dirname(os.path.abspath(__file__)), env={**os.environ, "TOUR_PORT": PORT}, stdout=log, stderr=log)
    try:
        assert [r.get(timeout=PATIENCE) for r in early] == [2 * i for i in range(50)]

        # Results arrive by pub/sub or by polling.
        assert group(add.s(i, 1) for i in range(20)).apply_async().get(timeout=PATIENCE) == [i + 1 for i in range(20)]
        assert chain(add.s(1, 2), add.s(3), add.s(4)).apply_async().get(timeout=PATIENCE) == 10
        assert chord((add.s(i, i) for i in range(10)), total.s()).apply_async().get(timeout=PATIENCE) == 90

        # A delayed task, a retried task and a revoked task.
        begun = time.monotonic()
        assert add.apply_async((1, 1), countdown=0.5).get(timeout=PATIENCE) == 2
        assert time.monotonic() - begun >= 0.4
        assert flaky.delay().get(timeout=PATIENCE) == 2
        failed = fail.delay()
        try:
            failed.get(timeout=PATIENCE)
            raise AssertionError("a failure was no failure")
        except ValueError as error:
            assert str(error) == "as it should" and failed.state == "FAILURE"
        revoked = add.apply_async((1, 1), countdown=3600)
        revoked.revoke()
        forgotten = add.delay(5, 5)
        assert forgotten.get(timeout=PATIENCE) == 10
        forgotten.forget()
        assert forgotten.state == "PENDING"

        # Workers reply over the broadcast channel.
        replies = app.control.ping(timeout=PATIENCE, limit=1)
        assert [list(reply.values()) for reply in replies] == [[{"ok": "pong"}]]
    except Exception:
        log.seek(0)
        print("the worker said:", log.read().decode())
        raise
    finally:
        worker.terminate()
        worker.wait(PATIENCE)


if __name__ == "__main__":
    import celery_tour  # its tasks have the names that the worker knows

    celery_tour.tour()
    print("tour complete")
