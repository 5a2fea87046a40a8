using RedisClone.Journal.Rdb;

namespace RedisClone.Journal.Tests.Rdb;

/// <summary>The memory that the writer of a listpack takes. In a small heap, there is none to spare.</summary>
public sealed class ListpackMemoryTests
{
    [Fact]
    public void ALargeElementTakesItsSizeOnce()
    {
        const int size = 8 << 20;
        byte[] large = new byte[size];
        var writer = new ListpackWriter();
        writer.Append("field"u8);
        long before = GC.GetAllocatedBytesForCurrentThread();
        writer.Append(large);
        writer.Append(12345);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, size, size * 5L / 4);
        Assert.InRange(writer.Finish().Length, size, size + 100);
        writer.Clear();
        writer.Append("field"u8);
        Assert.Equal(14, writer.Finish().Length);
    }
}
