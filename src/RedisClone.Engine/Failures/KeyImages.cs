using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Storage;
using RedisClone.Storage.Values;

namespace RedisClone.Engine.Failures;

/// <summary>
/// Writes the effects of a command that failed after it may have changed data: each of its keys is deleted and restored in its
/// current state. The command's row determines the keys, so a command may change no other key. A key is written for every
/// database, because some commands move keys between two databases.
/// </summary>
internal sealed class KeyImages(ServerCore server)
{
    private const int MostText = 64; // the words of RESTORE, and the expiry

    /// <summary>The size in bytes from which the image of a value that is probably unchanged is omitted. Tests set a smaller one.</summary>
    public long LargeValue { get; set; } = 64 * 1024;

    /// <summary>
    /// Writes the images of the keys that a command may change to the effects of its lane, and notifies clients that watch, wait for or cache the
    /// keys.
    /// </summary>
    /// <param name="c">The context of the command.</param>
    /// <param name="isUnchanged">The keys are probably unchanged, so the images of large values are omitted.</param>
    public void Write(ref CommandContext c, bool isUnchanged)
    {
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        try
        {
            // Invalid arguments name no keys, and the command has changed none.
            if (!c.Row.CollectKeys(c.Args, ref positions)) return;
            // A command with a destination only reads its sources, which may be large. XREADGROUP has none: it changes what it reads.
            bool hasDestination = false;
            for (int i = 0; i < positions.Count; i++) hasDestination |= c.Row.IsWrite && (positions.FlagsOf(i) & KeyFlags.RO) == 0;
            for (int i = 0; i < positions.Count; i++)
                if (!hasDestination || (positions.FlagsOf(i) & KeyFlags.RO) == 0) Write(c.Args[positions[i]], c.Lane, isUnchanged, c.IsTold);
        }
        finally
        {
            positions.Dispose();
        }
    }

    private void Write(ReadOnlySpan<byte> key, Lane lane, bool isUnchanged, bool isTold)
    {
        ulong hash = server.Shards.HashOf(key);
        Shard shard = server.Shards.Of(hash);
        for (int database = 0; database < shard.Store.DatabaseCount; database++)
        {
            if (shard.Store.ExistingDatabase(database) is not { } keyspace) continue;
            server.KeyEvents.Touched(shard, key, database, author: null, lane);
            Entry entry = keyspace.Find(key, hash);
            if (entry.Exists && ValueInfo.IsEmptyCollection(entry))
            {
                keyspace.Remove(entry);
                entry = keyspace.Absent(hash);
            }
            // A script may keep its effects out of the stream (redis.set_repl). A DEL without what follows it would be worse than nothing.
            if (!server.Effects.Wanted || lane.Effects.IsMuted || isTold || isUnchanged && IsLarge(entry)) continue;
            lane.Effects.AddDelete(database, key);
            if (entry.Exists) WriteValue(entry, database, lane.Effects);
        }
    }

    private bool IsLarge(in Entry entry) => entry.Exists && entry.Type != ValueType.Stream && ValueInfo.MemoryUsage(entry) > LargeValue;

    private static void WriteValue(in Entry entry, int database, EffectBuffer effects)
    {
        // The value is written twice: once to measure it, and once to its place, so that it needs no memory besides the effects.
        var image = new ValueImage();
        long length = image.Measure(entry);
        if (length == 0) return;
        ReadOnlySpan<byte> key = entry.Key;
        if (!effects.TryReserve(EffectBuffer.SizeOf(6, key.Length + length + MostText)))
            throw new InvalidOperationException("The image of a key is longer than a unit of effects may be.");
        effects.Begin(database, arguments: 6);
        effects.Add("RESTORE"u8);
        effects.Add(key);
        effects.Add(entry.Expiry);
        effects.BeginArgument((int)length);
        image.WriteTo(effects, entry);
        effects.EndArgument();
        effects.Add("REPLACE"u8);
        effects.Add("ABSTTL"u8);
    }
}
