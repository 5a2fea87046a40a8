using System.Diagnostics;
using RedisClone.Admin.Info;
using RedisClone.Engine;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.History;

/// <summary>
/// The exported figures of the last hour, one value a second, and of the last day, one value a minute. The memory is fixed: about
/// 4 MB. A timer takes the samples.
/// </summary>
internal sealed class FigureHistory
{
    public const int SecondsKept = 3600, MinutesKept = 24 * 60;
    private const int SecondsPerMinute = 60;

    private readonly Lock _gate = new();
    private readonly ServerCore _server;
    private readonly HistorySource[] _sources;
    private readonly int[] _sourceOf;
    private readonly Ring _seconds, _minutes;
    private readonly Dictionary<string, int> _indexes = new(StringComparer.Ordinal);
    private readonly HistogramRoom _room = new();
    private readonly float[] _row;
    private long _sampledAt;
    private int _inMinute;

    public FigureHistory(ServerCore server)
    {
        _server = server;
        _sources = [.. HistorySource.All];
        Names = [.. _sources.SelectMany(static source => source.Names)];
        _sourceOf = [.. _sources.SelectMany(static (source, i) => source.Names.Select(_ => i))];
        for (int i = 0; i < Names.Length; i++) _indexes.Add(Names[i], i);
        _row = new float[Names.Length];
        _seconds = new Ring(SecondsKept, Names.Length);
        _minutes = new Ring(MinutesKept, Names.Length);
    }

    /// <summary>The names of all series, as the metrics page writes them.</summary>
    public string[] Names { get; }

    /// <summary>The metric that a series belongs to, or null if there is no such series.</summary>
    public Metric? MetricOf(string name) => _indexes.TryGetValue(name, out int index) ? _sources[_sourceOf[index]].Metric : null;

    /// <summary>Takes a sample. The caller is one timer.</summary>
    /// <param name="unixSeconds">The present time.</param>
    public void Sample(long unixSeconds)
    {
        long now = Stopwatch.GetTimestamp();
        double elapsed = _sampledAt == 0 ? 1 : Stopwatch.GetElapsedTime(_sampledAt, now).TotalSeconds;
        _sampledAt = now;
        _room.Reset();
        var reading = new ServerReading(_server, _room);
        float[] row = _row;
        int at = 0;
        foreach (HistorySource source in _sources)
        {
            source.Sample(reading, elapsed, row.AsSpan(at, source.Names.Length));
            at += source.Names.Length;
        }
        lock (_gate)
        {
            _seconds.Add(unixSeconds, row);
            if (++_inMinute < SecondsPerMinute) return;
            _inMinute = 0;
            _minutes.Add(unixSeconds, CombineMinute());
        }
    }

    /// <summary>
    /// Reads some series. Each point covers the same number of samples; the points are at most <paramref name="points"/>.
    /// </summary>
    /// <param name="names">The names of the series. Unknown names give no values.</param>
    /// <param name="seconds">How far to go back. Beyond an hour, the samples are those of each minute.</param>
    /// <param name="points">The largest number of points.</param>
    /// <param name="after">Only points after this time, in Unix seconds.</param>
    public HistoryPoints Read(IReadOnlyList<string> names, int seconds, int points, long after)
    {
        lock (_gate)
        {
            bool bySecond = seconds <= SecondsKept;
            Ring ring = bySecond ? _seconds : _minutes;
            int wanted = Math.Min(bySecond ? seconds : seconds / SecondsPerMinute, ring.Capacity);
            int group = Math.Max(1, (wanted + points - 1) / points);
            int step = group * (bySecond ? 1 : SecondsPerMinute);
            var times = new List<long>();
            List<float>[] values = [.. names.Select(static _ => new List<float>())];
            Span<float> members = stackalloc float[group > 256 ? 0 : group];
            if (group > 256) members = new float[group];
            // A group ends where its number among all samples ends, so that a later read gives the same groups.
            int first = Math.Max(0, ring.Count - wanted);
            for (int i = first; i < ring.Count; i++)
            {
                if ((ring.NumberOf(i) + 1) % group != 0 && group > 1) continue;
                if (ring.TimeAt(i) <= after) continue;
                times.Add(ring.TimeAt(i));
                for (int name = 0; name < names.Count; name++) values[name].Add(ValueAt(ring, names[name], i, Math.Min(group, i + 1), members));
            }
            return new HistoryPoints(step, times, values);
        }
    }

    private float ValueAt(Ring ring, string name, int last, int count, Span<float> members)
    {
        if (!_indexes.TryGetValue(name, out int series)) return float.NaN;
        int used = 0;
        for (int i = last - count + 1; i <= last; i++)
            if (ring[i, series] is var value && !float.IsNaN(value)) members[used++] = value;
        return used == 0 ? float.NaN : _sources[_sourceOf[series]].Combine(members[..used]);
    }

    private float[] CombineMinute()
    {
        float[] row = new float[Names.Length];
        Span<float> members = stackalloc float[SecondsPerMinute];
        for (int series = 0; series < row.Length; series++)
        {
            int used = 0;
            for (int i = Math.Max(0, _seconds.Count - SecondsPerMinute); i < _seconds.Count; i++)
                if (_seconds[i, series] is var value && !float.IsNaN(value)) members[used++] = value;
            row[series] = used == 0 ? float.NaN : _sources[_sourceOf[series]].Combine(members[..used]);
        }
        return row;
    }

    /// <summary>Rows of values and their times; a new row replaces the oldest one.</summary>
    private sealed class Ring(int capacity, int series)
    {
        private readonly float[] _values = new float[capacity * series];
        private readonly long[] _times = new long[capacity];
        private long _added;

        public int Capacity => capacity;

        public int Count => (int)Math.Min(_added, capacity);

        /// <summary>A value of a row, by its age: row 0 is the oldest.</summary>
        public float this[int row, int of] => _values[SlotOf(row) * series + of];

        public long TimeAt(int row) => _times[SlotOf(row)];

        /// <summary>The number of a row among all rows ever added.</summary>
        public long NumberOf(int row) => _added - Count + row;

        public void Add(long time, ReadOnlySpan<float> row)
        {
            int slot = (int)(_added % capacity);
            row.CopyTo(_values.AsSpan(slot * series, series));
            _times[slot] = time;
            _added++;
        }

        private int SlotOf(int row) => (int)(NumberOf(row) % capacity);
    }
}

/// <summary>Points of several series.</summary>
/// <param name="Step">The seconds that a point covers.</param>
/// <param name="Times">The time at which each point ends, in Unix seconds.</param>
/// <param name="Values">The values by series and point; NaN if there is none.</param>
internal sealed record HistoryPoints(int Step, List<long> Times, List<float>[] Values);
