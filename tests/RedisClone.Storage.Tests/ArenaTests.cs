using RedisClone.Storage.Memory;
using Xunit.Abstractions;

namespace RedisClone.Storage.Tests;

public sealed class ArenaTests(ITestOutputHelper output)
{
    /// <summary>Live buffers keep their content while other buffers are allocated and freed, and every byte is counted.</summary>
    [Theory]
    [InlineData(200, 20_000)]
    [InlineData(9_000, 5_000)]
    [InlineData(700_000, 600)]
    public void BuffersNeverOverlapAndAreCounted(int largest, int steps)
    {
        Random random = Seed.Random(output);
        var arena = new Arena();
        var live = new List<(uint Handle, byte Mark)>();
        long used = 0;
        for (int step = 0; step < steps; step++)
        {
            bool growing = step / (steps / 4) % 2 == 0;
            if (live.Count == 0 || random.Next(10) < (growing ? 7 : 3))
            {
                int size = random.Length(largest);
                uint handle = arena.Allocate(size);
                Assert.NotEqual(0u, handle);
                Assert.Equal(arena.Capacity(handle), Arena.RoundUp(size));
                Assert.True(arena.Capacity(handle) >= size);
                var mark = (byte)random.Next(256);
                arena.Whole(handle).Fill(mark);
                used += arena.Capacity(handle);
                live.Add((handle, mark));
            }
            else
            {
                int at = random.Next(live.Count);
                (uint handle, byte mark) = live[at];
                Assert.Equal(-1, arena.Whole(handle).IndexOfAnyExcept(mark));
                used -= arena.Capacity(handle);
                arena.Free(handle);
                live[at] = live[^1];
                live.RemoveAt(live.Count - 1);
            }
            if (random.Next(500) == 0) arena.Trim(random.Next(2) * 100_000);
            Assert.Equal(used, arena.BytesUsed);
            Assert.Equal(live.Count, arena.LiveBuffers);
        }
        foreach ((uint handle, byte mark) in live)
        {
            Assert.Equal(-1, arena.Whole(handle).IndexOfAnyExcept(mark));
            arena.Free(handle);
        }
        arena.Trim();
        Assert.Equal(0, arena.LiveBuffers);
        Assert.Equal(0, arena.BytesUsed);
        Assert.Equal(0, arena.BytesReserved);
    }

    [Fact]
    public void FreedMemoryIsReused()
    {
        var arena = new Arena();
        long reserved = 0;
        for (int round = 0; round < 20; round++)
        {
            var handles = new List<uint>();
            for (int i = 0; i < 20_000; i++) handles.Add(arena.Allocate(16 + i % 400));
            if (round == 0) reserved = arena.BytesReserved;
            Assert.InRange(arena.BytesReserved, 0, reserved + reserved / 8);
            foreach (uint handle in handles) arena.Free(handle);
        }
    }

    [Fact]
    public void TrimmedMemoryIsReusable()
    {
        var arena = new Arena();
        for (int round = 0; round < 3; round++)
        {
            var handles = new List<uint>();
            for (int i = 0; i < 3_000; i++)
            {
                handles.Add(arena.Allocate(1_000));
                arena.Whole(handles[^1]).Fill((byte)i);
            }
            for (int i = 0; i < handles.Count; i++)
                if (i % 100 != 0) arena.Free(handles[i]);
            arena.Trim();
            for (int i = 0; i < handles.Count; i += 100)
            {
                Assert.Equal(-1, arena.Whole(handles[i]).IndexOfAnyExcept((byte)i));
                arena.Free(handles[i]);
            }
        }
        arena.Trim();
        Assert.Equal(0, arena.BytesReserved);
    }
}
