using System.Numerics;

namespace RedisClone.EndToEnd.Tests.Histories;

/// <summary>
/// Searches an order of all operations that explains every reply. Each operation takes effect at one moment between its
/// invocation and its return. The search is Wing and Gong's, with Lowe's memory of visited states. Keys that no operation
/// connects are checked separately: a history is linearizable if the history of each such part is.
/// </summary>
internal static class Linearizability
{
    /// <summary>
    /// A state of the search: the order contains all operations before <see cref="First"/> and the operations of the bits after
    /// it.
    /// </summary>
    private readonly record struct Reached(int First, BigInteger Later, Model Model);

    /// <returns>Null, or the reason why there is no such order.</returns>
    public static string? Explain(IReadOnlyList<Operation> history) => Parts(history).Select(ExplainPart).FirstOrDefault(found => found is not null);

    public static IEnumerable<Operation[]> Parts(IReadOnlyList<Operation> history)
    {
        var parts = new List<(HashSet<string> Keys, List<Operation> Operations)>();
        var watched = new Dictionary<int, HashSet<string>>();
        foreach (Operation operation in history.OrderBy(o => o.Invoked))
        {
            (HashSet<string> Keys, List<Operation> Operations) whole = ([.. operation.Commands.SelectMany(Model.Keys)], [operation]);
            // The keys that a client watches decide the result of its next transaction, which may use other keys.
            if (operation.Commands[0][0] == "WATCH") watched[operation.Client] = [.. watched.GetValueOrDefault(operation.Client, []), .. whole.Keys];
            if (operation.Form == Form.Transaction && watched.Remove(operation.Client, out HashSet<string>? keys)) whole.Keys.UnionWith(keys);
            foreach (var touched in parts.Where(part => part.Keys.Overlaps(whole.Keys)).ToArray())
            {
                whole.Keys.UnionWith(touched.Keys);
                whole.Operations.AddRange(touched.Operations);
                parts.Remove(touched);
            }
            parts.Add(whole);
        }
        return parts.Select(part => part.Operations.OrderBy(o => o.Invoked).ToArray());
    }

    private static string? ExplainPart(Operation[] operations)
    {
        var furthest = new Reached(0, BigInteger.Zero, Model.Empty);
        var open = new Stack<Reached>([furthest]);
        var seen = new HashSet<Reached>(open);
        while (open.TryPop(out Reached at))
        {
            if (at.First == operations.Length) return null;
            if (at.First > furthest.First) furthest = at;
            foreach (Reached next in Next(operations, at))
                if (seen.Add(next)) open.Push(next);
        }
        return "no order explains the reply to one of these:\n"
            + $"{string.Join('\n', Candidates(operations, furthest).Select(i => operations[i]))}\n"
            + $"with these contents: {furthest.Model}\n"
            + $"after:\n{string.Join('\n', operations.Take(furthest.First).TakeLast(10).AsEnumerable())}";
    }

    /// <summary>Returns the possible next states, the most likely one last.</summary>
    private static IEnumerable<Reached> Next(Operation[] operations, Reached at)
    {
        // An operation that returns first probably took effect first.
        int[] candidates = [.. Candidates(operations, at).OrderByDescending(i => operations[i].Returned)];
        foreach (int i in candidates)
        {
            // An operation without a reply may also have had no effect. The search decides this when no other candidate is left.
            if (operations[i].IsUnknown && i == candidates[^1]) yield return Done(at, i, at.Model);
            (string[] replies, Model after) = at.Model.Apply(operations[i]);
            if (operations[i].IsUnknown || replies.AsSpan().SequenceEqual(operations[i].Replies)) yield return Done(at, i, after);
        }
    }

    private static IEnumerable<int> Candidates(Operation[] operations, Reached at)
    {
        long firstReturn = long.MaxValue;
        for (int i = at.First; i < operations.Length && operations[i].Invoked <= firstReturn; i++)
            if (!IsDone(at, i)) firstReturn = Math.Min(firstReturn, operations[i].Returned);
        for (int i = at.First; i < operations.Length && operations[i].Invoked <= firstReturn; i++)
            if (!IsDone(at, i)) yield return i;
    }

    private static bool IsDone(Reached at, int i) => !((at.Later >> (i - at.First)) & 1).IsZero;

    private static Reached Done(Reached at, int i, Model after)
    {
        BigInteger later = at.Later | (BigInteger.One << (i - at.First));
        int first = at.First;
        for (; !later.IsEven; later >>= 1) first++;
        return new Reached(first, later, after);
    }
}
