using RedisClone.EndToEnd.Tests.Cluster;
using RedisClone.EndToEnd.Tests.Shipping;
using RedisClone.EndToEnd.Tests.Studio;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>Starts the classes that run for minutes first, so that no processor is idle at the end.</summary>
public sealed class SlowestFirst : ITestCollectionOrderer
{
    private static readonly Type[] s_slow = [typeof(ContainerTests), typeof(StudioTests), typeof(SlotMigrationTests)];

    public IEnumerable<ITestCollection> OrderTestCollections(IEnumerable<ITestCollection> testCollections) =>
        testCollections.OrderByDescending(IsSlow);

    private static bool IsSlow(ITestCollection collection) =>
        Array.Exists(s_slow, type => collection.DisplayName.EndsWith($".{type.Name}", StringComparison.Ordinal));
}
