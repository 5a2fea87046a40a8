using System.Diagnostics;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Hostile;

/// <summary>
/// A well-behaved client beside hostile clients. It must be served, read the values that it wrote, and get its replies soon.
/// </summary>
internal sealed class Witness : IDisposable
{
    private const int Keys = 100;

    private readonly RespClient _client;
    private readonly Thread _thread;
    private readonly List<TimeSpan> _waits = [];
    private volatile bool _stopped;
    private Exception? _failure;

    public Witness(RespClient client)
    {
        _client = client;
        for (int i = 0; i < Keys; i++) Set(i, 0);
        _thread = new Thread(Run) { IsBackground = true };
        _thread.Start();
    }

    public int Served => _waits.Count;

    /// <summary>Returns the latency that this share of the replies did not exceed.</summary>
    public TimeSpan Wait(double share) => _waits.Order().ElementAt((int)((_waits.Count - 1) * share));

    /// <summary>Stops the client. Fails if the client was not served correctly.</summary>
    public void Stop()
    {
        _stopped = true;
        _thread.Join();
        if (_failure is not null) throw new InvalidOperationException($"the well-behaved client: {_failure.Message}", _failure);
    }

    public void Dispose()
    {
        _stopped = true;
        _client.Dispose();
    }

    private static string Key(int i) => $"witness:{i}";

    private void Run()
    {
        try
        {
            for (int round = 0; !_stopped; round++)
            {
                for (int i = 0; i < Keys && !_stopped; i++)
                {
                    long start = Stopwatch.GetTimestamp();
                    _client.Expect($"$\"{round}\"", "GET", Key(i));
                    Set(i, round + 1);
                    _waits.Add(Stopwatch.GetElapsedTime(start) / 2);
                    Thread.Sleep(1);
                }
            }
        }
        catch (Exception e)
        {
            _failure = e;
        }
    }

    private void Set(int i, int round) => _client.Expect("+OK", "SET", Key(i), $"{round}");
}
