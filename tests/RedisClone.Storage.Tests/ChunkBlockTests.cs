using RedisClone.Memory;
using RedisClone.Storage.Memory;

namespace RedisClone.Storage.Tests;

/// <summary>Chunks of arenas that are parts of blocks.</summary>
public sealed class ChunkBlockTests
{
    private const int Size = 2000;
    private const int ChunkBytes = 512 * 1024;

    private readonly ChunkBlocks _blocks = new(ChunkBytes, dropsSparse: true);

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

    /// <summary>Data that grew beside deleted data keeps a few chunks of each block, and the blocks count towards a limit of the heap.</summary>
    [Fact]
    public void SparseBlocksAreLeft()
    {
        Arena deleted = New(), kept = New();
        var survivors = new List<(uint Handle, byte Content)>();
        List<uint> others = [];
        for (int i = 0; i < 120_000; i++)
        {
            if (i % 20 != 0)
            {
                others.Add(deleted.Allocate(Size));
                continue;
            }
            survivors.Add((kept.Allocate(Size), (byte)i));
            kept.Bytes(survivors[^1].Handle, Size).Fill((byte)i);
        }
        int before = _blocks.Count;
        Assert.True(before >= 7, $"{before} blocks");
        foreach (uint handle in others) deleted.Free(handle);
        deleted.TrimAll();
        // A part of the survivors leaves free pages, which are not copied.
        for (int i = survivors.Count - 1; i >= 0; i -= 3)
        {
            kept.Free(survivors[i].Handle);
            survivors.RemoveAt(i);
        }
        for (int round = 0; _blocks.HasLeaving; round++)
        {
            Assert.True(round < 1000, "a block is not left");
            kept.LeaveBlocks(4);
            kept.Check();
        }
        Assert.InRange(_blocks.Count, 1, 2);
        Assert.Equal(0, kept.BytesTaken % ChunkBytes);
        foreach ((uint handle, byte content) in survivors) Assert.Equal(-1, kept.Bytes(handle, Size).IndexOfAnyExcept(content));
        foreach ((uint handle, _) in survivors) kept.Free(handle);
        kept.TrimAll();
        Assert.Equal(0, _blocks.Count);
        Assert.Equal(0, kept.BytesTaken);
    }

    /// <summary>A block that is to be left is used again when no other has room.</summary>
    [Fact]
    public void ABlockThatIsToBeLeftIsUsedBeforeANewOne()
    {
        var taken = new List<(byte[] Bytes, int Start)>();
        for (int i = 0; i < 3 * 60; i++) taken.Add((_blocks.TryTake(out int start)!, start));
        Assert.Equal(3, _blocks.Count);
        for (int i = 0; i < taken.Count; i++)
            if (i % 3 != 0) _blocks.Return(taken[i].Bytes, taken[i].Start);
        Assert.True(_blocks.HasLeaving);
        for (int i = 0; i < 120; i++) Assert.NotNull(_blocks.TryTake(out _));
        Assert.Equal(3, _blocks.Count);
        Assert.False(_blocks.HasLeaving);
        Assert.Null(_blocks.TryTake(out _, toLeave: true));
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
