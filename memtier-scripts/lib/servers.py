"""The servers that a script compares: running servers, and servers that the script starts."""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time

PATIENCE = 60


class Failure(Exception):
    """A server replied an error, or cannot be reached."""


class Connection:
    """A small client, to fill a server and to change its parameters."""

    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port), PATIENCE)
        self.input = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.input.close()
        self.socket.close()

    def call(self, *words):
        self.socket.sendall(encode(words))
        return self.read()

    def pipeline(self, requests, batch=500):
        """Sends requests in batches and reads their replies. Raises the first error."""
        waiting, count = [], 0
        for words in requests:
            waiting.append(encode(words))
            count += 1
            if count % batch == 0:
                self._exchange(waiting)
                waiting = []
        self._exchange(waiting)

    def _exchange(self, requests):
        self.socket.sendall(b"".join(requests))
        for _ in requests:
            self.read()

    def read(self):
        line = self.input.readline()
        if not line:
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2].decode()
        if kind == b"-":
            raise Failure(rest)
        if kind == b"$":
            return None if rest == "-1" else self.input.read(int(rest) + 2)[:-2].decode()
        if kind == b"*":
            return [self.read() for _ in range(int(rest))]
        return int(rest) if kind == b":" else rest


def encode(words):
    parts = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word if isinstance(word, bytes) else str(word).encode()
        parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(parts)


class Server:
    """NAME=HOST:PORT is a running server. NAME=PATH is a program, which is started on a free port in a temporary directory, and stopped at the end."""

    def __init__(self, argument):
        self.name, separator, place = argument.partition("=")
        if not separator:
            raise SystemExit(f"{argument}: a server is NAME=HOST:PORT or NAME=PATH")
        self.process = self.folder = self.password = None
        self.data = None    # the data that the server contains
        host, colon, port = place.rpartition(":")
        if colon and port.isdigit():
            if not 0 < int(port) < 1 << 16:
                raise SystemExit(f"{argument}: there is no port {port}")
            self.host, self.port, self.password = host, int(port), os.environ.get("REDISCLI_AUTH")
            if self.call("PING") != "PONG":
                raise Failure(f"{self.name}: {place} does not answer PING as a Redis server")
        else:
            self._start(place)

    def _start(self, path):
        program = shutil.which(path)
        if not program:
            raise SystemExit(f"{path}: no such program")
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.host, self.port = probe.getsockname()
        self.folder = tempfile.mkdtemp(prefix="load-")
        try:
            self.process = subprocess.Popen([os.path.abspath(program), "--port", str(self.port), "--bind", self.host, "--dir", self.folder, "--save", ""],
                                            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except OSError as error:
            shutil.rmtree(self.folder)
            raise SystemExit(f"{path}: {error.strerror}") from error
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise SystemExit(f"{path}: the server does not answer PING")
            time.sleep(0.05)

    def _answers(self):
        try:
            return self.call("PING") == "PONG"
        except Failure:
            return False

    @contextlib.contextmanager
    def _connect(self):
        """A connection whose errors name the server."""
        try:
            with Connection(self.host, self.port) as connection:
                if self.password:
                    connection.call("AUTH", self.password)
                yield connection
        except (OSError, Failure) as error:
            raise Failure(f"{self.name}: {self.host}:{self.port}: {getattr(error, 'strerror', None) or error}") from error

    def call(self, *words):
        with self._connect() as connection:
            return connection.call(*words)

    def errors(self):
        """The number of error replies of the server, 0 if it does not count them."""
        for line in self.call("INFO", "stats").splitlines():
            if line.startswith("total_error_replies:"):
                return int(line.partition(":")[2])
        return 0

    def set(self, settings):
        """Changes parameters with CONFIG SET. Returns the values before."""
        before = {}
        for name in settings:
            reply = self.call("CONFIG", "GET", name)
            before.update(zip(reply[::2], reply[1::2]))
        for name, value in settings.items():
            self.call("CONFIG", "SET", name, value)
        return before

    def fill(self, requests):
        self.call("FLUSHALL")
        with self._connect() as connection:
            connection.pipeline(requests)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)
