// dotnet run -c Release -- --filter '*Keyspace*'     times of single parts, measured by BenchmarkDotNet
// dotnet run -c Release -- --filter '*Ladder*'       times of the steps from a naive server to this server
// dotnet run -c Release -- memory [elements]         bytes of memory for each record or element
// dotnet run -c Release -- scaling [workload] ...    how the cost of an operation grows with the number of threads
// dotnet run -c Release -- smoke                     runs every benchmark without measuring it
using System.Globalization;
using BenchmarkDotNet.Running;
using RedisClone.Benchmarks;
using RedisClone.Benchmarks.Scaling;

switch (args)
{
    case ["memory", ..]:
        MemoryReport.Write(Console.Out, args.Length > 1 ? int.Parse(args[1], CultureInfo.InvariantCulture) : 1_000_000);
        return 0;
    case ["scaling", .. string[] options]:
        return ScalingRun.Run(options);
    case ["smoke"]:
        return Smoke.Run();
    default:
        BenchmarkSwitcher.FromAssembly(typeof(MemoryReport).Assembly).Run(args);
        return 0;
}
