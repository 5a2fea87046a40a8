using RedisClone.Compare;
using RedisClone.Compare.Experiments;
using RedisClone.Compare.Reporting;
using RedisClone.Compare.Servers;
using RedisClone.Compare.Workloads;

// Compares this server with other servers. See perf/README.md.
Options options;
try
{
    options = Options.Parse(args);
}
catch (FormatException e)
{
    Console.Error.WriteLine(e.Message);
    Console.Error.WriteLine(Options.Usage);
    return 2;
}

if (options.Help)
{
    Console.WriteLine(Options.Usage);
    return 0;
}

if (options.SelfTest)
    return SelfTest.Run(Console.Out) ? 0 : 1;
if (options.List)
{
    foreach (Workload workload in WorkloadTable.All)
        Console.WriteLine($"{workload.Group,-12} {workload.Name}");
    return 0;
}

ServerKind[] kinds = [.. ServerKind.Discover().Where(k => options.Servers?.Contains(k.Name) ?? true)];
if (kinds.All(k => k.Name != ServerKind.Ours))
    Console.Error.WriteLine("RedisClone is not measured: there is no Release build, or --servers excludes it.");

var results = new Results();
var bench = new Bench(options, results, Console.Error);
foreach (Workload workload in options.Workloads)
{
    Console.Error.WriteLine($"{workload.Name}: server on cores {string.Join(',', options.ServerCores(workload.ServerCores))}, " +
        $"load on {string.Join(',', options.LoadCores(workload))}");
    LinuxNative.PinThisProcess(options.LoadCores(workload));
    Experiment.For(bench, workload).Run(kinds);
}

new MarkdownReport(results, kinds, options.Workloads).Write(Console.Out);
Directory.CreateDirectory(Path.GetDirectoryName(Path.GetFullPath(options.CsvFile))!);
using (var csv = new StreamWriter(options.CsvFile))
    CsvReport.Write(csv, results.Samples);
return results.Samples.Count > 0 ? 0 : 1;
