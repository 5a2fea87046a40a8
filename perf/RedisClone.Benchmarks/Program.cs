// Times of single parts, by BenchmarkDotNet: `dotnet run -c Release -- --filter '*Keyspace*'`, or '*Ladder*' for the steps from the naive server to today's.
// Bytes of what is kept: `dotnet run -c Release -- memory [elements]`.
// Does each benchmark still run: `dotnet run -c Release -- smoke`.
using System.Globalization;
using BenchmarkDotNet.Running;
using RedisClone.Benchmarks;

switch (args)
{
    case ["memory", ..]:
        MemoryReport.Write(Console.Out, args.Length > 1 ? int.Parse(args[1], CultureInfo.InvariantCulture) : 1_000_000);
        return 0;
    case ["smoke"]:
        return Smoke.Run();
    default:
        BenchmarkSwitcher.FromAssembly(typeof(MemoryReport).Assembly).Run(args);
        return 0;
}
