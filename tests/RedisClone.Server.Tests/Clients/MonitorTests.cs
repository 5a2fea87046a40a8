using RedisClone.Configuration;

namespace RedisClone.Server.Tests.Clients;

/// <summary>MONITOR shows the commands of several event loops in the order in which they were executed.</summary>
public sealed class MonitorTests
{
    private const int Writers = 6, Rounds = 300;

    private static readonly string[] s_keys = ["a", "b", "c"];

    [Fact]
    public async Task LinesAreInTheOrderOfExecution()
    {
        await using RunningServer server = await RunningServer.StartAsync(new ServerConfig(), TransportKind.EventLoop, static config => config.IoLoops = 4);
        using TestClient monitor = server.Connect(), last = server.Connect();
        Assert.Equal("OK", monitor.Run("MONITOR"));
        Task<List<(string Key, string Value)>> lines = OwnThread.Run(() => Watch(monitor));
        Dictionary<string, string>[] replaced = await Task.WhenAll(Enumerable.Range(0, Writers).Select(i => OwnThread.Run(() => Write(server, i))));
        last.Run("SET end end GET");
        var present = s_keys.ToDictionary(static key => key, static _ => "nil");
        Dictionary<string, string> before = replaced.SelectMany(static pairs => pairs).ToDictionary();
        List<(string Key, string Value)> shown = await lines;
        Assert.Equal(before.Count, shown.Count);
        foreach ((string key, string value) in shown)
        {
            Assert.Equal(present[key], before[value]);
            present[key] = value;
        }
    }

    /// <summary>A command that waits is shown once, and one that is refused because of its keys is not shown.</summary>
    [Fact]
    public async Task CommandsAreShownOnce()
    {
        await using RunningServer server = await RunningServer.StartAsync(new ServerConfig(), TransportKind.EventLoop);
        using TestClient monitor = server.Connect(), waiting = server.Connect(), other = server.Connect();
        monitor.Run("MONITOR");
        waiting.Send("BLPOP", "list", "0");
        Assert.True(SpinWait.SpinUntil(() => server.Core.Blocked.Count == 1, TimeSpan.FromSeconds(60)));
        other.Run("RPUSH list x");
        Assert.Equal("[list x]", waiting.Read());
        other.Run("CONFIG SET maxmemory 1");
        other.Run("SET key value");
        other.Run("PING");
        string[] shown = [.. Enumerable.Range(0, 3).Select(_ => monitor.Read().Split("] ")[1])];
        Assert.Equal(["\"BLPOP\" \"list\" \"0\"", "\"RPUSH\" \"list\" \"x\"", "\"PING\""], shown);
    }

    private static List<(string Key, string Value)> Watch(TestClient monitor)
    {
        var lines = new List<(string Key, string Value)>();
        while (true)
        {
            string[] words = monitor.Read().Split('"');
            if (words[1] != "SET") continue;
            if (words[3] == "end") return lines;
            lines.Add((words[3], words[5]));
        }
    }

    /// <summary>Returns, for each value that was written, the value before it.</summary>
    private static Dictionary<string, string> Write(RunningServer server, int number)
    {
        var before = new Dictionary<string, string>();
        using TestClient client = server.Connect();
        for (int round = 0; round < Rounds; round++)
        {
            string value = $"{number}.{round}.";
            client.Send("MULTI");
            foreach (string key in s_keys) client.Send("SET", key, value + key, "GET");
            client.Send("EXEC");
            for (int i = 0; i < 4; i++) client.Read();
            string[] replies = client.Read().Trim('[', ']').Split(' ');
            for (int i = 0; i < s_keys.Length; i++) before.Add(value + s_keys[i], replies[i]);
            foreach (string key in s_keys) client.Send("SET", key, value + "single." + key, "GET");
            foreach (string key in s_keys) before.Add(value + "single." + key, client.Read());
        }
        return before;
    }
}
