using RedisClone.Server.Admin;

namespace RedisClone.Server;

/// <summary>Receives units of effects in the order in which they took place; called under the holds of the shards concerned.</summary>
internal interface IEffectSink
{
    /// <summary>Places a unit in the global order; returns the position behind it (LSN).</summary>
    long Append(EffectBuffer unit);

    /// <summary>Others hear of what it is given: by then the journal must have given it its place.</summary>
    bool TellsOthers => false;
}

/// <summary>
/// The one stream of effects: what every write did goes through here while its shards are held. With nobody listening it costs a
/// field read.
/// </summary>
internal sealed class EffectLog
{
    private readonly Lock _changing = new();
    private IEffectSink[] _sinks = [];

    /// <summary>Whether effects must be written down at all.</summary>
    public bool Wanted => _sinks.Length > 0;

    /// <summary>The caller holds every shard.</summary>
    public void Attach(IEffectSink sink)
    {
        lock (_changing) _sinks = [.. _sinks.Append(sink).OrderBy(static s => s.TellsOthers)];
    }

    public void Detach(IEffectSink sink)
    {
        lock (_changing) _sinks = [.. _sinks.Where(s => s != sink)];
    }

    /// <summary>Nothing that happens from here on is written down.</summary>
    public void DetachAll()
    {
        lock (_changing) _sinks = [];
    }

    /// <summary>Places the unit, if it has anything, and returns the position behind it; 0 otherwise.</summary>
    internal long Append(EffectBuffer unit)
    {
        if (unit.Commands == 0) return 0;
        try
        {
            long position = 0;
            foreach (IEffectSink sink in _sinks) position = Math.Max(position, sink.Append(unit));
            unit.Clear();
            return position;
        }
        catch (Exception failure)
        {
            // Memory has the change, and one of the listeners may have it: none can be told that it did not happen.
            Fatal.End("an effect cannot be placed in the stream of effects", failure);
            throw;
        }
    }
}
