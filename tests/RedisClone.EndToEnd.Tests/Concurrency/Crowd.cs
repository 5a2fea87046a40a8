using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Concurrency;

/// <summary>Clients on threads of their own. The first failure stops all clients and fails the test.</summary>
internal sealed class Crowd(ServerProcess server)
{
    private readonly List<Thread> _threads = [];
    private volatile Exception? _failure;
    private volatile bool _stopped;

    public bool Stopped => _stopped || _failure is not null;

    /// <summary>Adds a client that repeats an action and has a random generator of its own.</summary>
    public void Add(string name, int times, Action<RespClient, Random> act) => Start(name, (client, random) =>
    {
        for (int i = 0; i < times && _failure is null; i++) act(client, random);
    });

    /// <summary>Adds a client that repeats an action until all clients of <see cref="Add"/> are done.</summary>
    public void AddWatcher(string name, Action<RespClient, Random> act) => Start(name, (client, random) =>
    {
        while (!Stopped) act(client, random);
    }, isWatcher: true);

    public void Join()
    {
        foreach (Thread thread in _threads.Where(t => t.Name is null)) thread.Join();
        _stopped = true;
        foreach (Thread thread in _threads) thread.Join();
        if (_failure is { } failure) throw new InvalidOperationException($"{Seed.Note}: {failure.Message}", failure);
    }

    private void Start(string name, Action<RespClient, Random> work, bool isWatcher = false)
    {
        Random random = Seed.Random(name);
        var thread = new Thread(() =>
        {
            try
            {
                using RespClient client = server.Connect();
                work(client, random);
            }
            catch (Exception e)
            {
                _failure ??= e;
            }
        })
        { IsBackground = true };
        if (isWatcher) thread.Name = "watcher";
        _threads.Add(thread);
        thread.Start();
    }
}
