using BenchmarkDotNet.Attributes;
using RedisClone.Benchmarks;

namespace RedisClone.Storage.Tests;

/// <summary>Runs every benchmark at a small size, to keep the benchmarks working. Measures nothing.</summary>
public sealed class BenchmarksRunTests
{
    [Theory]
    [InlineData(1_000, 16)]
    [InlineData(3_000, 256)]
    public void KeyspaceBenchmarksRun(int keys, int valueBytes) =>
        RunAll(new KeyspaceBenchmarks { Keys = keys, ValueBytes = valueBytes });

    [Theory]
    [InlineData(20)]
    [InlineData(5_000)]
    public void CollectionBenchmarksRun(int elements) => RunAll(new CollectionBenchmarks { Elements = elements });

    [Fact]
    public void MemoryReportRuns()
    {
        var output = new StringWriter();
        MemoryReport.Write(output, 2_000);
        Assert.Equal(10, output.ToString().Count(c => c == '\n'));
    }

    private static void RunAll(object benchmarks)
    {
        Invoke<GlobalSetupAttribute>(benchmarks, times: 1);
        Assert.NotEqual(0, Invoke<BenchmarkAttribute>(benchmarks, times: 100));
    }

    private static int Invoke<TAttribute>(object benchmarks, int times) where TAttribute : Attribute
    {
        int invoked = 0;
        foreach (System.Reflection.MethodInfo method in benchmarks.GetType().GetMethods())
        {
            if (!method.IsDefined(typeof(TAttribute), inherit: false)) continue;
            for (int i = 0; i < times; i++, invoked++) method.Invoke(benchmarks, null);
        }
        return invoked;
    }
}
