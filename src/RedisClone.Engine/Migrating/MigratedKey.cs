namespace RedisClone.Engine.Migrating;

/// <summary>A key that a MIGRATE transfers, with the value that was read while its shard was held.</summary>
internal sealed class MigratedKey(byte[] name)
{
    public byte[] Name => name;

    /// <summary>The value in the format of RESTORE.</summary>
    public byte[] Payload { get; set; } = [];

    /// <summary>The time of the expiry in Unix milliseconds; 0 for none.</summary>
    public long Expiry { get; set; }

    /// <summary>Whether the target may replace a key. It must if it has an earlier value from this server.</summary>
    public bool Replaces { get; set; }

    /// <summary>
    /// A RESTORE has replaced the key here meanwhile, perhaps with the same value: another server hands it over. Set by the holder of its
    /// shard.
    /// </summary>
    public bool WasRestored { get; set; }

    /// <summary>Whether the target has the value.</summary>
    public bool IsConfirmed { get; set; }
}
