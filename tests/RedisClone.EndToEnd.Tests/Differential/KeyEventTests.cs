using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Compares the key events of all classes with redis-server while random requests of every family run. RC_SEED repeats a run,
/// <c>tests/fuzz commands</c> makes it longer.
/// </summary>
public sealed class KeyEventTests : IDisposable
{
    private const int RequestsPerRound = 1500;
    private const int MaxFindings = 8;

    private static readonly int s_rounds = LongRun.Times(1, 1000);

    private readonly ServerProcess _ours = ServerProcess.Ours("--proto-max-bulk-len", "1mb", "--notify-keyspace-events", "AKEmn");
    private readonly ServerProcess _redis = ServerProcess.Redis("--proto-max-bulk-len", "1mb", "--notify-keyspace-events", "AKEmn");

    public static TheoryData<string> Tried => [.. Families.All.Keys];

    public void Dispose()
    {
        _ours.Dispose();
        _redis.Dispose();
    }

    [Theory]
    [MemberData(nameof(Tried))]
    public void EventsMatchRedisServer(string family)
    {
        var templates = new RowTemplates(_ours, _redis);
        var stream = new CommandStream(templates.Of(family), Seed.Random($"events {family}"));
        using var differential = new Differential(_ours, _redis, protocol: 2, templates.Rows);
        using var ours = new Listener(_ours);
        using var theirs = new Listener(_redis);
        var findings = new List<string>();
        for (int sent = 0; sent < RequestsPerRound * s_rounds && !differential.Enough && findings.Count < MaxFindings; sent++)
        {
            string[] request = stream.Next();
            int resets = differential.Resets;
            differential.Run([request]);
            string[] here = ours.Heard(), there = theirs.Heard();
            // After an intended difference both servers were emptied.
            if (resets != differential.Resets || here.SequenceEqual(there) || IntendedDifferences.CoversEvents(request, here, there)) continue;
            findings.Add($"{Requests.Show(request)}\n   ours:  {string.Join(", ", here)}\n   redis: {string.Join(", ", there)}");
        }
        Assert.True(findings.Count == 0, $"{Seed.Note}\n{string.Join('\n', findings)}");
        _ours.AssertWell();
    }

    /// <summary>
    /// Receives all events of one server. It sends a marker event to know that all earlier events have arrived.
    /// </summary>
    private sealed class Listener : IDisposable
    {
        private readonly RespClient _ear, _bell;

        public Listener(ServerProcess server)
        {
            _ear = server.Connect();
            _bell = server.Connect();
            _ear.Expect("*[$\"psubscribe\" $\"*\" :1]", "PSUBSCRIBE", "*");
            Heard();
        }

        /// <summary>Returns the received events, without the events that depend on the clock.</summary>
        public string[] Heard()
        {
            _bell.Expect(":1", "PUBLISH", "bell", "rings");
            var events = new List<string>();
            while (true)
            {
                Reply message = _ear.ReadAny();
                if (message[2].Text == "bell") return [.. events];
                string text = $"{message[2].Text} {message[3].Text}";
                if (!text.Contains("expired", StringComparison.Ordinal)) events.Add(Requests.Quote(text));
            }
        }

        public void Dispose()
        {
            _ear.Dispose();
            _bell.Dispose();
        }
    }
}
