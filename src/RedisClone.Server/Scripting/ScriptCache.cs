using System.Text;
using RedisClone.Lua;
using RedisClone.Server.Pubsub;

namespace RedisClone.Server.Scripting;

/// <summary>
/// Compiled scripts by digest and by body. Those that only EVAL brought are bounded: the one used longest ago goes first. Used
/// under the hold of all shards only.
/// </summary>
internal sealed class ScriptCache(ScriptEngine engine)
{
    private readonly Dictionary<string, Script> _byDigest = new(StringComparer.OrdinalIgnoreCase);
    private readonly Dictionary<byte[], Script> _byBody = new(Channels.ByteComparer.Instance);
    private readonly LinkedList<Script> _passing = new();
    private readonly Dictionary<Script, LinkedListNode<Script>> _nodes = [];

    public int Count => _byDigest.Count;

    /// <summary>Bytes of the bodies.</summary>
    public long BodyBytes { get; private set; }

    public Script? Find(string digest)
    {
        Script? script = _byDigest.GetValueOrDefault(digest);
        if (script is not null) Use(script);
        return script;
    }

    /// <summary>The script of a body, compiled if it is new; null with the error where it cannot be.</summary>
    public Script? Get(ReadOnlySpan<byte> body, bool pin, out string error)
    {
        error = "";
        if (!_byBody.GetAlternateLookup<ReadOnlySpan<byte>>().TryGetValue(body, out Script? script))
        {
            script = Compile(body, out error);
            if (script is null) return null;
            _byBody[script.Body] = script;
            _byDigest[script.Digest] = script;
            BodyBytes += script.Body.Length;
            if (!pin) _nodes[script] = _passing.AddFirst(script);
            if (_passing.Count > Limits.PassingScripts) Drop(_passing.Last!.Value);
        }
        if (pin) Pin(script);
        else Use(script);
        return script;
    }

    public void Clear()
    {
        _byDigest.Clear();
        _byBody.Clear();
        _passing.Clear();
        _nodes.Clear();
        BodyBytes = 0;
    }

    private void Pin(Script script)
    {
        script.IsPinned = true;
        if (_nodes.Remove(script, out LinkedListNode<Script>? node)) _passing.Remove(node);
    }

    private void Use(Script script)
    {
        if (!_nodes.TryGetValue(script, out LinkedListNode<Script>? node) || node.Previous is null) return;
        _passing.Remove(node);
        _passing.AddFirst(node);
    }

    private void Drop(Script script)
    {
        _passing.Remove(_nodes[script]);
        _nodes.Remove(script);
        _byBody.Remove(script.Body);
        _byDigest.Remove(script.Digest);
        BodyBytes -= script.Body.Length;
    }

    private Script? Compile(ReadOnlySpan<byte> body, out string error)
    {
        if (!Shebang.TryParse(body, out ScriptFlags flags, out int length, out error)) return null;
        LuaFunction? function = engine.State.Compile(body[length..], "@user_script", out LuaError failure);
        if (function is null)
        {
            error = $"ERR Error compiling script (new function): {failure.Message}";
            return null;
        }
        return new Script(body.ToArray(), Script.DigestOf(body), function, flags);
    }
}

/// <summary>The first line of a script that says in which engine and by which rules it runs.</summary>
internal static class Shebang
{
    private static readonly (string Name, ScriptFlags Flag)[] Names =
    [
        ("no-writes", ScriptFlags.NoWrites), ("allow-oom", ScriptFlags.AllowOom), ("allow-stale", ScriptFlags.AllowStale),
        ("no-cluster", ScriptFlags.NoCluster), ("allow-cross-slot-keys", ScriptFlags.AllowCrossSlotKeys),
    ];

    /// <param name="body">The script.</param>
    /// <param name="flags">What the line says, or that there is none.</param>
    /// <param name="length">The bytes of the line, its end left to the script so that line numbers stay true.</param>
    /// <param name="error">Why the line is wrong.</param>
    public static bool TryParse(ReadOnlySpan<byte> body, out ScriptFlags flags, out int length, out string error)
    {
        flags = ScriptFlags.Compatible;
        length = 0;
        error = "";
        if (!body.StartsWith("#!"u8)) return true;
        int end = body.IndexOf((byte)'\n');
        if (end < 0)
        {
            error = "ERR Invalid script shebang";
            return false;
        }
        flags = ScriptFlags.None;
        length = end;
        string[] words = Encoding.Latin1.GetString(body[2..end]).Split(' ', StringSplitOptions.RemoveEmptyEntries);
        string engine = words.Length > 0 ? words[0].TrimEnd('\r') : "";
        if (!engine.Equals("lua", StringComparison.OrdinalIgnoreCase)) error = $"ERR Unexpected engine in script shebang: {engine}";
        foreach (string word in words.Skip(1))
        {
            if (error.Length > 0) break;
            if (!word.StartsWith("flags=", StringComparison.OrdinalIgnoreCase)) error = $"ERR Unknown lua shebang option: {word}";
            else error = AddFlags(word["flags=".Length..].TrimEnd('\r'), ref flags);
        }
        return error.Length == 0;
    }

    private static string AddFlags(string names, ref ScriptFlags flags)
    {
        foreach (string name in names.Split(',', StringSplitOptions.RemoveEmptyEntries))
        {
            int at = Array.FindIndex(Names, n => n.Name == name);
            if (at < 0) return $"ERR Unexpected flag in script shebang: {name}";
            flags |= Names[at].Flag;
        }
        return "";
    }
}
