using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>Compares digests with those of the reference library, at every length where the algorithm changes.</summary>
public sealed class XxHash3Tests
{
    [Theory]
    [InlineData(0, 0x2d06800538d394c2UL)]
    [InlineData(1, 0x4c5cca45d0f4811fUL)]
    [InlineData(2, 0x29c60963cbfa4e6eUL)]
    [InlineData(3, 0x6e3e2670e61106acUL)]
    [InlineData(4, 0x5c4c63133443d03fUL)]
    [InlineData(7, 0x46a5c724d51fe43fUL)]
    [InlineData(8, 0xf9fd4dd0b04d78f5UL)]
    [InlineData(9, 0x7c20df9712c26edfUL)]
    [InlineData(12, 0x16d2dff54dc2ee45UL)]
    [InlineData(16, 0x86abf6baccea0858UL)]
    [InlineData(17, 0xb58bf5dc5022d071UL)]
    [InlineData(32, 0xe3712ed84c04a66eUL)]
    [InlineData(33, 0xa4dee99b093e1f73UL)]
    [InlineData(64, 0x1291d2d4042330ddUL)]
    [InlineData(65, 0x97c6bf83217e5ec9UL)]
    [InlineData(96, 0x81296929fc063365UL)]
    [InlineData(97, 0xf145a45b658ab9ddUL)]
    [InlineData(128, 0x10d17f72c0ccba41UL)]
    [InlineData(129, 0x1648bdc3db49d1a2UL)]
    [InlineData(144, 0xb46dbfc6d9e31abaUL)]
    [InlineData(200, 0xc0fbc0f4e181c826UL)]
    [InlineData(240, 0xb6cfaf343fab81e6UL)]
    [InlineData(241, 0x956cae592c67279eUL)]
    [InlineData(255, 0x64a6073025eb7929UL)]
    [InlineData(256, 0xb15e550733c5dfacUL)]
    [InlineData(512, 0xa0e9790eb93990d7UL)]
    [InlineData(1000, 0x571d5cbfef44331bUL)]
    [InlineData(1023, 0xa94ffcd2254368e4UL)]
    [InlineData(1024, 0x70bd377d9574f4bbUL)]
    [InlineData(1025, 0x66c4487c41e127a7UL)]
    [InlineData(1088, 0xf43dc77e28a9acbcUL)]
    [InlineData(2048, 0x8b46caa67dab3a30UL)]
    [InlineData(2049, 0x581cd184fd9b76c5UL)]
    [InlineData(4096, 0x9ddd66c14af0daffUL)]
    [InlineData(5000, 0xe4007929540f095cUL)]
    [InlineData(10000, 0x9e5d23d943285455UL)]
    public void MatchesReferenceLibrary(int length, ulong expected)
    {
        byte[] data = [.. Enumerable.Range(0, length).Select(i => (byte)(i * 131 + 7))];
        Assert.Equal(expected, XxHash3.Hash(data));
    }

    [Theory]
    [InlineData("Hello world", 0xb6acb9d84a38ff74UL)]
    [InlineData("hello", 0x9555e8555c62dcfdUL)]
    [InlineData("v8lf0c11xh8ymlqztfd3eeq16kfn4sspw7fqmnuuq3k3t75em5wdizgcdw7uc26nnf961u2jkfzkjytls2kwlj7626sd",
        0x00006c38adf31777UL)]
    public void MatchesPublishedDigests(string text, ulong expected) =>
        Assert.Equal(expected, XxHash3.Hash(Encoding.ASCII.GetBytes(text)));
}
