using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Tests;

/// <summary>What a full heap gave back since the last collection is known.</summary>
public sealed class HeapBudgetTests
{
    private const long Heap = 1 << 10, Data = 1 << 20;

    [Fact]
    public void AFullHeapIsOutdatedOnceDataWasGivenBack()
    {
        // A collection between the two looks sees what was given back. It is rare, so one of some attempts has none.
        Assert.Contains(Enumerable.Range(0, 100), static _ => Looks(given: Data / 2) == (true, false, true));
        for (int i = 0; i < 100; i++) Assert.False(Looks(given: Heap / 64).IsOutdated);
    }

    [Fact]
    public void ACollectionBringsTheKnowledgeUpToDate()
    {
        var budget = new HeapBudget(Heap, Heap / 2);
        budget.TakeKept(Data);
        budget.IsHeapFull(out _);
        budget.Give(Data);
        GC.Collect();
        budget.IsHeapFull(out bool isOutdated);
        Assert.False(isOutdated);
    }

    /// <summary>Looks before and after some data is given back. The heap of any process is larger than that of the test.</summary>
    private static (bool IsFull, bool WasOutdated, bool IsOutdated) Looks(long given)
    {
        GC.Collect();
        var budget = new HeapBudget(Heap, Heap / 2);
        budget.TakeKept(Data);
        bool isFull = budget.IsHeapFull(out bool wasOutdated);
        budget.Give(given);
        isFull &= budget.IsHeapFull(out bool isOutdated);
        return (isFull, wasOutdated, isOutdated);
    }
}
