using System.Reflection;
using BenchmarkDotNet.Attributes;
using RedisClone.Benchmarks.Scaling;

namespace RedisClone.Benchmarks;

/// <summary>Runs every benchmark a few times and reports the benchmarks that fail.</summary>
internal static class Smoke
{
    public static int Run()
    {
        int failures = 0;
        foreach (Type type in typeof(Smoke).Assembly.GetTypes().Where(t => t.IsPublic && t.GetMethods().Any(IsBenchmark)))
        {
            object instance = SetUp(type);
            foreach (MethodInfo method in type.GetMethods().Where(IsBenchmark))
            {
                try
                {
                    for (int i = 0; i < 3; i++) method.Invoke(instance, null);
                    Console.WriteLine($"{type.Name}.{method.Name} runs");
                }
                catch (TargetInvocationException e)
                {
                    failures++;
                    Console.WriteLine($"{type.Name}.{method.Name} fails: {e.InnerException}");
                }
            }
        }
        foreach (Workload workload in Workload.All) ScalingRun.Measure(workload, threads: 2, TimeSpan.FromMilliseconds(20), keys: 3000, []);
        LineTransfer.Measure(TimeSpan.FromMilliseconds(20));
        ScalingRun.MeasureLimits(threads: 2, TimeSpan.FromMilliseconds(20), limit: 20_000_000);
        return failures;
    }

    /// <summary>Returns an instance with the first value of each parameter.</summary>
    private static object SetUp(Type type)
    {
        object instance = Activator.CreateInstance(type)!;
        foreach (PropertyInfo property in type.GetProperties())
            if (property.GetCustomAttribute<ParamsAttribute>() is { } parameter) property.SetValue(instance, parameter.Values[0]);
        foreach (MethodInfo method in type.GetMethods())
            if (method.GetCustomAttribute<GlobalSetupAttribute>() is not null) method.Invoke(instance, null);
        return instance;
    }

    private static bool IsBenchmark(MethodInfo method) => method.GetCustomAttribute<BenchmarkAttribute>() is not null;
}
