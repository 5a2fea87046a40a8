namespace RedisClone.EndToEnd.Tests.Histories;

/// <summary>Generates wrong histories from a good history. Each kind of mutation is a possible fault of a server.</summary>
internal static class Mutation
{
    /// <summary>Returns one mutation of each kind that the history allows.</summary>
    public static IEnumerable<Operation[]> All(IReadOnlyList<Operation> history, Random random)
    {
        Func<IReadOnlyList<Operation>, IEnumerable<Operation[]>>[] kinds = [NeverWritten, Stale, PoppedTwice, LostIncrement];
        foreach (Func<IReadOnlyList<Operation>, IEnumerable<Operation[]>> kind in kinds)
        {
            Operation[][] mutants = [.. kind(history)];
            if (mutants.Length > 0) yield return mutants[random.Next(mutants.Length)];
        }
    }

    /// <summary>A client reads a value that no client wrote.</summary>
    private static IEnumerable<Operation[]> NeverWritten(IReadOnlyList<Operation> history) =>
        history.Where(IsGet).Select(get => Replace(history, get, get with { Replies = ["never"] }));

    /// <summary>A client reads a value that was overwritten before the read began.</summary>
    private static IEnumerable<Operation[]> Stale(IReadOnlyList<Operation> history)
    {
        foreach (Operation get in history.Where(IsGet))
        {
            Operation[] before = [.. history.Where(o => IsOf(o, "SET", get.Commands[0][1]) && o.Returned < get.Invoked)];
            if (before.Length == 0) continue;
            Operation last = before.MaxBy(o => o.Invoked)!;
            if (Array.Find(before, o => o.Returned < last.Invoked) is { } overwritten)
                yield return Replace(history, get, get with { Replies = [overwritten.Commands[0][2]] });
        }
    }

    /// <summary>Two clients pop the same element.</summary>
    private static IEnumerable<Operation[]> PoppedTwice(IReadOnlyList<Operation> history) => history
        .Where(o => o is { Form: Form.Single, Commands: [["LPOP" or "RPOP", _]], Replies: [not "nil"] })
        .Select(pop => (Operation[])[.. history, pop with { Client = -1 }]);

    /// <summary>An acknowledged increment that a client has read is lost.</summary>
    private static IEnumerable<Operation[]> LostIncrement(IReadOnlyList<Operation> history)
    {
        // An increment without a reply could replace the lost increment.
        if (history.Any(o => o.IsUnknown)) yield break;
        foreach (Operation increment in history.Where(o => o is { Form: Form.Single, Commands: [["INCRBY", ..]] }))
        {
            string key = increment.Commands[0][1];
            if (history.Any(o => o.Invoked > increment.Returned && (IsOf(o, "INCRBY", key) || IsOf(o, "GET", key))))
                yield return [.. history.Where(o => o != increment)];
        }
    }

    private static bool IsGet(Operation operation) => operation is { Form: Form.Single, Commands: [["GET", _]], Replies: not null };

    private static bool IsOf(Operation operation, string command, string key) =>
        operation is { Form: Form.Single, IsUnknown: false } && operation.Commands[0][0] == command && operation.Commands[0][1] == key;

    private static Operation[] Replace(IReadOnlyList<Operation> history, Operation one, Operation other) =>
        [.. history.Select(o => ReferenceEquals(o, one) ? other : o)];
}
