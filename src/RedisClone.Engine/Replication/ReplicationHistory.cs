using RedisClone.Memory;

namespace RedisClone.Engine.Replication;

/// <summary>
/// The names of the history of the data. Two servers with the same name have the same stream of effects up to any offset that
/// both have reached. A server that stops being a replica begins a history of its own and keeps the name of the old one, so
/// that the other replicas of its former primary can continue with it.
/// </summary>
internal sealed class ReplicationHistory
{
    /// <summary>The length of a name.</summary>
    public const int IdLength = 40;

    private static readonly string NoId = new('0', IdLength);

    private volatile Names _names = new(NewId(), NoId, -1);

    public string Id => _names.Id;

    /// <summary>The name of the earlier history, or zeros.</summary>
    public string EarlierId => _names.Earlier;

    /// <summary>The first offset, counted from 1, that the earlier history does not share; -1 if there is none.</summary>
    public long EarlierEnd => _names.EarlierEnd;

    public static string NewId() => Convert.ToHexStringLower(SystemRandom.GetBytes(IdLength / 2));

    /// <summary>Begins a history that shares nothing with the present one.</summary>
    public void Change() => _names = new Names(NewId(), NoId, -1);

    /// <summary>Begins a history of this server's own that shares the present one up to an offset.</summary>
    public void Branch(long offset) => BranchFrom(_names.Id, offset);

    /// <summary>
    /// Begins a history after a restart with the data that another history has up to an offset. What this server had beyond it
    /// may be lost, so the old name is not used for anything new.
    /// </summary>
    public void BranchFrom(string id, long offset) => _names = new Names(NewId(), id, offset + 1);

    /// <summary>Takes over the history of a primary whose data was copied.</summary>
    public void Adopt(string id) => _names = new Names(id, NoId, -1);

    /// <summary>Takes over the new name of the primary's history, which shares the present one up to an offset.</summary>
    public void Rename(string id, long offset)
    {
        if (id != _names.Id) _names = new Names(id, _names.Id, offset + 1);
    }

    /// <summary>Whether a replica that has the history <paramref name="id"/> up to an offset has the same data up to it.</summary>
    public bool Shares(string id, long offset)
    {
        Names names = _names;
        return id.Equals(names.Id, StringComparison.OrdinalIgnoreCase)
            || id.Equals(names.Earlier, StringComparison.OrdinalIgnoreCase) && offset < names.EarlierEnd;
    }

    private sealed record Names(string Id, string Earlier, long EarlierEnd);
}
