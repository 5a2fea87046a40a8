using System.Diagnostics;
using System.Globalization;

namespace RedisClone.Benchmarks.Scaling;

/// <summary>
/// Measures how the cost of an operation grows with the number of threads: on one server that all threads share, and on servers
/// of which each thread has its own. The difference is the cost of sharing. No socket and no load generator takes part.
/// </summary>
internal static class ScalingRun
{
    public const string Usage = "scaling [workload] [threads] [seconds] [keys] [--parameter value ...]\n" +
        "scaling limits [threads] [seconds] [bytes]\nscaling line";
    private const int Rounds = 5;

    /// <summary>The limit of <see cref="MeasureLimits"/>: half of the keys that one thread sends.</summary>
    private const int MemoryLimit = 80_000_000;

    public static int Run(ReadOnlySpan<string> args)
    {
        if (args is ["line"])
        {
            LineTransfer.Measure(TimeSpan.FromSeconds(5));
            return 0;
        }
        int settings = args.IndexOf(args.ToArray().FirstOrDefault(static arg => arg.StartsWith("--", StringComparison.Ordinal)));
        string[] given = settings < 0 ? args.ToArray() : args[..settings].ToArray();
        bool limits = given is ["limits", ..];
        Workload? workload = limits || given.Length == 0 ? Workload.All[0] : Array.Find(Workload.All, all => all.Name == given[0]);
        int[] numbers = [Environment.ProcessorCount, 2, limits ? MemoryLimit : 1_000_000];
        bool valid = given.Length <= 4 && workload is not null;
        for (int i = 1; i < given.Length && valid; i++)
            valid = int.TryParse(given[i], NumberStyles.None, CultureInfo.InvariantCulture, out numbers[i - 1]) && numbers[i - 1] > 0;
        if (!valid)
        {
            Console.Error.WriteLine($"{Usage}\nworkloads: {string.Join(", ", Workload.All.Select(static all => all.Name))}");
            return 1;
        }
        if (limits) MeasureLimits(numbers[0], TimeSpan.FromSeconds(numbers[1]), numbers[2]);
        else Measure(workload!, numbers[0], TimeSpan.FromSeconds(numbers[1]), numbers[2], settings < 0 ? [] : args[settings..].ToArray());
        return 0;
    }

    /// <summary>One server that all threads share, and servers of which each thread has its own.</summary>
    public static void Measure(Workload workload, int threads, TimeSpan time, int keys, string[] settings)
    {
        var shared = new LoadServer(workload, keys, threads, settings);
        LoadServer[] separate = [.. Enumerable.Range(0, threads).Select(_ => new LoadServer(workload, Math.Max(1, keys / threads), 1, settings))];
        Row[] rows =
        [
            new("shared, 1 thread", [shared], [shared.Threads[0]], 0),
            new($"shared, {threads} threads", [shared], shared.Threads, 0),
            new("separate, 1 thread", [separate[0]], separate[0].Threads, 2),
            new($"separate, {threads} threads", separate, [.. separate.Select(static server => server.Threads[0])], 2),
        ];
        Measure(rows, workload, time, keys, "1 thread");
    }

    /// <summary>
    /// SETs without maxmemory, below it with two policies, and at the limit, where each SET of a new key evicts another. Every row is
    /// compared with the same number of threads without maxmemory.
    /// </summary>
    public static void MeasureLimits(int threads, TimeSpan time, long limit)
    {
        var workload = Array.Find(Workload.All, static all => all.Name == "set-new")!;
        string bytes = limit.ToString(CultureInfo.InvariantCulture), unreached = (limit * 100).ToString(CultureInfo.InvariantCulture);
        // The compiler adapts the code to what runs. Evictions come last, so that the other rows run code for servers that do not evict.
        MeasureLimits(threads, time, workload,
        [
            ("no limit", []),
            ("noeviction, not reached", ["--maxmemory", unreached]),
            ("allkeys-lru, not reached", ["--maxmemory", unreached, "--maxmemory-policy", "allkeys-lru"]),
        ]);
        MeasureLimits(threads, time, workload,
        [
            ("no limit", []),
            ("allkeys-lru, at the limit", ["--maxmemory", bytes, "--maxmemory-policy", "allkeys-lru"]),
        ]);
    }

