using RedisClone.Storage.Values.Hashes;

namespace RedisClone.Engine.Clients;

/// <summary>
/// The named lists of field names that a connection has prepared for HIMPORT. The last one used is found first, because an
/// import uses the same list thousands of times.
/// </summary>
internal sealed class Fieldsets
{
    private readonly List<(byte[] Name, FieldNames Fields)> _sets = [];
    private int _last;

    public int Count => _sets.Count;

    /// <summary>Bytes of the lists.</summary>
    public long HeldBytes { get; private set; }

    /// <summary>Adds or replaces a list. Returns false if there are too many.</summary>
    public bool TryPut(byte[] name, FieldNames fields)
    {
        int at = IndexOf(name);
        if (at < 0 && _sets.Count == Limits.Fieldsets) return false;
        if (at < 0) _sets.Add((name, fields));
        else
        {
            HeldBytes -= SizeOf(_sets[at]);
            _sets[at] = (name, fields);
        }
        HeldBytes += SizeOf((name, fields));
        return true;
    }

    public FieldNames? Find(ReadOnlySpan<byte> name) => IndexOf(name) is >= 0 and var at ? _sets[_last = at].Fields : null;

    public bool Remove(ReadOnlySpan<byte> name)
    {
        int at = IndexOf(name);
        if (at < 0) return false;
        HeldBytes -= SizeOf(_sets[at]);
        _sets.RemoveAt(at);
        _last = 0;
        return true;
    }

    private static long SizeOf((byte[] Name, FieldNames Fields) set) =>
        Limits.BytesPerName + set.Name.Length + set.Fields.HeldBytes;

    private int IndexOf(ReadOnlySpan<byte> name)
    {
        if (_last < _sets.Count && name.SequenceEqual(_sets[_last].Name)) return _last;
        for (int i = 0; i < _sets.Count; i++)
            if (name.SequenceEqual(_sets[i].Name)) return i;
        return -1;
    }
}
