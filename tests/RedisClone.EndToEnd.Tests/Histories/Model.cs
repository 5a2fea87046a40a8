namespace RedisClone.EndToEnd.Tests.Histories;

/// <summary>
/// The contents of a few keys as texts, and the effects of operations on them. The code is simple rather than fast. A model is
/// immutable. Two models are equal if they have the same contents. Lists and sets are texts with commas. Each watching client has
/// an entry for each watched key, which is "clean" until the key is touched.
/// </summary>
internal sealed class Model : IEquatable<Model>
{
    private readonly SortedDictionary<string, string> _held;
    private readonly string _text;

    public static readonly Model Empty = new(new SortedDictionary<string, string>(StringComparer.Ordinal));

    private Model(SortedDictionary<string, string> held)
    {
        _held = held;
        _text = string.Join('\n', held.Select(e => $"{e.Key}={e.Value}"));
    }

    /// <summary>Returns the keys that a command changes or reads.</summary>
    public static IEnumerable<string> Keys(string[] command) => command[0] switch
    {
        "MSET" => command.Skip(1).Where((_, i) => i % 2 == 0),
        "MGET" or "DEL" or "WATCH" => command.Skip(1),
        "BLPOP" => command[1..^1],
        "LMOVE" or "BLMOVE" or "SMOVE" => command[1..3],
        _ => command[1..2],
    };

    /// <summary>Returns the replies that an operation must have, and the contents after it.</summary>
    public (string[] Replies, Model After) Apply(Operation operation)
    {
        var held = new SortedDictionary<string, string>(_held, StringComparer.Ordinal);
        string[] replies = [];
        string prefix = Watch(operation.Client, "");
        string[] watches = operation.Form == Form.Transaction ? [.. held.Keys.Where(k => k.StartsWith(prefix, StringComparison.Ordinal))] : [];
        if (watches.All(w => held[w] == "clean")) replies = [.. operation.Commands.Select(command => Apply(held, operation.Client, command))];
        foreach (string watch in watches) held.Remove(watch);
        return (replies, new Model(held));
    }

    public bool Equals(Model? other) => _text == other?._text;

    public override bool Equals(object? obj) => Equals(obj as Model);

    public override int GetHashCode() => _text.GetHashCode(StringComparison.Ordinal);

    public override string ToString() => _text.Replace('\n', ' ');

    private static string Watch(int client, string key) => $"watch {client} {key}";

    private static string Apply(SortedDictionary<string, string> held, int client, string[] command)
    {
        string key = command[1];
        string? now = held.GetValueOrDefault(key);
        switch (command[0])
        {
            case "WATCH":
                held[Watch(client, key)] = "clean";
                return "OK";
            case "GET":
                return now ?? "nil";
            case "SET":
                Put(held, key, command[2]);
                return "OK";
            case "GETSET":
                Put(held, key, command[2]);
                return now ?? "nil";
            case "APPEND":
                Put(held, key, now + command[2]);
                return $"{held[key].Length}";
            case "INCRBY":
                Put(held, key, $"{long.Parse(now ?? "0") + long.Parse(command[2])}");
                return held[key];
            case "MSET":
                for (int i = 1; i < command.Length; i += 2) Put(held, command[i], command[i + 1]);
                return "OK";
            case "MGET":
                return Shown(command.Skip(1).Select(k => held.GetValueOrDefault(k) ?? "nil"));
            case "DEL":
                return $"{command.Skip(1).Count(k => Remove(held, k))}";
            case "RPUSH":
            case "LPUSH":
            case "LPOP":
            case "RPOP":
            case "LLEN":
            case "LRANGE":
            case "LMOVE" or "BLMOVE":
            case "BLPOP":
                return ApplyToList(held, command);
            default:
                return ApplyToSet(held, command);
        }
    }

    private static string ApplyToList(SortedDictionary<string, string> held, string[] command)
    {
        string key = command[1];
        List<string> list = Elements(held, key);
        switch (command[0])
        {
            case "RPUSH":
                Put(held, key, [.. list, .. command[2..]]);
                return $"{list.Count + command.Length - 2}";
            case "LPUSH":
                Put(held, key, [.. command[2..].Reverse(), .. list]);
                return $"{list.Count + command.Length - 2}";
            case "LPOP" or "RPOP":
                return Pop(held, key, atHead: command[0] == "LPOP") ?? "nil";
            case "LLEN":
                return $"{list.Count}";
            case "LRANGE":
                return Shown(list);
            case "BLPOP":
                foreach (string each in command[1..^1])
                    if (Pop(held, each, atHead: true) is { } popped) return Shown([each, popped]);
                return "nil";
            default: // LMOVE, BLMOVE
                string? moved = Pop(held, key, command[3] == "LEFT");
                if (moved is null) return "nil";
                List<string> target = Elements(held, command[2]);
                Put(held, command[2], command[4] == "LEFT" ? [moved, .. target] : [.. target, moved]);
                return moved;
        }
    }

    private static string ApplyToSet(SortedDictionary<string, string> held, string[] command)
    {
        string key = command[1];
        List<string> set = Elements(held, key);
        switch (command[0])
        {
            case "SADD":
                string[] added = [.. command[2..].Distinct().Except(set)];
                if (added.Length > 0) Put(held, key, [.. set.Concat(added).Order(StringComparer.Ordinal)]);
                return $"{added.Length}";
            case "SREM":
                string[] removed = [.. command[2..].Distinct().Intersect(set)];
                if (removed.Length > 0) Put(held, key, [.. set.Except(removed)]);
                return $"{removed.Length}";
            case "SMOVE":
                if (!set.Contains(command[3])) return "0";
                Put(held, key, [.. set.Where(m => m != command[3])]);
                Put(held, command[2], [.. Elements(held, command[2]).Append(command[3]).Distinct().Order(StringComparer.Ordinal)]);
                return "1";
            case "SISMEMBER":
                return set.Contains(command[2]) ? "1" : "0";
            case "SCARD":
                return $"{set.Count}";
            default:
                throw new ArgumentException($"the model does not know {command[0]}");
        }
    }

    private static string Shown(IEnumerable<string> elements) => $"[{string.Join(' ', elements)}]";

    private static List<string> Elements(SortedDictionary<string, string> held, string key) =>
        held.TryGetValue(key, out string? now) ? [.. now.Split(',')] : [];

    private static string? Pop(SortedDictionary<string, string> held, string key, bool atHead)
    {
        List<string> list = Elements(held, key);
        if (list.Count == 0) return null;
        string popped = atHead ? list[0] : list[^1];
        list.RemoveAt(atHead ? 0 : list.Count - 1);
        Put(held, key, list);
        return popped;
    }

    private static void Put(SortedDictionary<string, string> held, string key, List<string> elements)
    {
        if (elements.Count == 0) Remove(held, key);
        else Put(held, key, string.Join(',', elements));
    }

    private static void Put(SortedDictionary<string, string> held, string key, string value)
    {
        held[key] = value;
        Touch(held, key);
    }

    private static bool Remove(SortedDictionary<string, string> held, string key)
    {
        if (!held.Remove(key)) return false;
        Touch(held, key);
        return true;
    }

    private static void Touch(SortedDictionary<string, string> held, string key)
    {
        string ending = $" {key}";
        string[] watches =
        [
            .. held.Keys.Where(k => k.StartsWith("watch ", StringComparison.Ordinal) && k.EndsWith(ending, StringComparison.Ordinal)),
        ];
        foreach (string watch in watches)
            held[watch] = "dirty";
    }
}
