using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using RedisClone.Engine.Commands;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Engine.Scripting;

/// <summary>
/// The compiled scripts by digest and by source. The number of scripts that came with EVAL is limited; the least recently used
/// one is evicted first. The cache changes only while all shards are held; any thread may look up a script.
/// </summary>
internal sealed class ScriptCache
{
    private readonly ScriptEngine _engine;
    private readonly LuaState _state;
    private readonly ConcurrentDictionary<ScriptDigest, Script> _byDigest = new();
    private readonly ConcurrentDictionary<byte[], Script> _bySource = new(ByteComparer.Instance);
    private readonly ConcurrentDictionary<byte[], Script>.AlternateLookup<ReadOnlySpan<byte>> _bySpan;
    private readonly HashSet<Script> _passing = [];

    public ScriptCache(ScriptEngine engine)
    {
        _engine = engine;
        _state = engine.State;
        _bySpan = _bySource.GetAlternateLookup<ReadOnlySpan<byte>>();
    }

    public int Count => _byDigest.Count;

    /// <summary>The bytes of the sources.</summary>
    public long SourceBytes { get; private set; }

    /// <summary>The bytes that the cached scripts take.</summary>
    public long Bytes { get; private set; }

    /// <summary>The number of scripts that were evicted.</summary>
    public long Evicted { get; private set; }

    /// <summary>The script of a digest, given as text. Any thread may call it.</summary>
    public Script? Find(ReadOnlySpan<byte> digest) => ScriptDigest.TryParse(digest, out ScriptDigest parsed) ? _byDigest.GetValueOrDefault(parsed) : null;

    /// <summary>The script of a source, if it is in the cache. Any thread may call it.</summary>
    public bool TryGet(ReadOnlySpan<byte> source, [NotNullWhen(true)] out Script? script) => _bySpan.TryGetValue(source, out script);

    /// <summary>
    /// Returns the script of a source and compiles it if it is new. Returns null, with the error, if that fails.
    /// </summary>
    /// <param name="source">The source as it was sent.</param>
    /// <param name="keep">Whether SCRIPT LOAD sent it, so that it stays until the cache is flushed.</param>
    /// <param name="error">The compilation error, or an empty string.</param>
    public Script? Add(ReadOnlySpan<byte> source, bool keep, out string error)
    {
        error = "";
        if (!TryGet(source, out Script? script))
        {
            if (_engine.LacksRoom() || keep && _engine.Server.Shards.Budget.IsShort) error = Errors.AllocationFailed;
            else script = Compile(source, out error);
            if (script is null) return null;
            Publish(script, keep);
            int most = _engine.Server.Shards.Budget.IsShort ? Limits.PassingScriptsInLittleMemory : Limits.PassingScripts;
            while (_passing.Count > most) EvictOldest();
            _engine.CountKept();
        }
        else if (keep)
        {
            _passing.Remove(script);
        }
        return script;
    }

    /// <summary>Evicts a script that came with EVAL. Returns false if there is none.</summary>
    public bool TryEvict()
    {
        if (_passing.Count == 0) return false;
        EvictOldest();
        return true;
    }

    /// <summary>Makes a script the most recently used one. Any thread may call it.</summary>
    public static void Use(Script script) => script.LastUse = Stopwatch.GetTimestamp();

    public void Clear()
    {
        foreach (Script script in _byDigest.Values) Forget(script);
        _byDigest.Clear();
        _bySource.Clear();
        _passing.Clear();
        (SourceBytes, Bytes) = (0, 0);
        _state.Recount();
        _engine.CountKept();
    }

    /// <summary>Adds a script by its source and by its digest, or by neither if an allocation fails.</summary>
    private void Publish(Script script, bool keep)
    {
        SourceBytes += script.Source.Length;
        Bytes += script.Bytes;
        try
        {
            _state.TrySet(_state.Registry, script.Body, new LuaValue(true));
            Use(script);
            if (!keep) _passing.Add(script);
            _byDigest[script.Digest] = script;
            _bySource[script.Source] = script;
        }
        catch
        {
            Remove(script);
            throw;
        }
    }

    private void EvictOldest()
    {
        Evicted++;
        Remove(_passing.MinBy(static passing => passing.LastUse)!);
    }

    private void Remove(Script script)
    {
        _passing.Remove(script);
        _bySource.TryRemove(script.Source, out _);
        _byDigest.TryRemove(script.Digest, out _);
        SourceBytes -= script.Source.Length;
        Bytes -= script.Bytes;
        Forget(script);
    }

    private void Forget(Script script) => _state.Forget(script.Body);

    private Script? Compile(ReadOnlySpan<byte> source, out string error)
    {
        if (!Shebang.TryParse(source, out ScriptFlags flags, out int length, out error)) return null;
        long allocated = _state.AllocatedBytes;
        LuaFunction? body = _state.Compile(source[length..], "@user_script", out LuaError failure);
        if (body is not null)
        {
            // A census during the compilation makes the difference smaller.
            long bytes = Math.Max(0, _state.AllocatedBytes - allocated) + source.Length + Limits.BytesPerRoutine;
            return new Script(source.ToArray(), ScriptDigest.Of(source), body, flags, KeyProof.Holds(_engine.Server.Commands, body)) { Bytes = bytes };
        }
        error = $"ERR Error compiling script (new function): {failure.Message}";
        return null;
    }
}
