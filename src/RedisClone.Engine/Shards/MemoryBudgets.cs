namespace RedisClone.Engine.Shards;

/// <summary>
/// Divides maxmemory into a budget for each shard. A shard draws its budget in blocks from what is left, so that a write compares
/// the bytes of its own shard with its own budget. The budgets together never exceed what maxmemory leaves to data, except by bytes
/// that are used already. A shard exceeds its budget by at most a block before it draws again.
/// </summary>
internal sealed class MemoryBudgets(ServerCore server)
{
    private const long MostBlock = 64 << 10;

    /// <summary>The blocks of all shards are together at most this part of maxmemory: a hundredth.</summary>
    private const int SlackPart = 100;

    private readonly Lock _takingBack = new();

    // The sum of all budgets. A shard that draws a block writes it, as does TakeBack. A write within its budget does not touch it.
    private long _drawn;

    private bool _spent;

    /// <summary>
    /// Whether nothing was left when a shard last drew, or after the last <see cref="TakeBack"/>. Each growing command reads it
    /// with noeviction. It is written only when it changes, which happens near the limit.
    /// </summary>
    public bool IsSpent => Volatile.Read(ref _spent);

    /// <summary>The bytes that a shard draws at once.</summary>
    public long Block => Math.Clamp(server.Config.MaxMemoryBytes / SlackPart / server.Shards.Count, 1, MostBlock);

    /// <summary>The sum of the budgets of all shards.</summary>
    public long Drawn => Volatile.Read(ref _drawn);

    /// <summary>Whether every shard of a set has a part of its budget left, or could draw more. The caller holds the shards.</summary>
    public bool HaveRoom(in ShardSet held)
    {
        for (int i = held.Next(0); i >= 0; i = held.Next(i + 1))
            if (!HasRoom(server.Shards[i])) return false;
        return true;
    }

    /// <summary>Whether a held shard has a part of its budget left, or could draw more.</summary>
    public bool HasRoom(Shard shard) => shard.Store.Arena.BytesUsed < Volatile.Read(ref shard.Budget) || TryDraw(shard);

    /// <summary>
    /// Draws what a command has used beyond the budgets of the held shards, if that is more than a block. False if that much is
    /// not left.
    /// </summary>
    public bool Cover(in ShardSet held)
    {
        if (held.Only is >= 0 and int only) return Covers(server.Shards[only]);
        for (int i = held.Next(0); i >= 0; i = held.Next(i + 1))
            if (!Covers(server.Shards[i])) return false;
        return true;
    }

    private bool Covers(Shard shard)
    {
        long excess = shard.Store.Arena.BytesUsed - Volatile.Read(ref shard.Budget);
        return excess <= 0 || excess <= Block || TryDraw(shard);
    }

    /// <summary>
    /// Sets the budget of each shard to the bytes that it uses, so that the rest is left for the shards that need it. Any thread may
    /// call it. A shard that draws at the same time keeps its budget.
    /// </summary>
    public void TakeBack()
    {
        lock (_takingBack)
        {
            for (int i = 0; i < server.Shards.Count; i++)
            {
                Shard shard = server.Shards[i];
                long used = shard.Store.Arena.BytesUsed, budget = Volatile.Read(ref shard.Budget);
                if (used == budget || Interlocked.CompareExchange(ref shard.Budget, used, budget) != budget) continue;
                Interlocked.Add(ref _drawn, used - budget);
            }
            Note(Drawn >= server.Eviction.MostData);
        }
    }

    /// <summary>Draws a block, or as much as the shard already uses if a block is not left.</summary>
    private bool TryDraw(Shard shard)
    {
        long least = shard.Store.Arena.BytesUsed - Volatile.Read(ref shard.Budget) + 1;
        long wanted = Math.Max(least, Block);
        if (TryTake(shard, wanted) || wanted > least && TryTake(shard, least)) return true;
        Note(spent: true);
        return false;
    }

    private bool TryTake(Shard shard, long bytes)
    {
        // At the limit every command of every shard comes here, so the shared word is not written in vain.
        if (Drawn + bytes > server.Eviction.MostData) return false;
        if (Interlocked.Add(ref _drawn, bytes) > server.Eviction.MostData)
        {
            Interlocked.Add(ref _drawn, -bytes);
            return false;
        }
        Interlocked.Add(ref shard.Budget, bytes);
        return true;
    }

    private void Note(bool spent)
    {
        if (Volatile.Read(ref _spent) != spent) Volatile.Write(ref _spent, spent);
    }
}
