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

    /// <summary>
    /// A snapshot and a load need the largest string twice. What the reserve has not for it stays free, so that a restart can load what fits.
    /// </summary>
    [Fact]
    public void ALargeArrayLeavesRoomForItsLoad()
    {
        const int heap = 160 << 20, room = 136 << 20, large = 26 << 20, small = 8 << 20;
        var budget = new HeapBudget(heap, room);
        long all = budget.Limit;
        for (int i = 0; i < 3; i++) budget.TakeArray(large);
        Assert.Throws<InsufficientMemoryException>(() => budget.TakeArray(large));
        Assert.InRange(3 * large + budget.Left + large, 0, heap - (heap - room) / 4);
        budget.LoadsChanged(1);
        budget.TakeArray(large);
        budget.LoadsChanged(-1);
        for (int i = 0; i < 4; i++) budget.GiveArray(large);
        Assert.Equal(all, budget.Limit);
        budget.TakeArray(small);
        Assert.Equal(all, budget.Limit);
    }

    [Fact]
    public void ALargeHeapIsNotFull()
    {
        GC.Collect();
        Assert.False(new HeapBudget(1L << 50, 1L << 49).IsHeapFull());
    }
}
