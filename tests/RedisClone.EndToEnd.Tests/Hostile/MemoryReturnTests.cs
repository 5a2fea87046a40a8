using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>The server returns the memory of a burst to the system after the burst.</summary>
public sealed class MemoryReturnTests
{
    private const int Megabyte = 1024 * 1024;
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(2);

    [Fact]
    public void MemoryOfHugeRepliesIsReturned()
    {
        const int value = 40 * Megabyte;
        using ServerProcess server = ServerProcess.Ours();
        using RespClient client = server.Connect();
        long before = server.ResidentBytes;
        client.Call("SETRANGE", "huge", $"{value - 1}", "x");
        RespClient[] readers = [.. Enumerable.Range(0, 6).Select(_ => server.Connect())];
        foreach (RespClient reader in readers) reader.Send("GET", "huge");
        foreach (RespClient reader in readers)
        {
            Assert.Equal($"${value}", reader.ReadLine());
            reader.Skip(value + 2);
            reader.Dispose();
        }
        client.Expect(":1", "DEL", "huge");
        var waited = Stopwatch.StartNew();
        // The runtime keeps some memory.
        while (server.ResidentBytes > before + 2 * value)
        {
            Assert.True(waited.Elapsed < s_patience, $"{server.ResidentBytes / Megabyte} MB are resident, {before / Megabyte} before");
            Thread.Sleep(200);
        }
        server.AssertWell();
    }
}
