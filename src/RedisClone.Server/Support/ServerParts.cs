using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using RedisClone.Admin.Commands;
using RedisClone.Admin.History;
using RedisClone.Admin.Info;
using RedisClone.Admin.Log;
using RedisClone.Admin.Reports;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Metrics;
using RedisClone.Engine.Scripting;

namespace RedisClone.Server.Support;

/// <summary>The parts of a bundle that the server itself knows.</summary>
internal sealed partial class ServerParts(ServerCore server, FigureHistory history, LogTail log, BundleMask mask)
{
    public IEnumerable<BundlePart> All =>
    [
        Text("versions.txt", "Versions of the server, the runtime and the system.", Versions),
        Json("configuration.json", "Each parameter with its value, default and meaning. Passwords are hidden.",
            json => ParameterReport.Write(server.Config, json)),
        Text("info.txt", "INFO everything.", Info),
        Text("history-hour.csv", "The figures of the last hour, one line a second. Counters are rates.", () => History(FigureHistory.SecondsKept)),
        Text("history-day.csv", "The figures of the last day, one line a minute.", () => History(FigureHistory.MinutesKept * 60)),
        Text("slowlog.txt", "The slow log: commands with the lengths of their arguments.", SlowLog),
        Text("latency.txt", "The latency events, and LATENCY DOCTOR.", Latency),
        Text("clients.txt", "CLIENT LIST.", Clients),
        Text("memory.txt", "MEMORY DOCTOR, and what the collector says.", Memory),
        Json("shards.json", "The load of each shard in the last minute, what each holds, and the event loops.", json => ShardReport.Write(server, json)),
        Text("work.txt", "What runs now: long commands, the script, the snapshot, the load, the workers.", Work),
        Json("recovery.json", "What the last start read from the disk.", json => RecoveryReport.Write(server, json)),
        Text("log.txt", "The last lines of the log since the start. Texts of clients are hidden.", () => string.Join('\n', log.Read()) + '\n'),
    ];

    private BundlePart Text(string name, string what, Func<string> text) => BundlePart.Text(name, what, text, mask);

    private BundlePart Json(string name, string what, Action<Utf8JsonWriter> write) => Text(name, what, () =>
    {
        using var bytes = new MemoryStream();
        using (var json = new Utf8JsonWriter(bytes, new JsonWriterOptions { Indented = true })) write(json);
        return Encoding.UTF8.GetString(bytes.ToArray());
    });

    private static string Versions() => string.Create(CultureInfo.InvariantCulture,
        $"""
        server      RedisClone {ServerVersion.Own}, commit {ServerVersion.Commit ?? "unknown"}
        build       {(RuntimeFeature.IsDynamicCodeCompiled ? "compiled at run time" : "native executable")}
        compatible  Redis {ServerVersion.Redis}
        runtime     {RuntimeInformation.FrameworkDescription}
        system      {RuntimeInformation.OSDescription}, {RuntimeInformation.OSArchitecture}
        processors  {Environment.ProcessorCount}

        """);

    /// <summary>
    /// A script can raise an error with any first word, so only the codes of the server are shown. The addresses of replicas get labels.
    /// </summary>
    private string Info() => string.Join('\n', InfoReport.Write(server, ["everything", "debug"]).Split("\r\n").Select(line =>
    {
        const string prefix = "errorstat_";
        int colon = line.IndexOf(':', StringComparison.Ordinal);
        bool isHidden = line.StartsWith(prefix, StringComparison.Ordinal) && !BundleMask.IsKnownCode(line[prefix.Length..colon]);
        return isHidden ? prefix + "(hidden)" + line[colon..] : ReplicaLine().Replace(line, match => match.Groups[1].Value + mask.Host(match.Groups[2].Value));
    }));

    [GeneratedRegex(@"^(slave\d+:ip=)([^,]+)")]
    private static partial Regex ReplicaLine();

    private string History(int seconds)
    {
        HistoryPoints points = history.Read(history.Names, seconds, seconds, after: 0);
        var text = new StringBuilder("time");
        foreach (string name in history.Names) text.Append(",\"").Append(name.Replace("\"", "\"\"", StringComparison.Ordinal)).Append('"');
        text.Append('\n');
        for (int i = 0; i < points.Times.Count; i++)
        {
            text.Append(CultureInfo.InvariantCulture, $"{points.Times[i]}");
            foreach (List<float> series in points.Values)
            {
                text.Append(',');
                if (!float.IsNaN(series[i])) text.Append(CultureInfo.InvariantCulture, $"{series[i]:G6}");
            }
            text.Append('\n');
        }
        return text.ToString();
    }

