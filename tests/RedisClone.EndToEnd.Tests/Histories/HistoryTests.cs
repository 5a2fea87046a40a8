using System.Globalization;
using System.Text.RegularExpressions;
using RedisClone.EndToEnd.Tests.Support;
using Xunit.Abstractions;

namespace RedisClone.EndToEnd.Tests.Histories;

/// <summary>
/// Many clients use a server with <c>appendfsync always</c>: transactions, scripts, functions, blocking pops, and kills of the server. Their
/// replies must be possible for a server that executes one operation at a time. The test run checks 50 histories, <c>tests/long
/// histories</c> 2000.
/// </summary>
public sealed class HistoryTests(ITestOutputHelper output)
{
    private const int Clients = 8;
    private const int HistoriesPerHome = 10;
    private const int HistoriesPerDeath = 5;

    /// <summary>The operations of each client in a long run, and of all clients together in the test run.</summary>
    private const int Operations = 200;

    private static readonly int s_perClient = LongRun.IsLong ? Operations : Operations / Clients;

    private int _histories, _deaths, _operations, _unknown, _aborted;
    private long _onTheirKeys, _onAllShards;

    [Fact]
    public void ConcurrentHistoriesAreLinearizable()
    {
        int wanted = LongRun.Times(50, 2000);
        while (_histories < wanted)
        {
            Random random = Seed.Random($"histories {_histories}");
            using var home = new Home(random);
            for (int i = 0; i < HistoriesPerHome && _histories < wanted; i++)
            {
                Check(Record(home, random, kill: i % HistoriesPerDeath == 0));
                if (++_histories % 100 == 0) Console.WriteLine($"{_histories} histories, {_deaths} deaths");
            }
            home.Server.AssertWell();
            using RespClient client = home.Server.Connect();
            string info = client.Call("INFO", "stats").Text!;
            _onTheirKeys += Count(info, "scripts_on_their_keys");
            _onAllShards += Count(info, "scripts_on_all_shards");
        }
        output.WriteLine(
            $"{Seed.Note}: {_histories} histories, {_deaths} deaths of the server; {_operations} operations, " +
            $"{_unknown} of unknown outcome, {_aborted} aborted transactions, {_onTheirKeys} scripts on their keys, {_onAllShards} on all shards (since the last kills)");
        Assert.True(_onTheirKeys > 0 && _onAllShards > 0);
    }

    private static long Count(string info, string field) =>
        long.Parse(Regex.Match(info, $"^{field}:([0-9]+)", RegexOptions.Multiline).Groups[1].Value, CultureInfo.InvariantCulture);

    private List<Operation> Record(Home home, Random random, bool kill)
    {
        var workload = new Workload($"h{_histories}", groups: random.Next(1, 5));
        HistoryClient[] clients = [.. Enumerable.Range(0, Clients).Select(id => new HistoryClient(home, workload, id, s_perClient, new Random(random.Next())))];
        Exception? failure = null;
        Thread[] threads = [.. clients.Select(client => new Thread(() =>
        {
            try
            {
                client.Run();
            }
            catch (Exception e)
            {
                failure ??= e;
            }
        }))];
        foreach (Thread thread in threads) thread.Start();
        if (kill)
        {
            int enough = random.Next(Clients * s_perClient);
            while (clients.Sum(client => client.Done) < enough && failure is null) Thread.Sleep(1);
            home.KillAndRestart();
            _deaths++;
        }
        foreach (Thread thread in threads) thread.Join();
        if (failure is not null) throw new InvalidOperationException($"{Seed.Note}, history {_histories}: {failure.Message}\n{home.Server.Output}", failure);
        var auditor = new HistoryClient(home, workload, Clients, 0, random);
        auditor.ReadAll();
        return [.. clients.Append(auditor).SelectMany(client => client.History)];
    }

    private void Check(List<Operation> history)
    {
        _operations += history.Count;
        _unknown += history.Count(o => o.IsUnknown);
        _aborted += history.Count(o => o is { Form: Form.Transaction, Replies: [] });
        string? wrong = Linearizability.Explain(history);
        Assert.True(wrong is null, $"{Seed.Note}, history {_histories}: {wrong}");
    }
}
