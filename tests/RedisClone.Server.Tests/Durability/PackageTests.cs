using RedisClone.Engine.Durability;
using RedisClone.Memory;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Durability;

public sealed class PackageTests
{
    /// <summary>Two renters of one array would write over each other's data.</summary>
    [Fact]
    public void AFailedWriteReturnsEachArrayOnce()
    {
        if (!FaultPoint.Exist) return;
        var package = new Package();
        FaultPoint.Arm(2);
        Assert.Throws<OutOfMemoryException>(() => package.Write(new byte[64 * 1024]));
        Assert.True(FaultPoint.Disarm());
        package.Dispose();
        byte[][] rented = [.. Enumerable.Range(0, 8).Select(static _ => RentedArrays.Rent<byte>(16 * 1024))];
        Assert.Equal(rented.Length, rented.Distinct().Count());
    }
}
