using RedisClone.Lua.Values;

namespace RedisClone.Lua.Compiling;

/// <summary>
/// Keeps one string object per content. The constants of a chunk and the names of the libraries are therefore the same
/// objects as the keys in tables, and most lookups compare references only. The hash has a random seed per process, so
/// that a source text cannot be written to cause collisions.
/// </summary>
internal sealed class StringPool(StringPool? parent = null, CompileBudget? budget = null)
{
    private const int BytesPerSlot = 64;

    private (int Hash, LuaString? Value)[] _slots = new (int, LuaString?)[64];
    private int _count;
    private bool _isShared;

    /// <summary>Returns this pool for a second owner. From here on it does not change, so that several threads may use it.</summary>
    public StringPool Share()
    {
        _isShared = true;
        return this;
    }

    public LuaString Intern(ReadOnlySpan<byte> bytes)
    {
        HashCode code = default;
        code.AddBytes(bytes);
        int hash = code.ToHashCode();
        LuaString? found = parent?.Find(bytes, hash) ?? Find(bytes, hash);
        if (found is not null) return found;
        if (_isShared) return LuaString.From(bytes);
        // The parser stops at its next step, because the budget is exceeded.
        if (budget is not null && !budget.Spend(LuaString.SizeOf(bytes.Length) + BytesPerSlot)) return LuaString.Empty;
        if (_count * 2 >= _slots.Length) Grow();
        var made = LuaString.From(bytes);
        Place((hash, made));
        _count++;
        return made;
    }

    private LuaString? Find(ReadOnlySpan<byte> bytes, int hash)
    {
        int mask = _slots.Length - 1;
        for (int i = hash & mask; _slots[i].Value is { } s; i = (i + 1) & mask)
        {
            if (_slots[i].Hash == hash && s.Span.SequenceEqual(bytes)) return s;
        }
        return null;
    }

    private void Place((int Hash, LuaString? Value) slot)
    {
        int mask = _slots.Length - 1;
        int i = slot.Hash & mask;
        while (_slots[i].Value is not null) i = (i + 1) & mask;
        _slots[i] = slot;
    }

    private void Grow()
    {
        (int Hash, LuaString? Value)[] old = _slots;
        _slots = new (int, LuaString?)[old.Length * 2];
        foreach ((int Hash, LuaString? Value) slot in old)
        {
            if (slot.Value is not null) Place(slot);
        }
    }
}
