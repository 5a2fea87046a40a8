using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Histories;

/// <summary>
/// Tests the checker of histories with histories that are known to be good or bad, and against a checker that tries every order.
/// </summary>
public sealed class LinearizabilityTests
{
    /// <summary>Each line contains the client, the invocation, the return, the command and the reply (? for none).</summary>
    [Theory]
    [InlineData(true, "1 0 5 SET,k,a OK", "2 6 9 GET,k a")]
    [InlineData(false, "1 0 5 SET,k,a OK", "2 6 9 GET,k nil")]
    [InlineData(true, "1 0 5 SET,k,a OK", "2 3 9 GET,k nil")]
    [InlineData(true, "1 0 5 SET,k,a OK", "2 3 9 GET,k nil", "3 4 9 GET,k a")]
    [InlineData(false, "1 0 9 SET,k,a OK", "2 1 3 GET,k a", "3 4 9 GET,k nil")]
    [InlineData(false, "1 0 1 SET,k,a OK", "2 2 9 SET,k,b OK", "3 3 4 GET,k b", "4 5 6 GET,k a")]
    [InlineData(true, "1 0 9 SET,k,a OK", "2 0 9 SET,k,b OK", "3 1 4 GET,k b", "3 5 6 GET,k a")]
    [InlineData(false, "1 0 3 INCRBY,k,1 1", "2 0 3 INCRBY,k,1 1")]
    [InlineData(false, "1 0 3 INCRBY,k,1 1", "2 0 3 INCRBY,k,1 3")]
    [InlineData(true, "1 0 9 SET,k,a ?", "2 1 2 GET,k nil", "2 3 4 GET,k a", "2 10 11 GET,k a")]
    [InlineData(true, "1 0 9 SET,k,a ?", "2 1 2 GET,k nil", "2 10 11 GET,k nil")]
    [InlineData(false, "1 0 9 SET,k,a ?", "2 10 11 GET,k nil", "2 12 13 GET,k a")]
    [InlineData(false, "1 0 9 SET,k,a ?", "2 1 2 GET,k a", "2 10 11 GET,k nil")]
    [InlineData(true, "1 0 9 BLPOP,k,l,0 [l|a]", "2 3 4 RPUSH,l,a 1", "3 5 6 LRANGE,l,0,-1 []")]
    [InlineData(false, "1 0 9 BLPOP,k,l,0 [l|a]", "2 3 4 RPUSH,k,b 1", "2 5 6 RPUSH,l,a 1", "3 7 8 LRANGE,k,0,-1 [b]", "3 12 13 LRANGE,l,0,-1 [a]")]
    [InlineData(false, "1 0 2 RPUSH,k,a,b 2", "2 3 5 LPOP,k a", "3 3 5 LPOP,k a")]
    [InlineData(true, "1 0 2 RPUSH,k,a,b 2", "2 3 5 LMOVE,k,l,LEFT,RIGHT a", "3 3 5 RPOP,k b", "3 6 7 RPOP,k nil", "3 6 7 RPOP,l a")]
    [InlineData(true, "1 0 1 WATCH,k OK", "2 2 3 SET,k,a OK", "1 4 5 *SET,k,b ", "2 6 7 GET,k a")]
    [InlineData(false, "1 0 1 WATCH,k OK", "2 2 3 SET,k,a OK", "1 4 5 *SET,k,b OK")]
    [InlineData(false, "1 0 1 WATCH,k OK", "1 4 5 *SET,k,b ", "2 6 7 SET,k,a OK")]
    [InlineData(true, "1 0 1 WATCH,k OK", "2 2 9 SET,k,a OK", "1 4 5 *SET,k,b OK", "2 10 11 GET,k a")]
    public void KnownHistoriesAreJudgedCorrectly(bool isGood, params string[] lines) =>
        Assert.Equal(isGood, Linearizability.Explain([.. lines.Select(Parse)]) is null);

