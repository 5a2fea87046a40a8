using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Tests;

/// <summary>A heap that is full of data is told from one that is full of something else.</summary>
public sealed class HeapBudgetTests
{
    [Fact]
    public void AFullHeapIsShortOnlyWhileDataFillIt()
    {
        // The heap of any process is larger than this one.
        const long heap = 1 << 20, room = heap / 2;
        var budget = new HeapBudget(heap, room);
        GC.Collect();
        budget.TakeKept(room);
        Assert.True(budget.IsHeapFull());
        Assert.True(budget.IsShort);
        budget.Give(room);
        Assert.True(budget.IsHeapFull());
        Assert.False(budget.IsShort);
    }

    [Fact]
    public void ALargeHeapIsNotFull()
    {
        GC.Collect();
        Assert.False(new HeapBudget(1L << 50, 1L << 49).IsHeapFull());
    }
}
