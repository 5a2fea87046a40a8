using RedisClone.Engine.Cluster.State;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Replication;
using RedisClone.Engine.Replication.Following;
using RedisClone.Protocol;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Cluster.SlotMigration;

/// <summary>
/// The part of this server's effects that concerns some slots, as a stream of its own. The boundaries of transactions are left out:
/// nothing shows the keys before the stream has ended.
/// </summary>
internal sealed class SlotFeed(ServerCore server, SlotSet slots) : IEffectSink
{
    private readonly Lock _gate = new();
    private readonly StreamBatch _batch = new(server);
    private byte[] _bytes = [];
    private volatile string? _failure;

    public ReplicationStream Stream { get; } = new();

    /// <summary>The reason why the stream is not complete; null if it is.</summary>
    public string? Failure => _failure;

    bool IEffectSink.TellsOthers => true;

    long IEffectSink.Append(EffectBuffer unit)
    {
        if (_failure is not null) return 0;
        try
        {
            lock (_gate) Append(unit.Body);
        }
        catch (Exception failure)
        {
            // The command has had its effect, which the migration alone lacks.
            _failure = failure.Message;
        }
        return 0;
    }

    private void Append(ReadOnlySpan<byte> commands)
    {
        if (_bytes.Length < commands.Length) _bytes = new byte[commands.Length];
        commands.CopyTo(_bytes);
        for (int at = 0; at < commands.Length && _failure is null;)
        {
            _failure = _batch.Fill(_bytes, at, commands.Length - at);
            if (_batch.Bytes == 0) _failure ??= "an effect is incomplete";
            for (int i = 0; i < _batch.Units; i++)
            {
                StreamBatch.Unit unit = _batch[i];
                bool concerns = unit.Count > 0 && Concerns(_batch.Prepared[unit.First].Row!, _batch.Requests[unit.First]);
                if (concerns) Stream.Pass(_bytes.AsSpan(at, unit.Bytes));
                at += unit.Bytes;
            }
            _batch.Clear();
        }
        const int kept = 64 * 1024;
        if (_bytes.Length > kept) _bytes = [];
    }

    /// <summary>The number of keys of a command that are in slots, and the number of its other keys.</summary>
    public static (int Inside, int Outside) CountKeys(CommandRow row, in Request request, SlotSet slots)
    {
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        int inside = 0, outside = 0;
        if (row.CollectKeys(request, ref positions))
            for (int i = 0; i < positions.Count; i++)
                if (slots.Contains(KeySlot.Of(request[positions[i]]))) inside++;
                else outside++;
        positions.Dispose();
        return (inside, outside);
    }

    private bool Concerns(CommandRow row, in Request request)
    {
        (int inside, int outside) = CountKeys(row, request, slots);
        if (inside > 0 && outside > 0) _failure = $"'{row.FullName}' has changed keys of other slots too";
        else if (row.Name is "flushall" or "flushdb") _failure = "all keys were removed";
        // The destination refuses a command with keys of other slots, and then does not try again.
        return inside > 0 && outside == 0;
    }
}
