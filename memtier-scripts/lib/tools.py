"""The load generators: memtier_benchmark, or redis-benchmark if memtier_benchmark is missing. The class of each says which parts of a load it supports."""
import csv
import io
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

KEY, DATA = "__key__", "__data__"

# redis-benchmark runs for a number of requests, not for a time. A trial measures the rate first. It begins with few requests, and is
# repeated with more until it takes this long.
TRIAL_SECONDS = 0.5
TRIAL_BYTES = 32 << 20


@dataclass
class Load:
    """Commands with their shares. In a command, __key__ stands for one of the keys and __data__ for a value."""
    name: str
    mix: list                       # (share, [word, ...])
    size: int = 256                 # bytes of a value
    pipeline: int = 1
    threads: int = 0                # 0: SCALE
    clients: int = 16               # for each thread
    keys: int = 0                   # 0: KEYS_A_CORE * SCALE
    pattern: str = "R"              # the distribution of keys: R is uniform, Z is Zipf, G is Gauss
    settings: dict = field(default_factory=dict)    # parameters that the server gets with CONFIG SET
    fill: object = None             # (names of all keys, value) -> requests that create the data; None: the load creates it


@dataclass
class Result:
    operations: float               # per second
    p50: float                      # milliseconds
    p99: float
    worst: float                    # p99.9; with redis-benchmark the maximum, because it reports no p99.9


class Memtier:
    """Supports all parts of a load."""
    name = "memtier_benchmark"

    def __init__(self, program):
        self.program = program

    @staticmethod
    def key(number):
        return f"key:{number}"

    def run(self, server, load, seconds):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            arguments = [self.program, "-s", server.host, "-p", str(server.port), "-t", str(load.threads), "-c", str(load.clients), f"--test-time={max(1, round(seconds))}",
                         "--distinct-client-seed", "-d", str(load.size), f"--pipeline={load.pipeline}", "--hide-histogram", f"--json-out-file={path}",
                         "--print-percentiles=50,99,99.9", "--key-prefix=key:", "--key-minimum=1", f"--key-maximum={load.keys}",
                         *([f"--authenticate=:{server.password}"] if server.password else [])]
            for share, words in load.mix:
                line = " ".join('"' + word.replace('"', '\\"') + '"' if " " in word else word for word in words)
                arguments += [f"--command={line}", f"--command-ratio={share}", f"--command-key-pattern={load.pattern}"]
            execute(arguments)
            with open(path, encoding="utf-8") as file:
                output = json.load(file)["ALL STATS"]
        totals, percentiles = output["Totals"], output["Totals"]["Percentile Latencies"]
        # On a busy machine, memtier_benchmark may report a duration that is shorter than that of the run.
        return Result(totals["Count"] / max(output["Runtime"]["Total duration"] / 1000, seconds), percentiles["p50.00"], percentiles["p99.00"], percentiles["p99.90"])


class RedisBenchmark:
    """Sends the commands of a mix one after the other, each for its share of the time. All keys have the same probability."""
    name = "redis-benchmark"

    def __init__(self, program):
        self.program = program

    @staticmethod
    def key(number):
        return f"key:{number - 1:012d}"

    def run(self, server, load, seconds):
        whole = sum(share for share, _ in load.mix)
        connections = load.threads * load.clients
        trial = max(connections * load.pipeline, min(5000, TRIAL_BYTES // load.size))
        spent, p50, p99, worst = 0.0, 0.0, 0.0, 0.0
        for share, words in load.mix:
            requests, rate = trial, self._send(server, load, words, trial)[0]
            while requests / rate < min(TRIAL_SECONDS, seconds * share / whole):
                requests *= 4
                rate = self._send(server, load, words, requests)[0]
            rate, middle, most, longest = self._send(server, load, words, max(int(rate * seconds * share / whole), connections * load.pipeline))
            spent += share / whole / rate
            p50 += middle * share / whole
            p99, worst = max(p99, most), max(worst, longest)
        return Result(1 / spent, p50, p99, worst)

    def _send(self, server, load, words, requests):
        # A value that is the last word is passed on the standard input (-x), because the length of an argument is limited. Other values are short.
        value = "x" * load.size
        output = execute([self.program, "-h", server.host, "-p", str(server.port), "-c", str(load.threads * load.clients), "-n", str(requests), "-r", str(load.keys),
                        "-P", str(load.pipeline), "--csv", *(["-a", server.password] if server.password else []), *(["-x"] if words[-1] == DATA else []),
                        *(word.replace(KEY, "key:__rand_int__").replace(DATA, value) for word in (words[:-1] if words[-1] == DATA else words))], value)
        row = list(csv.DictReader(io.StringIO(output)))[-1]
        return float(row["rps"]), float(row["p50_latency_ms"]), float(row["p99_latency_ms"]), float(row["max_latency_ms"])


def execute(arguments, standard_input=""):
    done = subprocess.run(arguments, input=standard_input, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{arguments[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def find():
    """The load generator to use. The environment variable MEMTIER is the path of memtier_benchmark, if it is not in PATH."""
    named = os.environ.get("MEMTIER")
    if program := shutil.which(named or "memtier_benchmark"):
        return Memtier(program)
    if named:
        raise SystemExit(f"MEMTIER={named}: no such program")
    if program := shutil.which("redis-benchmark"):
        return RedisBenchmark(program)
    raise SystemExit("neither memtier_benchmark nor redis-benchmark is installed")
