using System.Text;

namespace RedisClone.Server.Tests.Commands;

/// <summary>
/// Clients compute digests themselves, so DIGEST and IFDEQ must match the reference library of XXH3. The algorithm changes at the
/// lengths of these values.
/// </summary>
public sealed class DigestTests
{
    private readonly CommandHost _host = new();

    [Theory]
    [InlineData(0, "2d06800538d394c2")]
    [InlineData(3, "6e3e2670e61106ac")]
    [InlineData(4, "5c4c63133443d03f")]
    [InlineData(8, "f9fd4dd0b04d78f5")]
    [InlineData(9, "7c20df9712c26edf")]
    [InlineData(16, "86abf6baccea0858")]
    [InlineData(17, "b58bf5dc5022d071")]
    [InlineData(128, "10d17f72c0ccba41")]
    [InlineData(129, "1648bdc3db49d1a2")]
    [InlineData(240, "b6cfaf343fab81e6")]
    [InlineData(241, "956cae592c67279e")]
    [InlineData(1024, "70bd377d9574f4bb")]
    [InlineData(1025, "66c4487c41e127a7")]
    [InlineData(10000, "9e5d23d943285455")]
    public void ADigestMatchesTheReferenceLibrary(int length, string expected)
    {
        byte[] value = [.. Enumerable.Range(0, length).Select(i => (byte)(i * 131 + 7))];
        Check(Encoding.Latin1.GetString(value), expected);
    }

    [Theory]
    [InlineData("Hello world", "b6acb9d84a38ff74")]
    [InlineData("hello", "9555e8555c62dcfd")]
    [InlineData(
        "v8lf0c11xh8ymlqztfd3eeq16kfn4sspw7fqmnuuq3k3t75em5wdizgcdw7uc26nnf961u2jkfzkjytls2kwlj7626sd", "00006c38adf31777")]
    public void ADigestMatchesTheDocumentation(string value, string expected) => Check(value, expected);

    private void Check(string value, string expected)
    {
        Assert.Equal("OK", _host.Call("SET", "key", value));
        Assert.Equal(expected, _host.Call("DIGEST", "key"));
        Assert.Equal("OK", _host.Call("SET", "key", "met", "IFDEQ", expected.ToUpperInvariant()));
        Assert.Equal("met", _host.Call("GET", "key"));
    }
}
