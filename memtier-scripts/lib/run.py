"""Runs the loads of a script against every server, one after the other, and reports."""
import datetime
import os
import sys

from . import report, servers, settings, tools

KEYS_A_CORE = 20_000
USAGE = """{doc}
    {script} [NAME=HOST:PORT | NAME=PATH] ...

NAME=HOST:PORT uses a running server, NAME=PATH starts a program. Default: server=127.0.0.1:6379. THE SCRIPT DELETES ALL DATA OF THE SERVERS.
Environment variables:
    SCALE             scales threads and keys to the machine; default: the number of cores, at most 8
    SECONDS_TO_RUN    duration of each load; default: {seconds}
    RESULTS           directory of the CSV file and the plot; default: perf/results
    MEMTIER           path of memtier_benchmark, if it is not in PATH
    REDISCLI_AUTH     password of running servers"""


def main(doc, loads, seconds=10):
    """Runs a script: its description, its loads, and the default duration of a load in seconds."""
    script = os.path.basename(sys.argv[0])
    if any(argument in ("-h", "--help") for argument in sys.argv[1:]):
        print(USAGE.format(doc=doc, script=sys.argv[0], seconds=seconds))
        return
    scale = settings.positive("SCALE", min(os.cpu_count(), 8), int)
    seconds = settings.positive("SECONDS_TO_RUN", seconds, float)
    results = settings.folder("RESULTS", os.path.join(os.path.dirname(__file__), "../../perf/results"))
    tool = tools.find()
    rows, running = [], []
    try:
        for argument in sys.argv[1:] or ["server=127.0.0.1:6379"]:
            running.append(servers.Server(argument))
        for load in loads:
            load.threads = load.threads or scale
            load.keys = load.keys or KEYS_A_CORE * scale
            for server in running:
                rows.append((load.name, server.name, measure(tool, server, load, seconds)))
                print(" ".join(report.line(rows[-1])), file=sys.stderr)
    except servers.Failure as failure:
        raise SystemExit(str(failure)) from failure
    finally:
        for server in running:
            server.stop()
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    print(f"{script}, {now}, on {machine()}, sent by {tool.name}, SCALE={scale}, {seconds:g} s each\n")
    report.print_table(rows)
    report.write_csv(os.path.join(results, script + ".csv"), {"date": now, "tool": tool.name, "scale": scale, "seconds": seconds}, rows)
    report.write_plot(os.path.join(results, script + ".svg"), f"{script}, {now}, {tool.name}", rows)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return f"{models[0] if models else os.uname().machine}, {os.cpu_count()} cores"


def measure(tool, server, load, seconds):
    data = (load.fill, load.keys, load.size)
    if server.data != data:
        server.fill(load.fill(map(tool.key, range(1, load.keys + 1)), "x" * load.size) if load.fill else [])
        server.data = data
    before = server.set(load.settings)
    try:
        errors = server.errors()
        result = tool.run(server, load, seconds)
        if server.errors() > errors:
            raise SystemExit(f"{load.name}: {server.name} replied errors, so nothing was measured")
        return result
    finally:
        server.set(before)
