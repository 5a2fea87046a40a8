"""The results of a script as a table, a CSV file and a plot."""
import csv
from html import escape

COLUMNS = ["load", "server", "ops/s", "p50 ms", "p99 ms", "p99.9 ms"]
COLOURS = ["#3465a4", "#cc0000", "#4e9a06", "#f57900", "#75507b", "#555753"]
WIDTH, PANEL, LEFT, TOP, GAP = 960, 240, 80, 60, 70


def line(row):
    load, server, result = row
    return [load, server, f"{result.operations:,.0f}", f"{result.p50:.2f}", f"{result.p99:.2f}", f"{result.worst:.2f}"]


def print_table(rows):
    print("| " + " | ".join(COLUMNS) + " |")
    print("| --- | --- |" + " ---: |" * (len(COLUMNS) - 2))
    for row in rows:
        print("| " + " | ".join(line(row)) + " |")


def write_csv(path, note, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow([*note, "load", "server", "operations_per_second", "p50_ms", "p99_ms", "p999_ms"])
        for load, server, result in rows:
            out.writerow([*note.values(), load, server, f"{result.operations:.2f}", result.p50, result.p99, result.worst])


def write_plot(path, title, rows):
    """Bars for each load and server: operations per second above, the 99th percentile of the latency below."""
    loads, servers = list(dict.fromkeys(row[0] for row in rows)), list(dict.fromkeys(row[1] for row in rows))
    results = {(load, server): result for load, server, result in rows}
    height = TOP + 2 * (PANEL + GAP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{height}" fill="white"/>', text(LEFT, 24, title, size=16)]
    for i, server in enumerate(servers):
        parts += [bar(LEFT + 160 * i, 36, 12, 12, i), text(LEFT + 160 * i + 18, 46, server)]
    for panel, (caption, measure) in enumerate([("operations per second", lambda r: r.operations), ("99th percentile, ms", lambda r: r.p99)]):
        base = TOP + panel * (PANEL + GAP) + PANEL
        most = max(max(measure(result) for result in results.values()), 1e-9)
        parts.append(text(LEFT, base - PANEL + 12, caption))
        for step in range(5):
            y = base - step * (PANEL - 30) / 4
            parts += [f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH - 20}" y2="{y}" stroke="#dddddd"/>', text(LEFT - 8, y + 4, f"{most * step / 4:,.4g}", anchor="end")]
        slot = (WIDTH - LEFT - 20) / len(loads)
        thick = slot * 0.8 / len(servers)
        for i, load in enumerate(loads):
            parts.append(text(LEFT + slot * (i + 0.5), base + 18, load, anchor="middle"))
            for j, server in enumerate(servers):
                if (load, server) in results:
                    tall = measure(results[load, server]) / most * (PANEL - 30)
                    parts.append(bar(LEFT + slot * (i + 0.1) + thick * j, base - tall, thick, tall, j))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n</svg>\n")


def text(x, y, words, size=12, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'


def bar(x, y, width, height, colour):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{COLOURS[colour % len(COLOURS)]}"/>'