    private string SlowLog()
    {
        var text = new StringBuilder();
        foreach (SlowLogEntry entry in server.SlowLog.Read(long.MaxValue))
        {
            DateTimeOffset time = DateTimeOffset.FromUnixTimeSeconds(entry.UnixSeconds);
            text.Append(CultureInfo.InvariantCulture, $"{entry.Id} {time:yyyy-MM-ddTHH:mm:ssZ} {entry.Microseconds} us ");
            text.Append(CultureInfo.InvariantCulture, $"{mask.Address(entry.Peer)} {mask.Name(entry.ClientName)} ");
            text.Append(CultureInfo.InvariantCulture, $"{entry.Count} arguments: {Request(entry.Arguments)}\n");
        }
        return text.Length == 0 ? "The slow log is empty.\n" : text.ToString();
    }

    /// <summary>The name of the command, and the lengths of its arguments.</summary>
    private string Request(byte[][] arguments)
    {
        if (arguments.Length == 0 || server.Commands.Find(arguments[0]) is not { } row) return "an unknown command";
        int named = 1;
        if (arguments.Length > 1 && CommandTable.FindSubcommand(row, arguments[1]) is { } subcommand) (row, named) = (subcommand, 2);
        return string.Join(' ', [row.FullName, .. arguments.Skip(named).Select(static argument => FormattableString.Invariant($"<{argument.Length}>"))]);
    }

    private string Latency()
    {
        StringBuilder text = new StringBuilder(LatencyDoctor.Examine(server, ServerCore.UnixMilliseconds() / 1000)).Append('\n');
        foreach (LatencyRecord record in server.Latency.Read())
        {
            text.Append(CultureInfo.InvariantCulture, $"\n{record.Name}, worst {record.Worst} ms\n");
            foreach (LatencySeries.Sample sample in record.Samples) text.Append(CultureInfo.InvariantCulture, $"  {sample.Second} {sample.Milliseconds} ms\n");
        }
        return text.ToString();
    }

    private string Clients()
    {
        var text = new StringBuilder();
        foreach (Session session in server.Sessions.All) text.Append(Masked(ClientDescription.Of(session))).Append('\n');
        return text.ToString();
    }

    /// <summary>The description of a client without what the client chose, which is its name and that of its library.</summary>
    private string Masked(string description) => string.Join(' ', description.Split(' ').Select(field =>
    {
        int equals = field.IndexOf('=', StringComparison.Ordinal);
        (string name, string value) = equals < 0 ? (field, "") : (field[..equals], field[(equals + 1)..]);
        return name switch
        {
            "addr" or "laddr" => $"{name}={mask.Address(value)}",
            "name" or "user" or "lib-name" or "lib-ver" => $"{name}={mask.Name(value)}",
            _ => field,
        };
    }));

    private string Memory()
    {
        GCMemoryInfo collector = GC.GetGCMemoryInfo();
        return string.Create(CultureInfo.InvariantCulture,
            $"""
            {MemoryDoctor.Examine(server)}
            heap {collector.HeapSizeBytes}, committed {collector.TotalCommittedBytes}, fragmented {collector.FragmentedBytes}
            pinned objects {collector.PinnedObjectsCount}
            memory load {collector.MemoryLoadBytes} of {collector.TotalAvailableMemoryBytes}, high load from {collector.HighMemoryLoadThresholdBytes}
            collections {GC.CollectionCount(0)}, {GC.CollectionCount(1)}, {GC.CollectionCount(2)}; paused {collector.PauseTimePercentage} % of the time

            """);
    }

    private string Work()
    {
        var text = new StringBuilder();
        LongRun? script = server.Scripts.Runs.Longest(static _ => true);
        string running = script is null
            ? "none runs for long"
            : $"runs for {script.Milliseconds} ms, busy: {script.IsBusy}, holds all shards: {script.HoldsAll}";
        Add($"script: {running}");
        Add($"load: {(server.Loading is { } load ? $"{load.LoadedBytes} of {load.TotalBytes} bytes" : "complete")}");
        Add($"snapshot or rewrite: {(server.Snapshots.Slot.Running is { } run ? $"{run.KeysDone} of {run.Keys} keys, {run.Seconds} s" : "none")}");
        Add($"blocked clients: {server.Blocked.Count}; paused clients: {server.Pause.WaitingClients}");
        Add($"workers: {ThreadPool.ThreadCount} threads, {ThreadPool.PendingWorkItemCount} items wait, {ThreadPool.CompletedWorkItemCount} are done");
        for (int i = 0; i < server.Shards.Count; i++)
            if (server.Shards[i].Queued > 0) Add($"shard {i}: {server.Shards[i].Queued} items wait");
        return text.ToString();

        void Add(FormattableString line) => text.Append(FormattableString.Invariant(line)).Append('\n');
    }
}
