using System.Text;

namespace RedisClone.Engine.Metrics;

/// <summary>
/// Counts error replies by code. Scripts can invent codes, so the number of codes is bounded. When the bound is reached, all
/// counts are dropped and only that fact is reported.
/// </summary>
internal sealed class ErrorStatistics
{
    private const int MaxCodes = 128;
    private const string Disabled = "ERRORSTATS_DISABLED";

    private readonly Lock _gate = new();
    private readonly Dictionary<byte[], long> _counts = new(ByteComparer.Instance);
    private readonly Dictionary<byte[], long>.AlternateLookup<ReadOnlySpan<byte>> _bySpan;
    private bool _disabled;

    public ErrorStatistics() => _bySpan = _counts.GetAlternateLookup<ReadOnlySpan<byte>>();

    /// <summary>Called once with all codes when the bound is reached.</summary>
    public Action<string>? Overflowed { get; set; }

    public void Count(ReadOnlySpan<byte> code)
    {
        string? dropped = null;
        lock (_gate)
        {
            if (_disabled) return;
            if (_counts.Count < MaxCodes || _bySpan.ContainsKey(code))
            {
                _bySpan[code] = _bySpan.TryGetValue(code, out long count) ? count + 1 : 1;
                return;
            }
            dropped = string.Join(", ", _counts.Keys.Select(Encoding.UTF8.GetString));
            _counts.Clear();
            _disabled = true;
        }
        Overflowed?.Invoke(dropped);
    }

    /// <summary>Returns the counts, sorted by code.</summary>
    public List<KeyValuePair<string, long>> Read()
    {
        lock (_gate)
        {
            if (_disabled) return [new(Disabled, 1)];
            return [.. _counts.Select(c => KeyValuePair.Create(Encoding.UTF8.GetString(c.Key), c.Value)).OrderBy(c => c.Key, StringComparer.Ordinal)];
        }
    }

    public void Reset()
    {
        lock (_gate)
        {
            _counts.Clear();
            _disabled = false;
        }
    }
}