    [Fact]
    public void GeneratedHistoriesAreGoodAndTheirMutantsAreBad()
    {
        Random random = Seed.Random("made histories");
        int mutants = 0;
        for (int i = 0; i < 60; i++)
        {
            List<Operation> history = Made(random, clients: 6, operations: 150, unknown: i % 2 == 1);
            Assert.True(Linearizability.Explain(history) is null, $"{Seed.Note}, history {i}: {Linearizability.Explain(history)}");
            foreach (Operation[] mutant in Mutation.All(history, random))
            {
                mutants++;
                Assert.True(Linearizability.Explain(mutant) is not null,
                    $"{Seed.Note}, history {i}: the checker accepts a mutant");
            }
        }
        Assert.True(mutants > 60, $"only {mutants} mutants");
    }

    [Fact]
    public void TheCheckerAgreesWithACheckerThatTriesEveryOrder()
    {
        Random random = Seed.Random("small histories");
        int good = 0;
        for (int i = 0; i < 1000; i++)
        {
            List<Operation> history = Made(random, clients: 3, operations: 6, unknown: true);
            // Two replies are exchanged. Most of the resulting histories are wrong, but not all.
            int a = random.Next(history.Count), b = random.Next(history.Count);
            if (random.Next(3) > 0)
            {
                (string[]? first, string[]? second) = (history[a].Replies, history[b].Replies);
                (history[a], history[b]) = (history[a] with { Replies = second }, history[b] with { Replies = first });
            }
            bool isGood = IsGoodInSomeOrder(history, Model.Empty);
            Assert.True(isGood == Linearizability.Explain(history) is null, $"{Seed.Note}, history {i}:\n{string.Join('\n', history)}");
            if (isGood) good++;
        }
        Assert.InRange(good, 100, 900);
    }

    /// <summary>
    /// Generates operations with overlapping intervals that take effect one at a time, at moments within the intervals. Such a
    /// history is good by construction.
    /// </summary>
    private static List<Operation> Made(Random random, int clients, int operations, bool unknown)
    {
        const int step = 100;
        var workload = new Workload("made", groups: 2);
        var history = new List<Operation>();
        int[] connection = [.. Enumerable.Range(0, clients)];
        var free = new long[clients];
        var waiting = Enumerable.Range(0, clients).Select(_ => new Queue<(Form Form, string[][] Commands)>()).ToArray();
        Model model = Model.Empty;
        for (long at = step; history.Count < operations; at += step)
        {
            int place = random.Next(clients);
            if (free[place] >= at) continue;
            if (waiting[place].Count == 0) waiting[place] = new(workload.Next(random));
            (Form form, string[][] commands) = waiting[place].Dequeue();
            long invoked = Math.Max(free[place] + 1, at - random.Next(4 * step)), returned = at + random.Next(4 * step);
            var operation = new Operation(connection[place], commands, form, invoked, returned, null);
            free[place] = operation.Returned;
            bool isUnknown = unknown && random.Next(20) == 0;
            if (!isUnknown || random.Next(2) == 0)
            {
                (string[] replies, model) = model.Apply(operation);
                if (!isUnknown) operation = operation with { Replies = replies };
            }
            history.Add(operation);
            if (!isUnknown) continue;
            // The connection of the client is closed, and a new connection takes its place.
            waiting[place].Clear();
            connection[place] += clients;
        }
        return history;
    }

    private static bool IsGoodInSomeOrder(List<Operation> left, Model model)
    {
        if (left.Count == 0) return true;
        foreach (Operation next in left)
        {
            if (left.Exists(other => other.Returned < next.Invoked)) continue;
            List<Operation> others = [.. left.Where(o => !ReferenceEquals(o, next))];
            (string[] replies, Model after) = model.Apply(next);
            if ((next.IsUnknown || replies.SequenceEqual(next.Replies!)) && IsGoodInSomeOrder(others, after)) return true;
            if (next.IsUnknown && IsGoodInSomeOrder(others, model)) return true;
        }
        return false;
    }

    private static Operation Parse(string line)
    {
        string[] fields = line.Split(' ');
        bool transaction = fields[3].StartsWith('*');
        string[]? replies = fields[4] switch { "?" => null, "" => [], var one => [one.Replace('|', ' ')] };
        Form form = transaction ? Form.Transaction : Form.Single;
        string[] command = fields[3].TrimStart('*').Split(',');
        return new Operation(int.Parse(fields[0]), [command], form, long.Parse(fields[1]), long.Parse(fields[2]), replies);
    }
}
