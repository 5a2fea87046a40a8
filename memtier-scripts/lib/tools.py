"""Who sends the load: memtier_benchmark, or redis-benchmark where that is missing. A load is the same for both; how near they come to it is said below."""
import csv
import io
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field

KEY, DATA = "__key__", "__data__"

# Sent to learn how fast a command is, before as much is sent as takes the time asked for.
TRIAL_BYTES = 32 << 20


@dataclass
class Load:
    """Commands with their shares; in them stand __key__ (one of the keys) and __data__ (a value of the size)."""
    name: str
    mix: list                       # (share, [word, ...])
    size: int = 256
    pipeline: int = 1
    threads: int = 0                # 0: as many as SCALE
    clients: int = 16               # a thread
    keys: int = 0                   # 0: KEYS_A_CORE for each of SCALE
    pattern: str = "R"              # how keys are chosen: R evenly, Z some much more often than others, G about the middle
    settings: dict = field(default_factory=dict)
    fill: object = None             # (the names of all keys, a value) -> requests; none: the keys come with the load


@dataclass
class Result:
    operations: float               # a second
    p50: float                      # milliseconds
    p99: float
    worst: float                    # of a thousand, the 999th; redis-benchmark tells only the longest


class Memtier:
    """Does all of a load."""
    name = "memtier_benchmark"

    def __init__(self, program):
        self.program = program

    @staticmethod
    def key(number):
        return f"key:{number}"

    def run(self, server, load, seconds):
        with tempfile.TemporaryDirectory() as folder:
            told = os.path.join(folder, "told.json")
            arguments = [self.program, "-s", server.host, "-p", str(server.port), "-t", str(load.threads), "-c", str(load.clients), f"--test-time={max(1, round(seconds))}",
                         "--distinct-client-seed", "-d", str(load.size), f"--pipeline={load.pipeline}", "--hide-histogram", f"--json-out-file={told}",
                         "--print-percentiles=50,99,99.9", "--key-prefix=key:", "--key-minimum=1", f"--key-maximum={load.keys}",
                         *([f"--authenticate=:{server.password}"] if server.password else [])]
            for share, words in load.mix:
                line = " ".join('"' + word.replace('"', '\\"') + '"' if " " in word else word for word in words)
                arguments += [f"--command={line}", f"--command-ratio={share}", f"--command-key-pattern={load.pattern}"]
            execute(arguments)
            with open(told, encoding="utf-8") as file:
                told = json.load(file)["ALL STATS"]
        totals, percentiles = told["Totals"], told["Totals"]["Percentile Latencies"]
        # On a busy machine it may find its own run shorter than it was.
        return Result(totals["Count"] / max(told["Runtime"]["Total duration"] / 1000, seconds), percentiles["p50.00"], percentiles["p99.00"], percentiles["p99.90"])


class RedisBenchmark:
    """Sends the commands of a mix one after the other, each for its share of the time, and chooses keys evenly."""
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
            rate = self._send(server, load, words, trial)[0]
            rate, middle, most, longest = self._send(server, load, words, max(int(rate * seconds * share / whole), connections * load.pipeline))
            spent += share / whole / rate
            p50 += middle * share / whole
            p99, worst = max(p99, most), max(worst, longest)
        return Result(1 / spent, p50, p99, worst)

    def _send(self, server, load, words, requests):
        # A value comes from its standard input (-x) as the last word, since an argument of a program has a limit; elsewhere values are small.
        value = "x" * load.size
        said = execute([self.program, "-h", server.host, "-p", str(server.port), "-c", str(load.threads * load.clients), "-n", str(requests), "-r", str(load.keys),
                        "-P", str(load.pipeline), "--csv", *(["-a", server.password] if server.password else []), *(["-x"] if words[-1] == DATA else []),
                        *(word.replace(KEY, "key:__rand_int__").replace(DATA, value) for word in (words[:-1] if words[-1] == DATA else words))], value)
        row = list(csv.DictReader(io.StringIO(said)))[-1]
        return float(row["rps"]), float(row["p50_latency_ms"]), float(row["p99_latency_ms"]), float(row["max_latency_ms"])


def execute(arguments, standard_input=""):
    done = subprocess.run(arguments, input=standard_input, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{arguments[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def find():
    """MEMTIER names a memtier_benchmark that is not in the path."""
    named = os.environ.get("MEMTIER")
    if program := shutil.which(named or "memtier_benchmark"):
        return Memtier(program)
    if named:
        raise SystemExit(f"MEMTIER={named}: no such program")
    if program := shutil.which("redis-benchmark"):
        return RedisBenchmark(program)
    raise SystemExit("neither memtier_benchmark nor redis-benchmark is here")
