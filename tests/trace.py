#!/usr/bin/env python3
"""Runs the server under strace. It shows that with appendfsync always the server sends no reply to a write before an fdatasync
has returned that began after the write to the journal. It needs strace and the permission to trace; `tests/long trace` runs it.

Each transaction writes a mark and reads it, so the mark is in the write to the journal and in the reply. The start time that
strace records is not after the real start of a call, and the end time is not before the real end. Both errors make the check
stricter.
"""
import os, re, shutil, socket, subprocess, sys, tempfile, threading, time

SERVER = os.environ.get("REDISCLONE_SERVER", "src/RedisClone.Server/bin/Release/net10.0/RedisClone.Server")
CALLS = "trace=sendto,sendmsg,write,writev,pwrite64,pwritev,pwritev2,fdatasync,fsync"
LINE = re.compile(r"(\d+) +(\d+\.\d+) (.*)$")
MARK = re.compile(r"id:[0-9a-f]{8}")
WRITES = ("pwrite64", "pwritev", "pwritev2")
SENDS = ("sendto", "sendmsg", "write", "writev")


def encode(*words):
    return b"".join([b"*%d\r\n" % len(words)] + [b"$%d\r\n%s\r\n" % (len(w), w) for w in words])


def load(port, first, count, pipeline):
    with socket.create_connection(("127.0.0.1", port)) as client:
        file = client.makefile("rb")
        for at in range(first, first + count, pipeline):
            marks = [b"id:%08x" % n for n in range(at, min(at + pipeline, first + count))]
            client.sendall(b"".join(
                encode(b"MULTI") + encode(b"SET", b"key:%d" % (first % 7), m) + encode(b"GET", b"key:%d" % (first % 7)) + encode(b"EXEC")
                for m in marks))
            for mark in marks:
                lines = [file.readline() for _ in range(7)]   # OK QUEUED QUEUED *2 OK $11 mark
                assert lines[6] == mark + b"\r\n", lines


def calls(path):
    """Yields (name, text, start, end) of every call, and joins calls that strace printed in two parts."""
    open_calls = {}
    for line in open(path, errors="replace"):
        match = LINE.match(line)
        if not match:
            continue
        thread, at, rest = match[1], float(match[2]), match[3]
        if rest.endswith("<unfinished ...>"):
            open_calls[thread] = (rest.split("(")[0], rest, at)
        elif rest.startswith("<... "):
            if thread in open_calls:
                name, text, start = open_calls.pop(thread)
                yield name, text + rest, start, at
        else:
            took = re.search(r"<(\d+\.\d+)>$", rest)
            if took:
                yield rest.split("(")[0], rest, at, at + float(took[1])


def check(path):
    written, syncs, sends = {}, [], {}
    for name, text, start, end in calls(path):
        if name in ("fdatasync", "fsync"):
            syncs.append((start, end))
        for mark in set(MARK.findall(text)):
            if name in WRITES:
                written.setdefault(mark, end)
            elif name in SENDS:
                sends[mark] = min(start, sends.get(mark, start))
    early = [m for m in sends if not any(written.get(m, float("inf")) <= s and e <= sends[m] for s, e in syncs)]
    print(f"{len(sends)} replies traced, {len(syncs)} flushes, {len(early)} replies before their flush {early[:5]}")
    return len(sends), early


def main():
    folder = tempfile.mkdtemp(prefix="redisclone-trace-")
    trace = os.path.join(folder, "trace")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        ["strace", "-f", "-ttt", "-T", "-s", "1000000", "-e", CALLS, "-o", trace, SERVER, "--port", str(port), "--bind", "127.0.0.1",
         "--dir", folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always"], stdout=subprocess.PIPE, text=True)
    try:
        for line in server.stdout:
            if "Ready" in line:
                break
        threading.Thread(target=server.stdout.read, daemon=True).start()
        load(port, 0, 100, 1)
        threads = [threading.Thread(target=load, args=(port, 1000 * n, 200, 1 + n % 3 * 4)) for n in range(1, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(encode(b"SHUTDOWN"))
        server.wait(60)
        seen, early = check(trace)
        return 0 if seen == 1700 and not early else 1
    finally:
        if server.poll() is None:
            server.terminate()
        shutil.rmtree(folder)


sys.exit(main())
