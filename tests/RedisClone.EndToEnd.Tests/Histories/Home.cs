using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Histories;

/// <summary>A data directory with a server that can be killed and started again.</summary>
internal sealed class Home : IDisposable
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(2);

    private readonly string _folder = Directory.CreateTempSubdirectory("redisclone-history-").FullName;
    private readonly string[] _arguments;
    private readonly List<long> _deaths = [];

    public Home(Random random)
    {
        // With 0 loops, as many serve as the load needs, and connections move between them.
        _arguments =
        [
            "--dir", _folder, "--appendonly", "yes", "--appendfsync", "always",
            "--io-loops", $"{(LongRun.IsLong ? 8 : random.Next(0, 5))}", "--shards", $"{1 << random.Next(2, 7)}",
            "--transport", random.Next(4) == 0 ? "sockets" : "eventloop",
        ];
        Server = ServerProcess.Ours(_arguments);
    }

    public ServerProcess Server { get; private set; }

    public int Deaths
    {
        get
        {
            lock (_deaths) return _deaths.Count;
        }
    }

    public void KillAndRestart()
    {
        Server.Kill();
        long at = Stopwatch.GetTimestamp();
        Server.Dispose();
        Server = ServerProcess.Ours(_arguments);
        lock (_deaths)
        {
            _deaths.Add(at);
            Monitor.PulseAll(_deaths);
        }
    }

    /// <summary>Waits until the server has been killed n times and is running again. Returns the time of the n-th kill.</summary>
    public long AwaitDeath(int n)
    {
        lock (_deaths)
        {
            while (_deaths.Count <= n)
                if (!Monitor.Wait(_deaths, s_patience))
                    throw new InvalidOperationException("a connection ended, but the server was not killed");
            return _deaths[n];
        }
    }

    public void Dispose()
    {
        Server.Dispose();
        Directory.Delete(_folder, recursive: true);
    }
}
