using System.Text;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Cluster;

/// <summary>The slots of keys are those of redis-server.</summary>
public sealed class KeySlotTests
{
    [Theory]
    [InlineData("", 0)]
    [InlineData("foo", 12182)]
    [InlineData("bar", 5061)]
    [InlineData("123456789", 12739)]
    [InlineData("{foo}bar", 12182)]
    [InlineData("a{foo}{bar}", 12182)]
    public void TheSlotIsThatOfRedis(string key, int slot) => Assert.Equal(slot, KeySlot.Of(Encoding.ASCII.GetBytes(key)));

    [Fact]
    public void AKeyWithoutATagCountsAsAWhole()
    {
        Assert.Equal(Slow("foo{"), KeySlot.Of("foo{"u8));
        Assert.Equal(Slow("{}foo"), KeySlot.Of("{}foo"u8));
        Assert.Equal(Slow("foo}x{"), KeySlot.Of("foo}x{"u8));
    }

    [Fact]
    public void WordsGiveTheSameAsBits()
    {
        var random = new Random(1);
        for (int length = 0; length < 200; length++)
        {
            string key = new([.. Enumerable.Range(0, length).Select(_ => (char)random.Next(0, 256)).Where(c => c != '{')]);
            Assert.Equal(Slow(key), KeySlot.Of(Encoding.Latin1.GetBytes(key)));
        }
    }

    [Theory]
    [InlineData("{foo}*", 12182)]
    [InlineData("x{foo}*", 12182)]
    [InlineData("foo", 12182)]
    [InlineData("*{foo}", -1)]
    [InlineData("{f*o}", -1)]
    [InlineData("foo*", -1)]
    public void APatternHasASlotIfItsTagIsFixed(string pattern, int slot) => Assert.Equal(slot, KeySlot.OfPattern(Encoding.ASCII.GetBytes(pattern)));

    private static int Slow(string key)
    {
        int crc = 0;
        foreach (char c in key)
        {
            crc ^= c << 8;
            for (int bit = 0; bit < 8; bit++) crc = ((crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1) & 0xFFFF;
        }
        return crc % 16384;
    }
}
