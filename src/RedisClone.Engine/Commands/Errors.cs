using System.Text;
using RedisClone.Configuration;

namespace RedisClone.Engine.Commands;

/// <summary>
/// Error texts that several commands use. They are Redis's texts, because clients match on them. In an error text each character
/// stands for one byte, so that binary input of a client is returned unchanged.
/// </summary>
internal static class Errors
{
    public const string Syntax = "ERR syntax error";
    public const string WrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";
    public const string NotInteger = "ERR value is not an integer or out of range";
    public const string NotInt32 = "ERR value is out of range, value must between -2147483648 and 2147483647";
    public const string NotFloat = "ERR value is not a valid float";
    public const string OutOfRange = "ERR value is out of range";
    public const string NotPositive = "ERR value is out of range, must be positive";
    public const string NoSuchKey = "ERR no such key";
    public const string NoAuth = "NOAUTH Authentication required.";
    public const string WrongPass = "WRONGPASS invalid username-password pair or user is disabled.";
    public const string Internal = "ERR internal error";
    public const string AllocationFailed = "OOM out of memory: the server could not allocate what the command needs.";
    public const string ShardFull = "OOM the shard of the key is full.";
    public const string NoReplicas = "NOREPLICAS Not enough good replicas to write.";
    public const string ReadOnlyReplica = "READONLY You can't write against a read only replica.";
    public const string PrimaryIsDown = "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.";
    public const string RoleChanged = "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)";
    public const string TooManyEffects = "ERR the effects of this transaction or script would be too long";

    public const string OutOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";
    public const string SameObject = "ERR source and destination objects are the same";
    public const string DbIndex = "ERR DB index is out of range";
    public const string StringTooLong = "ERR string exceeds maximum allowed size (proto-max-bulk-len)";
    public const string Overflow = "ERR increment or decrement would overflow";
    public const string BitOffset = "ERR bit offset is not an integer or out of range";

    /// <summary>The end of the errors of commands that a cluster does not have.</summary>
    public const string NotInCluster = " is not allowed in cluster mode";

    /// <summary>Whether the cause of an error is the configuration, and not the data.</summary>
    public static bool IsOfConfiguration(string error) => error == DbIndex || error.EndsWith(NotInCluster, StringComparison.Ordinal);

    /// <summary>Input of a client as an error text. Like a C string, it ends at the first zero byte.</summary>
    public static string Echo(ReadOnlySpan<byte> sent)
    {
        int end = sent.IndexOf((byte)0);
        return Encoding.Latin1.GetString(end < 0 ? sent : sent[..end]);
    }

    /// <summary>A text of the server or the system, which may contain more than ASCII, such as a file name.</summary>
    public static string Spell(string text) => ConfigText.ToLine(text);

    public static string RoleNotKept(string reason) =>
        $"MISCONF The role of this server cannot be kept for a restart, so it takes no writes: {Spell(reason)}";

    public static string JournalFailed(string reason) => $"MISCONF Errors writing to the AOF file: {Spell(reason)}";

    public static string WrongArity(string fullName) => $"ERR wrong number of arguments for '{fullName}' command";

    public static string InvalidExpireTime(string name) => $"ERR invalid expire time in '{name}' command";

    public static string UnknownSubcommand(string subcommand, string container) =>
        $"ERR unknown subcommand '{subcommand}'. Try {container.ToUpperInvariant()} HELP.";

    /// <summary>The error of containers whose subcommands take a range of arguments.</summary>
    public static string SubcommandSyntax(string subcommand, string container) =>
        $"ERR unknown subcommand or wrong number of arguments for '{subcommand}'. Try {container.ToUpperInvariant()} HELP.";

    public const string Loading = "LOADING Redis is loading the dataset in memory";

    public const string SnapshotsFail =
        "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. " +
        "Commands that may modify the data set are disabled, because this instance is configured to report errors during " +
        "writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Redis logs for details " +
        "about the RDB error.";
}
