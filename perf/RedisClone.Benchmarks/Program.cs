// Times of single parts, by BenchmarkDotNet: `dotnet run -c Release -- --filter '*Keyspace*'`.
// Bytes of what is kept: `dotnet run -c Release -- memory [elements]`.
using System.Globalization;
using BenchmarkDotNet.Running;
using RedisClone.Benchmarks;

if (args is ["memory", ..])
    MemoryReport.Write(Console.Out, args.Length > 1 ? int.Parse(args[1], CultureInfo.InvariantCulture) : 1_000_000);
else
    BenchmarkSwitcher.FromAssembly(typeof(MemoryReport).Assembly).Run(args);
