using RedisClone.Engine.Failures;

namespace RedisClone.Engine.Effects;

/// <summary>
/// Receives units of effects in the order in which they took place. It is called while the shards concerned are held.
/// </summary>
internal interface IEffectSink
{
    /// <summary>Places a unit in the global order and returns the LSN behind it.</summary>
    long Append(EffectBuffer unit);

    /// <summary>
    /// Whether the sink passes units on to other servers. The journal is called before such a sink, so that a unit has its
    /// LSN by then.
    /// </summary>
    bool TellsOthers => false;
}

/// <summary>
/// The one stream of effects. Each write passes its unit through here while its shards are held. Without a sink the cost is
/// one field read.
/// </summary>
internal sealed class EffectLog
{
    private readonly Lock _changing = new();
    private readonly SharedList<IEffectSink> _sinks = [];

    /// <summary>Whether there is a sink, so that handlers must write effects.</summary>
    public bool Wanted => _sinks.Count > 0;

    /// <summary>Adds a sink. The caller holds every shard.</summary>
    public void Attach(IEffectSink sink)
    {
        lock (_changing) _sinks.Insert(sink, sink.TellsOthers ? _sinks.Count : _sinks.Count(static other => !other.TellsOthers));
    }

    /// <summary>Removes a sink. It takes no memory.</summary>
    public void Detach(IEffectSink sink)
    {
        lock (_changing) _sinks.Remove(sink);
    }

    /// <summary>Places the unit and returns the LSN behind it, or 0 if the unit is empty.</summary>
    /// <param name="unit">The effects.</param>
    /// <param name="tellsOthers">Whether other servers get them too.</param>
    internal long Append(EffectBuffer unit, bool tellsOthers = true)
    {
        if (unit.Commands == 0) return 0;
        try
        {
            long position = 0;
            foreach (IEffectSink sink in _sinks)
                if (tellsOthers || !sink.TellsOthers) position = Math.Max(position, sink.Append(unit));
            unit.Clear();
            return position;
        }
        catch (Exception failure)
        {
            // The keyspace has the change, and some of the sinks may have it. Nothing can undo it there.
            Fatal.End("an effect cannot be placed in the stream of effects", failure);
            throw;
        }
    }
}
