namespace RedisClone.Server.Admin;

/// <summary>What DEBUG can turn off or on, for tests.</summary>
internal sealed class DebugSwitches
{
    /// <summary>Keys and fields whose time has passed are looked for; without, they are found when somebody asks for them.</summary>
    public bool ActiveExpiry { get; set; } = true;

    /// <summary>Background work runs.</summary>
    public bool BackgroundWork { get; set; } = true;

    /// <summary>Scripts may call commands that are denied to scripts.</summary>
    public bool ScriptsMayCallAll { get; set; }

    /// <summary>RESTORE verifies the checksum of what it is given.</summary>
    public bool PayloadChecksums { get; set; } = true;
}
