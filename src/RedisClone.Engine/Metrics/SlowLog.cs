using System.Diagnostics;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Engine.Metrics;

/// <summary>
/// A slow command. Its arguments are truncated and its secrets removed. <paramref name="Count"/> is the number of all arguments.
/// </summary>
internal sealed record SlowLogEntry(long Id, long UnixSeconds, long Microseconds, byte[][] Arguments, string Peer, string ClientName, int Count);

/// <summary>The most recent commands that took longer than slowlog-log-slower-than.</summary>
internal sealed class SlowLog(ServerConfig config)
{
    private const int MostName = 1024;

    private readonly Lock _gate = new();
    private readonly LinkedList<SlowLogEntry> _entries = new();
    private long _nextId;

    /// <summary>The least duration of a slow command, in ticks. The hot path reads only this property.</summary>
    public long Threshold { get; private set; } = ThresholdOf(config);

    public int Count
    {
        get
        {
            lock (_gate) return _entries.Count;
        }
    }

    /// <summary>Applies a changed configuration.</summary>
    public void Adapt() => Threshold = ThresholdOf(config);

    public void Add(Session session, CommandRow row, in Request request, long ticks)
    {
        if (config.SlowlogMaxLen == 0 || row.Has(CommandFlags.SkipSlowLog)) return;
        byte[][] arguments = Arguments(row, request);
        string name = session.Name.Length > MostName ? session.Name[..MostName] : session.Name;
        lock (_gate)
        {
            _entries.AddFirst(new SlowLogEntry(
                _nextId++, ServerCore.UnixMilliseconds() / 1000, ServerCore.Microseconds(ticks), arguments, session.PeerName, name, request.Count));
            while (_entries.Count > config.SlowlogMaxLen) _entries.RemoveLast();
        }
    }

    /// <summary>Returns at most <paramref name="most"/> entries, newest first.</summary>
    public SlowLogEntry[] Read(long most)
    {
        lock (_gate) return [.. _entries.Take((int)Math.Min(most, _entries.Count))];
    }

    public void Reset()
    {
        lock (_gate) _entries.Clear();
    }

    private byte[][] Arguments(CommandRow row, in Request request)
    {
        int shown = Math.Min(request.Count, config.SlowlogEntryMaxArgc);
        byte[][] arguments = new byte[shown][];
        for (int i = 0; i < shown; i++)
        {
            bool standsForRest = i == shown - 1 && request.Count > shown;
            arguments[i] = standsForRest ? Encoding.ASCII.GetBytes($"... ({request.Count - shown + 1} more arguments)") : Trim(row.Show(request, i));
        }
        return arguments;
    }

    private byte[] Trim(ReadOnlySpan<byte> argument)
    {
        int most = (int)Math.Min(config.SlowlogEntryMaxStringLen, int.MaxValue);
        if (argument.Length <= most) return argument.ToArray();
        return [.. argument[..most], .. Encoding.ASCII.GetBytes($"... ({argument.Length - most} more bytes)")];
    }

    private static long ThresholdOf(ServerConfig config) =>
        config.SlowlogLogSlowerThan < 0 ? long.MaxValue : (long)(config.SlowlogLogSlowerThan * (Stopwatch.Frequency / 1e6));
}
