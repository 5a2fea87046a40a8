using System.Text;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Tests.Format;

/// <summary>Tests that the manifest is read and written like in Redis.</summary>
public sealed class ManifestTests
{
    [Fact]
    public void ReadsAndWritesTheFormatOfRedis()
    {
        const string text = "file appendonly.aof.2.base.rdb seq 2 type b\n"
            + "file appendonly.aof.1.incr.aof seq 1 type h\nfile appendonly.aof.4.incr.aof seq 4 type i\n";
        Assert.True(Manifest.TryParse(Encoding.ASCII.GetBytes(text), out var manifest, out _));
        Assert.Equal("appendonly.aof.2.base.rdb", manifest.Base!.Name);
        Assert.Equal(text, Encoding.ASCII.GetString(manifest.ToBytes()));
    }

    [Theory]
    [InlineData("", "Found an empty AOF manifest")]
    [InlineData("\n", "Invalid AOF manifest file format")]
    [InlineData("file a seq 1\n", "Invalid AOF manifest file format")]
    [InlineData("file a seq 1 type i x\n", "Invalid AOF manifest file format")]
    [InlineData("file a seq x type i\n", "Invalid AOF manifest file format")]
    [InlineData("file \"a seq 1 type i\n", "Invalid AOF manifest file format")]
    [InlineData("file a seq 1 type x\n", "Unknown AOF file type")]
    [InlineData("file a/b seq 1 type i\n", "File can't be a path, just a filename")]
    [InlineData("file a\0b seq 1 type i\n", "Invalid AOF manifest file format")]
    [InlineData("file a seq 1 type b\nfile b seq 2 type b\n", "Found duplicate base file information")]
    [InlineData("file a seq 2 type i\nfile b seq 1 type i\n", "Found a non-monotonic sequence number")]
    [InlineData("file a seq 9223372036854775807 type i\n", "A sequence number is out of range")]
    [InlineData("file a seq 9223372036854775807 type h\n", "A sequence number is out of range")]
    [InlineData("file a seq 4611686018427387904 type b\n", "A sequence number is out of range")]
    [InlineData("file a seq -1 type i\n", "A sequence number is out of range")]
    [InlineData("file a seq 9223372036854775808 type i\n", "Invalid AOF manifest file format")]
    [InlineData("file a seq 1 type i\nfile a seq 2 type i\n", "Found a file name twice")]
    [InlineData("file a seq 1 type b\nfile a seq 2 type i\n", "Found a file name twice")]
    [InlineData("file a seq 2 type i header RC1.incr.aof seq 3 type i header RC1\n", "Found a key twice")]
    [InlineData("file a seq 2 type i FILE b\n", "Found a key twice")]
    [InlineData("file a seq 1 type h\nfile a seq 2 type i\n", "Found a file name twice")]
    [InlineData("file a.1.base.rdb seq 1 type b\nfile a.1.incr.aof seq 1 type i\nfile a.2.incr.aof seq 2 type h\n", "a.2.incr.aof is marked as superseded")]
    [InlineData("file a.1.base.rdb seq 1 type b\nfile a.1.incr.aof seq 1 type h\n", "a.1.incr.aof is marked as superseded")]
    [InlineData("file a seq 2 type i", "The AOF manifest file contains too long line")]
    public void RefusesWithTheErrorsOfRedis(string text, string error)
    {
        Assert.False(Manifest.TryParse(Encoding.ASCII.GetBytes(text), out _, out var found));
        Assert.StartsWith(error, found, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("plain.aof", "plain.aof")]
    [InlineData("with space", "\"with space\"")]
    [InlineData("quo\"te", "\"quo\\\"te\"")]
    [InlineData("it's.aof", "\"it's.aof\"")]
    [InlineData("ümlaut", "\"\\xc3\\xbcmlaut\"")]
    public void QuotesNames(string name, string quoted)
    {
        var manifest = Manifest.Empty.WithIncrement(new(name, 1, ManifestFileKind.Increment));
        Assert.Equal($"file {quoted} seq 1 type i\n", Encoding.ASCII.GetString(manifest.ToBytes()));
        Assert.True(Manifest.TryParse(manifest.ToBytes(), out var again, out _));
        Assert.Equal(name, again.Increments[0].Name);
    }

    [Fact]
    public void SkipsCommentsAndUnknownPairs()
    {
        Assert.True(
            Manifest.TryParse("# a comment\nFILE 'a b' SEQ 7 TYPE i startoffset 12 endoffset 30\n"u8, out var manifest, out _));
        Assert.Equal(new("a b", 7, ManifestFileKind.Increment), manifest.Increments[0]);
    }
}
