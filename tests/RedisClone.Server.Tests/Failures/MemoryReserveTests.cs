using RedisClone.Engine.Failures;

namespace RedisClone.Server.Tests.Failures;

/// <summary>The reserve comes back after a failure as a whole, in pieces for which a heap full of holes has room.</summary>
public sealed class MemoryReserveTests
{
    private const int LargeObject = 85_000;

    private int _largest, _allocated;
    private int _left = int.MaxValue;

    [Fact]
    public void ItIsRefilledAsAWholeWhenThereIsMemory()
    {
        const int Bytes = 1_000_000;
        var reserve = new MemoryReserve(Bytes, Allocate);
        Assert.False(reserve.IsOut);
        Assert.InRange(_allocated, Bytes, Bytes + LargeObject);
        Assert.InRange(_largest, 1, LargeObject);

        reserve.Release();
        Assert.True(reserve.IsOut);
        for (int pieces = 0; pieces < 3; pieces++)
        {
            _left = pieces;
            reserve.Refill();
            Assert.True(reserve.IsOut);
        }
        (_left, _allocated) = (int.MaxValue, 0);
        reserve.Refill();
        Assert.False(reserve.IsOut);
        Assert.InRange(_allocated, Bytes, Bytes + LargeObject);

        _allocated = 0;
        reserve.Refill();
        Assert.Equal(0, _allocated);
    }

    private byte[] Allocate(int size)
    {
#pragma warning disable CA2201 // Stands for the runtime's own exception.
        if (_left-- <= 0) throw new OutOfMemoryException();
#pragma warning restore CA2201
        _allocated += size;
        _largest = Math.Max(_largest, size);
        return new byte[size];
    }
}
