using System.Collections.Concurrent;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Cluster;

/// <summary>A client that counts in keys of the first slots without a pause, and follows redirections like a client library.</summary>
internal sealed class ClusterLoad : IDisposable
{
    private readonly Dictionary<int, int> _ports = [];
    private readonly Dictionary<int, RespClient> _clients = [];
    private readonly Dictionary<string, long> _confirmed = [];
    private readonly (string Name, int Slot)[] _keys;
    private readonly int _first;
    private readonly Thread _thread;
    private volatile bool _stops;

    /// <param name="number">A number of this client, for names of its own.</param>
    /// <param name="slots">The keys have slots below this.</param>
    /// <param name="first">The port of the node that serves these slots at the beginning.</param>
    public ClusterLoad(int number, int slots, int first)
    {
        _first = first;
        _keys = [.. Keys(slots, $"load{number}:").Take(300)];
        _thread = new Thread(Run) { IsBackground = true };
        _thread.Start();
    }

    /// <summary>The errors that a client library would not hide, and the failed connections.</summary>
    public ConcurrentQueue<string> Errors { get; } = [];

    public int Slots => _keys.Select(static key => key.Slot).Distinct().Count();

    public int Redirections { get; private set; }

    /// <summary>Names with slots below a number.</summary>
    public static IEnumerable<(string Name, int Slot)> Keys(int slots, string prefix)
    {
        for (int i = 0; ; i++)
        {
            string name = $"{prefix}{i}";
            int slot = Storage.Memory.KeySlot.Of(System.Text.Encoding.ASCII.GetBytes(name));
            if (slot < slots) yield return (name, slot);
        }
    }

    /// <summary>Stops, and checks that the cluster has everything that it confirmed.</summary>
    public void StopAndCheck(ClusterOfNodes cluster)
    {
        _stops = true;
        _thread.Join();
        foreach ((string key, long count) in _confirmed) Assert.InRange(cluster.Follow("GET", key).Number(), count, long.MaxValue);
    }

    private void Run()
    {
        for (int i = 0; !_stops; i++)
        {
            (string key, int slot) = _keys[i % _keys.Length];
            int port = _ports.GetValueOrDefault(slot, _first);
            try
            {
                if (!_clients.TryGetValue(port, out RespClient? client)) _clients[port] = client = new RespClient(port);
                Reply reply = client.Call("INCR", key);
                if (!reply.IsError)
                {
                    _confirmed[key] = reply.Integer;
                }
                else if (reply.Text!.StartsWith("MOVED ", StringComparison.Ordinal))
                {
                    Redirections++;
                    _ports[slot] = int.Parse(reply.Text[(reply.Text.LastIndexOf(':') + 1)..]);
                }
                else
                {
                    Errors.Enqueue(reply.Text!);
                    Thread.Sleep(20);
                }
            }
            catch (Exception failure) when (failure is IOException or System.Net.Sockets.SocketException or InvalidDataException)
            {
                Errors.Enqueue(failure.Message);
                if (_clients.Remove(port, out RespClient? lost)) lost.Dispose();
                Thread.Sleep(20);
            }
        }
    }

    public void Dispose()
    {
        _stops = true;
        _thread.Join();
        foreach (RespClient client in _clients.Values) client.Dispose();
    }
}
