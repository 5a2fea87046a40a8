using System.Text;
using RedisClone.Admin.Commands;
using RedisClone.Engine;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Server.Tests.Commands;
using RedisClone.Storage;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Failures;

/// <summary>
/// A server that executes commands, and a mirror that only receives the stream of effects, as a journal or a replica does. Both
/// must hold the same data after every command, even if a part of the command failed.
/// </summary>
internal sealed class MirroredHost : IEffectSink
{
    private readonly List<byte[]> _units = [];

    public MirroredHost()
    {
        Host.Core.Effects.Attach(this);
    }

    public CommandHost Host { get; } = new();

    public CommandHost Mirror { get; } = new(isReplay: true);

    long IEffectSink.Append(EffectBuffer unit)
    {
        string select = unit.Database < 0 ? "" : $"*2\r\n$6\r\nSELECT\r\n$1\r\n{unit.Database:x}\r\n";
        _units.Add([.. Encoding.ASCII.GetBytes(select), .. unit.Unit]);
        return 0;
    }

    /// <summary>The effects of the last commands, as text.</summary>
    public string LastEffects { get; private set; } = "";

    /// <summary>Sends the mirror the effects since the last call.</summary>
    public void Follow()
    {
        LastEffects = string.Concat(_units.Select(Encoding.Latin1.GetString));
        foreach (byte[] unit in _units) Mirror.Replay(unit);
        _units.Clear();
    }

    /// <summary>Returns null, or the difference between the two servers in the keys of a request.</summary>
    public string? Difference(CommandHost.Prepared command, CommandRow row)
    {
        Follow();
        // A command that only reads, without effects, has changed nothing; if it has, the next comparison of all keys shows it.
        if (!row.IsWrite && LastEffects.Length == 0) return null;
        var positions = new KeyPositions(stackalloc int[64]);
        string? found = null;
        if (row.CollectKeys(command.Request, ref positions))
            for (int i = 0; i < positions.Count && found is null; i++) found = Difference(command.Request[positions[i]]);
        positions.Dispose();
        return found;
    }

    /// <summary>Returns null, or a message if the two servers differ in any key.</summary>
    public string? Difference()
    {
        Follow();
        return KeyspaceDigest.OfAll(Host.Core).AsSpan().SequenceEqual(KeyspaceDigest.OfAll(Mirror.Core)) ? null : "the digests differ";
    }

    /// <summary>Returns null, or the state that a run has left on its thread.</summary>
    public string? Remains()
    {
        Lane lane = Host.Core.Lanes.Current;
        if (lane.Effects.Commands > 0) return "effects without a place";
        if (lane.Messages.IsHolding) return "messages that are held back";
        return lane.HasFollowUps || lane.ReadyKeys.Count > 0 ? "clients that were not served" : null;
    }

    private string? Difference(ReadOnlySpan<byte> key)
    {
        for (int database = 0; database < 4; database++)
            if (!Digest(Host.Core, key, database).AsSpan().SequenceEqual(Digest(Mirror.Core, key, database)))
                return $"key '{Encoding.Latin1.GetString(key)}' of database {database} differs";
        return null;
    }

    private static byte[] Digest(ServerCore core, ReadOnlySpan<byte> key, int database)
    {
        ulong hash = KeyHash.Of(key);
        if (core.Shards.Of(hash).Store.ExistingDatabase(database) is not { } keyspace) return new byte[KeyspaceDigest.Length];
        Entry entry = keyspace.Find(key, hash);
        return KeyspaceDigest.OfValue(entry);
    }
}
