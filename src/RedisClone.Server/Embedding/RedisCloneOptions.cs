using System.Collections;
using System.Globalization;
using RedisClone.Configuration;

namespace RedisClone.Server.Embedding;

/// <summary>
/// The configuration of an embedded server. Parameters without a property are set by their name in redis.conf:
/// <c>o["maxmemory-policy"] = "allkeys-lru"</c>.
/// </summary>
public sealed class RedisCloneOptions
{
    /// <summary>
    /// The TCP port. 0 selects a free port, which <see cref="RedisCloneServer.Port"/> returns; null disables TCP.
    /// </summary>
    public int? Port { get; set; } = 6379;

    /// <summary>The addresses to listen on, in the syntax of the parameter <c>bind</c>.</summary>
    public string Bind { get; set; } = "127.0.0.1";

    /// <summary>The path of a unix socket to listen on, or null.</summary>
    public string? UnixSocket { get; set; }

    /// <summary>The password of the default user, or null.</summary>
    public string? Password { get; set; }

    /// <summary>
    /// The directory for loading and storing data, created if necessary. If null, nothing is loaded, and nothing is written
    /// unless a client requests it.
    /// </summary>
    public string? Directory { get; set; }

    /// <summary>
    /// Whether every write is recorded in a journal in <see cref="Directory"/>. If false, the data is stored in snapshots.
    /// </summary>
    public bool AppendOnly { get; set; }

    /// <summary>The limit for data in bytes; 0 is no limit.</summary>
    public long MaxMemory { get; set; }

    /// <summary>The path of a redis.conf to read first. The other options override it.</summary>
    public string? ConfigFile { get; set; }

    /// <summary>Further parameters of redis.conf, by name.</summary>
    public IDictionary<string, string> Parameters { get; } = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);

    /// <summary>Gets or sets an entry of <see cref="Parameters"/>.</summary>
    /// <param name="parameter">The name of the parameter in redis.conf.</param>
    public string this[string parameter]
    {
        get => Parameters[parameter];
        set => Parameters[parameter] = value;
    }

    /// <summary>
    /// Converts the options to a command line, so that the same rules parse and check them. The environment of the process is
    /// ignored.
    /// </summary>
    internal ConfigLoad Load()
    {
        Check();
        var words = new List<string>();
        // A full path is never parsed as an option or as standard input.
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
        if (load.Config is not { } config) throw new ArgumentException(load.Error.Trim());
        if (Port == 0) config.Port = ServerConfig.AnyPort;
        config.LoadsData = Directory is not null || ConfigFile is not null || Parameters.ContainsKey("dir");
        return load;

        void Say(string name, string value)
        {
            words.Add("--" + name);
            words.Add(value);
        }
    }

    /// <summary>Checks that a command line cannot make, or whose errors it would describe in other terms.</summary>
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