    private static void MeasureLimits(int threads, TimeSpan time, Workload workload, (string Name, string[] Settings)[] servers)
    {
        var rows = new List<Row>();
        foreach ((string name, string[] settings) in servers)
        {
            var server = new LoadServer(workload, 1, threads, settings);
            rows.Add(new($"{name}, 1 thread", [server], [server.Threads[0]], 0));
            rows.Add(new($"{name}, {threads} threads", [server], server.Threads, 1));
        }
        Measure([.. rows], workload, time, keys: 1, "no limit");
    }

    private static void Measure(Row[] rows, Workload workload, TimeSpan time, int keys, string reference)
    {
        foreach (Row row in rows) Sample.Take(row.Servers, row.Threads, time);
        var samples = rows.Select(static _ => new List<Sample>()).ToArray();
        // All rows take turns, so that a change of the machine's speed affects all of them.
        for (int round = 0; round < Rounds; round++)
            for (int row = 0; row < rows.Length; row++)
                samples[row].Add(Sample.Take(rows[row].Servers, rows[row].Threads, time));

        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"{workload.Name}, pipeline {Workload.Pipeline}, {keys} keys, {Environment.ProcessorCount} cores: medians of {Rounds} rounds"));
        Console.WriteLine($"| threads | CPU µs/op | × of {reference} | ops/s | × of {reference} | waited per 1,000 | queued per 1,000 | hops per 1,000 |");
        Console.WriteLine("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for (int row = 0; row < rows.Length; row++)
        {
            List<Sample> first = samples[rows[row].Reference], these = samples[row];
            double cost = Median(these.Zip(first, static (many, one) => many.Cost / one.Cost));
            double speed = Median(these.Zip(first, static (many, one) => many.Rate / one.Rate));
            Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"| {rows[row].Name} | {Median(these.Select(static s => s.Cost)):F3} | {cost:F2} " +
                $"| {Median(these.Select(static s => s.Rate)):N0} | {speed:F2} " +
                $"| {Median(these.Select(static s => s.ShortWaits)):F2} | {Median(these.Select(static s => s.Waits)):F2} " +
                $"| {Median(these.Select(static s => s.Hops)):F2} |"));
        }
    }

    private static double Median(IEnumerable<double> values)
    {
        double[] sorted = [.. values.Order()];
        return sorted[sorted.Length / 2];
    }

    /// <summary>Threads that put load on servers, and the row with which their figures are compared.</summary>
    private readonly record struct Row(string Name, LoadServer[] Servers, LoadThread[] Threads, int Reference);

    /// <summary>One measurement: microseconds of the whole process for an operation, operations a second, and events for 1,000 operations.</summary>
    private readonly record struct Sample(double Cost, double Rate, double ShortWaits, double Waits, double Hops)
    {
        public static Sample Take(LoadServer[] servers, LoadThread[] threads, TimeSpan time)
        {
            long batches = threads.Sum(static thread => thread.Batches);
            long shortWaits = servers.Sum(static server => server.ShortWaits);
            long waits = servers.Sum(static server => server.Waits), hops = servers.Sum(static server => server.Hops);
            TimeSpan cpu = Environment.CpuUsage.TotalTime;
            long started = Stopwatch.GetTimestamp();
            foreach (LoadThread thread in threads) thread.Start();
            Thread.Sleep(time);
            foreach (LoadThread thread in threads) thread.Stop();
            foreach (LoadThread thread in threads) thread.Join();
            double seconds = Stopwatch.GetElapsedTime(started).TotalSeconds;
            double operations = (threads.Sum(static thread => thread.Batches) - batches) * (double)Workload.Pipeline;
            return new Sample(
                (Environment.CpuUsage.TotalTime - cpu).TotalMicroseconds / operations,
                operations / seconds,
                (servers.Sum(static server => server.ShortWaits) - shortWaits) * 1000 / operations,
                (servers.Sum(static server => server.Waits) - waits) * 1000 / operations,
                (servers.Sum(static server => server.Hops) - hops) * 1000 / operations);
        }
    }
}
