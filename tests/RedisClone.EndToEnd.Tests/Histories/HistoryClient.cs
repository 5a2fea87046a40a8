using System.Diagnostics;
using System.Net.Sockets;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Histories;

/// <summary>
/// One client of a history. It sends requests, records their replies with the times, and opens a new connection after a kill of
/// the server.
/// </summary>
internal sealed class HistoryClient(Home home, Workload workload, int id, int operations, Random random)
{
    private const int IdsPerLife = 1000;

    private readonly List<Operation> _history = [];
    private int _done;

    public IReadOnlyList<Operation> History => _history;

    /// <summary>The number of operations so far. Another thread reads it.</summary>
    public int Done => Volatile.Read(ref _done);

    public void Run()
    {
        while (_done < operations)
        {
            int life = home.Deaths;
            try
            {
                using RespClient client = home.Server.Connect();
                while (_done < operations)
                    foreach ((Form form, string[][] commands) in workload.Next(random)) Perform(client, life, form, commands);
            }
            catch (Exception e) when (e is EndOfStreamException or SocketException)
            {
                long death = home.AwaitDeath(life);
                // An operation that was invoked after the kill had no effect. An earlier operation may have taken effect until
                // the kill.
                if (_history is [.., { IsUnknown: true, Returned: long.MaxValue } last]) _history.RemoveAt(_history.Count - 1);
                else continue;
                if (last.Invoked < death) _history.Add(last with { Returned = death });
            }
        }
    }

    /// <summary>Reads all keys after the other clients are done.</summary>
    public void ReadAll()
    {
        using RespClient client = home.Server.Connect();
        foreach (string[] read in workload.Reads()) Perform(client, home.Deaths, Form.Single, [read]);
    }

    private void Perform(RespClient client, int life, Form form, string[][] commands)
    {
        Volatile.Write(ref _done, _done + 1);
        var asked = new Operation(id + life * IdsPerLife, commands, form, Stopwatch.GetTimestamp(), long.MaxValue, null);
        _history.Add(asked);
        string[] replies = Ask(client, form, commands);
        _history[^1] = asked with { Returned = Stopwatch.GetTimestamp(), Replies = replies };
    }

    private string[] Ask(RespClient client, Form form, string[][] commands)
    {
        if (form == Form.Single) return [Operation.Text(client.Call(commands[0]))];
        var scripts = new ScriptForms(random, $"f{id}");
        string[][] requests = form == Form.Script
            ? [scripts.Of(commands)]
            : [["MULTI"], .. random.Next(2) == 0 ? commands : commands.Select(scripts.OfOne), ["EXEC"]];
        Reply reply = client.Pipeline([.. scripts.Loads, .. requests])[^1];
        if (reply.Items is { } replies) return [.. replies.Select(Operation.Text)];
        return reply.IsNil ? [] : [reply.ToString()];
    }
}
