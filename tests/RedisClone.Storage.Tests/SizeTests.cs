using RedisClone.Storage.Structures;

namespace RedisClone.Storage.Tests;

/// <summary>The sum of two lengths that are allowed may be longer than a buffer.</summary>
public sealed class SizeTests
{
    [Fact]
    public void ASizeThatNoBufferHasIsALackOfMemory()
    {
        Assert.Equal(8 + 3 + 5, Record.SizeOf(3, 5, expires: false, spare: 0));
        Assert.Throws<InsufficientMemoryException>(() => Record.SizeOf(1 << 30, 1 << 30, expires: false, spare: 0));
        Assert.Throws<InsufficientMemoryException>(() => Record.SizeOf(1 << 30, 1 << 30, expires: true, spare: 1 << 30));
        Assert.Throws<InsufficientMemoryException>(() => MemberRecord.SizeOf(1 << 30, NumberForm.None, 1 << 30));
    }
}
