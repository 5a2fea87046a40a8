using RedisClone.EndToEnd.Tests.Clients;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Studio;

/// <summary>
/// The studio in Debian's Chromium, on a server under load. REDISCLONE_SCREENSHOTS names a folder for the screenshots, from which
/// those in docs/studio/ are taken.
/// </summary>
public sealed class StudioTests
{
    [Fact]
    public async Task EveryScreenWorksInBothWidthsAndThemes()
    {
        int http = Ports.Free();
        using ServerProcess server = ServerProcess.Ours(
            "--http-port", $"{http}", "--appendonly", "yes", "--slowlog-log-slower-than", "50000", "--latency-monitor-threshold", "5");
        string? folder = Environment.GetEnvironmentVariable("REDISCLONE_SCREENSHOTS");
        using var browser = new ClientProgram("node", ["studio.mjs", $"{http}", $"{server.Port}", .. folder is null ? Array.Empty<string>() : [folder]]);
        Assert.EndsWith("tour complete\n", await browser.Finish(), StringComparison.Ordinal);
        server.AssertWell();
    }

    /// <summary>REDISCLONE_SCREENSHOTS names a folder for the pictures, from which those in docs/operations/ are taken.</summary>
    [Fact]
    public async Task TroublesAreFoundByThePageAlone()
    {
        int http = Ports.Free();
        using ServerProcess server = ServerProcess.Ours(
            "--http-port", $"{http}", "--appendonly", "yes", "--appendfsync", "always", "--busy-reply-threshold", "200");
        string? folder = Environment.GetEnvironmentVariable("REDISCLONE_SCREENSHOTS");
        string[] pictures = folder is null ? [] : [Path.Combine(folder, "operations")];
        using var browser = new ClientProgram("node", ["studio-troubles.mjs", $"{http}", $"{server.Port}", .. pictures]);
        Assert.EndsWith("7 troubles found\n", await browser.Finish(), StringComparison.Ordinal);
        server.AssertWell();
    }

    [Fact]
    public async Task SigningInIsAskedForAndEnds()
    {
        int http = Ports.Free();
        using ServerProcess server = ServerProcess.Ours(
            "--http-port", $"{http}", "--requirepass", "main", "--user", "ann", "on", ">secret", "~*", "&*", "+@all");
        using var browser = new ClientProgram("node", "studio-session.mjs", $"{http}", $"{server.Port}");
        Assert.EndsWith("tour complete\n", await browser.Finish(), StringComparison.Ordinal);
    }
}
