using RedisClone.Storage.Memory;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

/// <summary>The behaviour of an arena at the limits of handles and memory.</summary>
public sealed class ArenaLimitTests(ITestOutputHelper output)
{
    private const int Page = 4096, Chunk = 512 << 10;

    [Fact]
    public void LargeBuffersLeaveHandlesToSharedBuffers()
    {
        var arena = new Arena();
        arena.Restrict(chunks: 4, dedicated: 1_000);
        var large = new List<uint>();
        for (int i = 0; i < 50; i++)
        {
            large.Add(arena.Allocate(Chunk / 2 + 1 + i * Page));
            arena.Whole(large[i]).Fill((byte)i);
        }
        uint small = arena.Allocate(100);
        arena.Check();
        Assert.False(arena.IsNearlyFull);
        for (int i = 0; i < large.Count; i++)
        {
            Assert.Equal(-1, arena.Whole(large[i]).IndexOfAnyExcept((byte)i));
            Assert.Equal((byte)i, arena.FromStart(large[i])[0]);
            Assert.Equal((byte)i, arena.Peek(large[i], Page)[^1]);
            arena.Prefetch(large[i], lines: 2);
            arena.Free(large[i]);
        }
        arena.Free(small);
        arena.Check();
        Assert.Equal(0, arena.LiveBuffers);
    }

    [Fact]
    public void ArenasShareBudget()
    {
        var budget = new HeapBudget(16 * Chunk);
        Arena one = new(), other = new();
        one.Restrict(budget);
        other.Restrict(budget);
        uint large = one.Allocate(10 * Chunk);
        Assert.False(budget.IsShortFor(Chunk));
        Assert.Throws<InsufficientMemoryException>(() => other.Allocate(6 * Chunk + 1));
        uint small = other.Allocate(Page);
        Assert.True(budget.IsShortFor(4 * Chunk));
        Action fill = () =>
        {
            while (true) other.Allocate(Chunk / 2);
        };
        Assert.Throws<InsufficientMemoryException>(fill);
        one.Free(large);
        Assert.False(budget.IsShortFor(8 * Chunk));
        other.Free(small);
        one.Check();
        other.Check();
    }

    [Theory]
    [InlineData(32, 16)]
    [InlineData(96, 64)]
    [InlineData(1600, 1500)]
    public void BudgetLeavesPartOfHeapFree(long heap, long arenas) => Assert.Equal(arenas << 20, HeapBudget.PartOf(heap << 20));

    [Fact]
    public void ArenasAndClientsShareTheHeap()
    {
        const long heap = 128 << 20, room = 104 << 20, least = heap / 16, most = heap / 4;
        var budget = new HeapBudget(heap, room);
        Assert.Equal(room - least, budget.Limit);
        Assert.Equal(most, budget.ClientLimit);
        // Clients may take a sixteenth without any effect on arenas. What they take beyond it, arenas cannot take.
        budget.ClientsChanged(least);
        Assert.Equal(budget.Limit, budget.Left);
        budget.ClientsChanged(most - least);
        Assert.Equal(room - most, budget.Left);
        var arena = new Arena();
        arena.Restrict(budget);
        // Arrays that fit into the reserve.
        uint[] handles = [.. Enumerable.Range(0, 9).Select(_ => arena.Allocate(((int)(room - most) - Chunk) / 9))];
        Assert.Throws<InsufficientMemoryException>(() => arena.Allocate(2 * Chunk));
        // As arenas take more, clients must take less.
        Assert.InRange(budget.ClientLimit, most, most + 2 * Chunk);
        budget.ClientsChanged(-most);
        uint[] further = [.. Enumerable.Range(0, 3).Select(_ => arena.Allocate(((int)(most - least) - Chunk) / 3))];
        Assert.InRange(budget.ClientLimit, least, least + 3 * Chunk);
        foreach (uint handle in handles) arena.Free(handle);
        foreach (uint handle in further) arena.Free(handle);
        Assert.Equal(most, budget.ClientLimit);
        Assert.False(new HeapBudget(room).LimitsClients);
    }

    [Fact]
    public void NearlyFullArenaStillHasRoom()
    {
        var arena = new Arena();
        arena.Restrict(chunks: 33, dedicated: 16);
        var handles = new List<uint>();
        for (int i = 0; i < 15; i++) handles.Add(arena.Allocate(Chunk));
        Assert.True(arena.IsNearlyFull);
        arena.Free(handles[^1]);
        handles.RemoveAt(handles.Count - 1);
        Assert.False(arena.IsNearlyFull);
        while (!arena.IsNearlyFull) handles.Add(arena.Allocate(Page));
        for (int i = 0; i < 3 * Chunk / Page; i++) handles.Add(arena.Allocate(Page));
        long live = arena.LiveBuffers;
        Action fill = () =>
        {
            for (int i = 0; i < 33 * Chunk / Page; i++) handles.Add(arena.Allocate(Page));
        };
        Assert.Throws<InsufficientMemoryException>(fill);
        Assert.InRange(arena.LiveBuffers, live, live + 2 * Chunk / Page);
        arena.Check();
        foreach (uint handle in handles) arena.Free(handle);
        arena.Trim();
        arena.Check();
        Assert.False(arena.IsNearlyFull);
        Assert.Equal(0, arena.BytesReserved);
    }

    /// <summary>Handles are reused: no number of short-lived values uses them up.</summary>
    [Fact]
    public void HandlesOfLargeBuffersAreReused()
    {
        var arena = new Arena();
        arena.Restrict(chunks: 4, dedicated: 3);
        for (int i = 0; i < 100; i++)
        {
            uint first = arena.Allocate(Chunk), second = arena.Allocate(Chunk);
            Assert.NotEqual(first, second);
            arena.Free(first);
            arena.Free(second);
        }
        arena.Check();
    }

    [Theory]
    [InlineData(200)]
    [InlineData(20_000)]
    [InlineData(700_000)]
    public void FailedAllocationChangesNothing(int largest)
    {
        Random random = Seed.Random(output);
        var arena = new Arena();
        var live = new List<uint>();
        for (int step = 0; step < 600; step++)
        {
            int size = random.Length(largest);
            for (int n = 1; ; n++)
            {
                FaultPoint.Arm(n);
                uint handle = arena.TryAllocate(size);
                FaultPoint.Disarm();
                arena.Check();
                if (handle == 0) continue;
                live.Add(handle);
                break;
            }
            for (int i = random.Next(3); i > 0 && live.Count > 0; i--)
            {
                int at = random.Next(live.Count);
                arena.Free(live[at]);
                live[at] = live[^1];
                live.RemoveAt(live.Count - 1);
            }
            if (random.Next(50) == 0) arena.Trim();
            Assert.Equal(live.Count, arena.LiveBuffers);
        }
        foreach (uint handle in live) arena.Free(handle);
        arena.Check();
    }

    [Fact]
    public void FreeingBufferTwiceTearsArena()
    {
        var arena = new Arena();
        uint handle = arena.Allocate(50);
        arena.Free(handle);
        Assert.False(arena.IsTorn);
        Assert.Throws<InvalidOperationException>(() => arena.Free(handle));
        Assert.True(arena.IsTorn);

        arena = new Arena();
        uint large = arena.Allocate(Chunk);
        arena.Free(large);
        Assert.Throws<InvalidOperationException>(() => arena.Bytes(large, 1).Length);
        Assert.True(arena.IsTorn);
    }
}
