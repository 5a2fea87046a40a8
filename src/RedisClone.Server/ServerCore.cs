using System.Diagnostics;
using System.Security.Cryptography;
using Microsoft.Extensions.Logging;
using RedisClone.Server.Admin;
using RedisClone.Server.Commands;
using RedisClone.Server.Durability;
using RedisClone.Server.Net;
using RedisClone.Server.Pubsub;
using RedisClone.Server.Shards;

namespace RedisClone.Server;

/// <summary>The parts of one running server, made once and handed to whoever needs them.</summary>
public sealed class ServerCore
{
    public ServerCore(ServerConfig config, ILogger<ServerCore> log)
    {
        Config = config;
        Log = log;
        Commands = new CommandTable(CommandFamilies.All);
        Lanes = new LaneSet(Commands.All.Length);
        Shards = new ShardMap(ShardCount(config), config.Databases);
        Notifications = new Notifications(Hub) { Enabled = config.NotifyKeyspaceEvents };
        KeyEvents = new KeyEvents(this);
        AccessClock = new AccessClock(config);
        Executor = new Executor(this);
        Blocked = new BlockedClients(this);
    }

    public ServerConfig Config { get; }

    public ILogger Log { get; }

    public CommandTable Commands { get; }

    public ShardMap Shards { get; }

    public LaneSet Lanes { get; }

    public SessionRegistry Sessions { get; } = new();

    public EffectLog Effects { get; } = new();

    /// <summary>Null where no journal is kept.</summary>
    internal JournalKeeper? Journal { get; set; }

    internal Hub Hub { get; } = new();

    internal Notifications Notifications { get; }

    public KeyEvents KeyEvents { get; }

    public AccessClock AccessClock { get; }

    internal Executor Executor { get; }

    internal BlockedClients Blocked { get; }

    /// <summary>DEBUG SET-ACTIVE-EXPIRE and loading turn it off: keys whose time has passed stay visible.</summary>
    public bool ExpiryEnabled { get; set; } = true;

    public bool AuthenticationRequired => Config.RequirePass.Length > 0;

    public string RunId { get; } = Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(20));

    public long StartedAt { get; } = UnixMilliseconds();

    public static long UnixMilliseconds() => DateTimeOffset.UtcNow.ToUnixTimeMilliseconds();

    /// <summary>Ticks of the clock that command times are measured with, as microseconds.</summary>
    public static long Microseconds(long ticks) => ticks * 1_000_000 / Stopwatch.Frequency;

    /// <summary>Brings back what was kept, before anybody is served; why not, if the server must not start.</summary>
    public string? LoadData()
    {
        if (!Config.AppendOnly) return null;
        Journal = new JournalKeeper(this);
        return Journal.Start();
    }

    private static int ShardCount(ServerConfig config)
    {
        if (config.Shards > 0) return config.Shards;
        int wanted = Environment.ProcessorCount * 16;
        return Math.Clamp((int)System.Numerics.BitOperations.RoundUpToPowerOf2((uint)wanted), 16, ShardSet.MaxShards);
    }
}
