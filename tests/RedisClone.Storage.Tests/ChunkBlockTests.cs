using RedisClone.Memory;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Tests;

/// <summary>Chunks of arenas that are parts of blocks.</summary>
public sealed class ChunkBlockTests
{
    private const int Size = 2000;
    private const int ChunkBytes = 512 * 1024;

    private readonly ChunkBlocks _blocks = new(ChunkBytes);

    [Fact]
    public void ArenasShareABlockWithoutSharingABuffer()
    {
        Arena[] arenas = [New(), New(), New()];
        var random = new Random(20261127);
        var live = new List<(Arena Arena, uint Handle, byte Content)>();
        for (int i = 0; i < 60_000; i++)
        {
            if (live.Count > 0 && random.Next(3) == 0)
            {
                int at = random.Next(live.Count);
                live[at].Arena.Free(live[at].Handle);
                (live[at], live[^1]) = (live[^1], live[at]);
                live.RemoveAt(live.Count - 1);
                continue;
            }
            Arena arena = arenas[random.Next(arenas.Length)];
            uint handle = arena.Allocate(Size);
            arena.Bytes(handle, Size).Fill((byte)i);
            live.Add((arena, handle, (byte)i));
        }
        Assert.True(_blocks.Count is > 1 and < 4, $"{_blocks.Count} blocks");
        foreach ((Arena arena, uint handle, byte content) in live) Assert.Equal(-1, arena.Bytes(handle, Size).IndexOfAnyExcept(content));
        foreach (Arena arena in arenas) arena.Check();
    }

    [Fact]
    public void AnEmptyBlockIsDropped()
    {
        Arena first = New(), second = New();
        List<uint> handles = [];
        for (int i = 0; i < 40_000; i++) handles.Add((i % 2 == 0 ? first : second).Allocate(Size));
        Assert.True(_blocks.Count > 1);
        for (int i = 0; i < handles.Count; i++) (i % 2 == 0 ? first : second).Free(handles[i]);
        first.TrimAll();
        Assert.True(_blocks.Count > 0);
        second.TrimAll();
        Assert.Equal(0, _blocks.Count);
        Assert.Equal(0, first.BytesTaken + second.BytesTaken);
    }

    [Fact]
    public void AReturnedChunkIsTakenAgain()
    {
        byte[]? bytes = _blocks.TryTake(out int start);
        Assert.NotNull(bytes);
        bytes.AsSpan(start, ChunkBytes).Fill(1);
        byte[]? other = _blocks.TryTake(out int second);
        Assert.Same(bytes, other);
        Assert.True(second >= start + ChunkBytes);
        _blocks.Return(bytes, start);
        Assert.Same(bytes, _blocks.TryTake(out int again));
        Assert.Equal(start, again);
        if (OperatingSystem.IsLinux()) Assert.Equal(-1, bytes.AsSpan(start, ChunkBytes).IndexOfAnyExcept((byte)0));
    }

    [Fact]
    public void EveryChunkOfABlockHasItsOwnBytes()
    {
        var places = new HashSet<int>();
        byte[]? block = _blocks.TryTake(out int start);
        Assert.NotNull(block);
        do
        {
            Assert.True(places.Add(start));
            Assert.Equal(0, (start - places.Min()) % ChunkBytes);
            Assert.True(start + ChunkBytes <= block.Length);
        }
        while (_blocks.TryTake(out start) == block);
        Assert.True(places.Count > 50, $"{places.Count} chunks");
        Assert.Equal(2, _blocks.Count);
    }

    [Fact]
    public void AnAbandonedArenaReturnsItsChunks()
    {
        FillAndAbandon();
        for (int attempt = 0; attempt < 100 && _blocks.Count > 0; attempt++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Assert.Equal(0, _blocks.Count);
    }

    [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
    private void FillAndAbandon()
    {
        Arena arena = New();
        for (int i = 0; i < 1000; i++) arena.Allocate(Size);
        Assert.Equal(1, _blocks.Count);
    }

    private Arena New()
    {
        var arena = new Arena();
        arena.UseBlocks(_blocks);
        return arena;
    }
}
