using System.Collections;
using System.Globalization;
using RedisClone.Server.Admin;

namespace RedisClone.Server.Embedding;

/// <summary>How an embedded server is set up. What has no property of its own is set by its name in redis.conf: <c>o["maxmemory-policy"] = "allkeys-lru"</c>.</summary>
public sealed class RedisCloneOptions
{
    /// <summary>The TCP port; 0 takes any that is free, which <see cref="RedisCloneServer.Port"/> then tells, and null listens on none.</summary>
    public int? Port { get; set; } = 6379;

    /// <summary>The addresses to listen on, as the parameter <c>bind</c> has them.</summary>
    public string Bind { get; set; } = "127.0.0.1";

    /// <summary>The path of a unix socket to listen on, or null.</summary>
    public string? UnixSocket { get; set; }

    /// <summary>The password of the default user, or null.</summary>
    public string? Password { get; set; }

    /// <summary>Where data is loaded from and kept; it is made if need be. Null: nothing is read, and nothing is written unless a client asks for it.</summary>
    public string? Directory { get; set; }

    /// <summary>Whether every write is journalled in <see cref="Directory"/>; without it, there are snapshots.</summary>
    public bool AppendOnly { get; set; }

    /// <summary>Bytes that data may take; 0 sets no limit.</summary>
    public long MaxMemory { get; set; }

    /// <summary>A redis.conf to begin with; everything else said here overrides it.</summary>
    public string? ConfigFile { get; set; }

    /// <summary>Any other parameters of redis.conf, by name.</summary>
    public IDictionary<string, string> Parameters { get; } = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);

    /// <summary>The same, for short.</summary>
    public string this[string parameter]
    {
        get => Parameters[parameter];
        set => Parameters[parameter] = value;
    }

    /// <summary>Says all this as a command line would, so that it is read and checked by the same rules; the process's own environment has no say.</summary>
    internal ConfigLoad Load()
    {
        Check();
        var words = new List<string>();
        // A whole path is never taken for an option, or for standard input.
        if (ConfigFile is not null) words.Add(Path.GetFullPath(ConfigFile));
        Say("port", (Port ?? 0).ToString(CultureInfo.InvariantCulture));
        Say("bind", Bind);
        if (UnixSocket is not null) Say("unixsocket", Path.GetFullPath(UnixSocket));
        if (Password is not null) Say("requirepass", Password);
        if (Directory is null) Say("save", "");
        else Say("dir", Path.GetFullPath(Directory));
        if (AppendOnly) Say("appendonly", "yes");
        if (MaxMemory > 0) Say("maxmemory", MaxMemory.ToString(CultureInfo.InvariantCulture));
        foreach ((string name, string value) in Parameters) Say(name, value);
        ConfigLoad load = ServerConfig.Load(words, new Hashtable(), static () => Stream.Null);
        if (load.Config is not { } config) throw new ArgumentException(load.Text.Trim());
        if (Port == 0) config.Port = ServerConfig.AnyPort;
        return load;

        void Say(string name, string value)
        {
            words.Add("--" + name);
            words.Add(value);
        }
    }

    /// <summary>What a command line cannot say, or would say in other words.</summary>
    private void Check()
    {
        Refuse(string.IsNullOrWhiteSpace(Bind), "Bind needs an address; Port = null listens on none.");
        Refuse(UnixSocket is "", "UnixSocket needs a path; null is none.");
        Refuse(ConfigFile is "", "ConfigFile needs a path; null is none.");
        Refuse(Directory is "", "Directory needs a path; null keeps nothing.");
        Refuse(MaxMemory < 0, "MaxMemory cannot be negative; 0 sets no limit.");
        Refuse(AppendOnly && Directory is null, "AppendOnly needs a Directory to keep the journal in.");
        foreach ((string name, string? value) in Parameters) Refuse(value is null, $"The parameter {name} needs a value.");
        if (Directory is null) return;
        try
        {
            System.IO.Directory.CreateDirectory(Directory);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw new ArgumentException($"Directory cannot be made: {failure.Message}", failure);
        }
    }

    private static void Refuse(bool wrong, string why)
    {
        if (wrong) throw new ArgumentException(why);
    }
}
