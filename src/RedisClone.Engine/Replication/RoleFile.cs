using System.Globalization;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Engine.Durability;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Rdb;

namespace RedisClone.Engine.Replication;

/// <summary>
/// A small file beside the data. It keeps the role that REPLICAOF, Sentinel or FAILOVER gave to a server that has no configuration
/// file, and after a shutdown the place in the replication stream that the journal has reached.
/// </summary>
/// <remarks>
/// The role counts only while the configured role is the one that it replaced: a later change of replicaof in the flags or in the
/// environment wins. With a configuration file, CONFIG REWRITE keeps the role, as with Redis.
/// The lines are "role" with the configured role and the one that replaced it, "position", and "check" with the CRC-64 of the lines before
/// it. The position ends with the fingerprint of the journal's files, because other files may end at the same LSN. The first form of the
/// file has no "check" and no fingerprint. A damaged file prevents the start: a replica must not start as a writable master.
/// A role that cannot be written is written again each second. A server with a journal refuses writes until then: a restart would give
/// it the former role, and the writes that it has acknowledged could be replaced by the data of another server.
/// </remarks>
internal sealed class RoleFile(ServerCore server)
{
    private const long RetryMilliseconds = 1000;
    private const string NameStart = "redisclone-", NameEnd = ".role";

    private readonly Lock _gate = new();
    private string? _path;
    private string _configured = "";
    private string _role = "";          // empty while it is the configured one
    private string _end = "";           // the position at a shutdown
    private volatile string? _failure;  // why the role is not written yet
    private RetryTime _retry = new(RetryMilliseconds, RetryMilliseconds);

    /// <summary>The file of the start. A restart does not know of a changed directory or port.</summary>
    private string Path => _path ??= server.Config.PathOf(string.Create(
        CultureInfo.InvariantCulture, $"{NameStart}{(server.Config.Port > 0 ? server.Config.Port : server.Config.TlsPort)}{NameEnd}"));

    /// <summary>Why the present role would not be that after a restart, or null.</summary>
    public string? Failure => _failure;

    /// <summary>With a configuration file, CONFIG REWRITE keeps the role; in a cluster, nodes.conf does.</summary>
    private bool KeepsRole => server.Config.ConfigFile is null && server.Cluster is null && server.Config.LoadsData;

    /// <summary>Reads the file at the start and sets the role of the configuration.</summary>
    /// <returns>Null, or the reason why the server must not start.</returns>
    public string? Read()
    {
        _configured = Text(server.Config.ReplicaOf);
        if (!server.Config.LoadsData) return null;
        try
        {
            if (server.Disk.DirectoryExists(Path)) throw new InvalidDataException("it is a directory");
            if (!server.Disk.Exists(Path))
            {
                NoteOthers();
                return null;
            }
            Parse(Encoding.UTF8.GetString(server.Disk.ReadAll(Path, Limits.RoleFile) ?? throw new InvalidDataException("it is too long")));
        }
        catch (InvalidDataException damage)
        {
            return $"Cannot start: the file {Path}, which keeps the role of this server, is damaged: {damage.Message}. " +
                $"Delete it to start with the role of the configuration: {Describe(server.Config.ReplicaOf)}. " +
                "If another server is the master, set replicaof first.";
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return $"The file {Path}, which keeps the role of this server, cannot be read: {failure.Message}";
        }
        // The position is that of a shutdown. It is gone once there are new writes.
        if (_end.Length > 0 && !Noted(TryWrite(withEnd: false))) _end = "";
        return null;
    }

    /// <summary>The position at the shutdown, if the journal has the files of then and ends where it ended then; else null.</summary>
    public StreamPosition? PositionAt(long lsn, long fingerprint)
    {
        string[] words = _end.Split(' ');
        return words.Length == 5 && fingerprint != 0 && Number(words[4]) == fingerprint
            && words[0].Length == ReplicationHistory.IdLength && Number(words[1]) is >= 0 and var offset
            && Number(words[2]) is >= 0 and var database && database < server.Config.Databases && Number(words[3]) == lsn
            ? new StreamPosition(words[0], offset, (int)database)
            : null;
    }

    /// <summary>Keeps the present role; called while every shard is held, before the change of the role is confirmed.</summary>
    public void Keep()
    {
        if (!KeepsRole) return;
        string role = Text(server.Config.ReplicaOf);
        if (role == _configured && _role.Length == 0) return;
        lock (_gate)
        {
            _role = role;
            Noted(_failure = TryWrite(withEnd: false));
        }
    }

    /// <summary>Writes a role again that could not be written.</summary>
    public void Tend(long now)
    {
        if (_failure is null || !_retry.HasCome(now)) return;
        _retry.Failed(now, doubles: true);
        lock (_gate)
        {
            if (_failure is null || (_failure = TryWrite(withEnd: false)) is not null) return;
            server.Log.LogInformation("The role is kept for a restart");
        }
    }

    /// <summary>Keeps the position at a shutdown, once the journal is closed.</summary>
    public void KeepEnd(StreamPosition position, long lsn, long fingerprint)
    {
        lock (_gate)
        {
            _end = string.Create(CultureInfo.InvariantCulture, $"{position.History} {position.Offset} {position.Database} {lsn} {fingerprint}");
            Noted(TryWrite(withEnd: true));
        }
    }

    private static string Text(ReplicaOf? primary) =>
        primary is null ? "primary -" : string.Create(CultureInfo.InvariantCulture, $"{Escaped(primary.Host)} {primary.Port}");

    private static string Describe(ReplicaOf? primary) => primary is null ? "a master" : $"a replica of {primary.Host}:{primary.Port}";

    /// <summary>A host as one word.</summary>
    private static string Escaped(string host) => host.Any(static c => c is <= ' ' or '%' or > '~') ? Uri.EscapeDataString(host) : host;

    private static long Number(string word) => long.TryParse(word, NumberStyles.None, CultureInfo.InvariantCulture, out long number) ? number : -1;

    private void Parse(string text)
    {
        if (text.Length == 0) throw new InvalidDataException("it is empty");
        if (text[^1] != '\n') throw new InvalidDataException("its last line is incomplete");
        string[] lines = text[..^1].Split('\n');
        if (lines[^1].StartsWith("check ", StringComparison.Ordinal))
        {
            int length = text.Length - lines[^1].Length - 1;
            if (lines[^1] != Check(text[..length])) throw new InvalidDataException("its checksum is wrong");
            lines = lines[..^1];
        }
        string[]? role = null;
        string end = "";
        foreach (string line in lines)
        {
            string[] words = line.Split(' ');
            if (words is ["role", _, _, _, _] && role is null && end.Length == 0 && IsRole(words[1], words[2]) && IsRole(words[3], words[4])) role = words;
            else if (words is ["position", { Length: ReplicationHistory.IdLength }, _, _, _, ..] && words.Length <= 6 && end.Length == 0
                && words[2..].All(static word => Number(word) >= 0))
                end = line["position ".Length..];
            else throw new InvalidDataException("a line is not valid");
        }
        if (role is not null) TakeRole(role);
        _end = end;
    }

    private static bool IsRole(string host, string port) => port == "-" ? host == "primary" : Number(port) is >= 0 and <= ushort.MaxValue;

    private static ReplicaOf? Role(string host, string port) => port == "-" ? null : new ReplicaOf(Uri.UnescapeDataString(host), (int)Number(port));

    private static string Check(string lines) => $"check {Crc64.Compute(Encoding.UTF8.GetBytes(lines)):x16}";

    /// <summary>Warns of the role of a server with another port, which may be this one under its former port.</summary>
    private void NoteOthers()
    {
        if (!KeepsRole || System.IO.Path.GetDirectoryName(Path) is not { Length: > 0 } directory || !server.Disk.DirectoryExists(directory)) return;
        foreach (string name in server.Disk.List(directory))
        {
            if (name.StartsWith(NameStart, StringComparison.Ordinal) && name.EndsWith(NameEnd, StringComparison.Ordinal))
                server.Log.LogWarning("{File} keeps a role that was set on another port. It does not count here: this server starts as {Role}",
                    name, Describe(server.Config.ReplicaOf));
        }
    }

    /// <summary>Takes the role from a line: the configured role, and the one that replaced it.</summary>
    private void TakeRole(string[] words)
    {
        if (!KeepsRole || Text(Role(words[1], words[2])) != _configured) return;
        server.Config.ReplicaOf = Role(words[3], words[4]);
        _role = Text(server.Config.ReplicaOf);
        server.Log.LogInformation("The role that was set at run time is kept: {Role}", Describe(server.Config.ReplicaOf));
    }

    /// <summary>Logs the reason of a failure. Returns true if there is none.</summary>
    private bool Noted(string? failure)
    {
        if (failure is not null) server.Log.LogWarning("The role cannot be kept for a restart: {Reason}", failure);
        return failure is null;
    }

    /// <summary>Returns null, or the reason of a failure.</summary>
    private string? TryWrite(bool withEnd)
    {
        try
        {
            Write(withEnd);
            return null;
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return failure.Message;
        }
    }

    private void Write(bool withEnd)
    {
        var text = new StringBuilder();
        if (_role.Length > 0) text.Append("role ").Append(_configured).Append(' ').Append(_role).Append('\n');
        if (withEnd && _end.Length > 0) text.Append("position ").Append(_end).Append('\n');
        text.Append(Check(text.ToString())).Append('\n');
        if (text.Length > Limits.RoleFile) throw new IOException("the name of the master is too long");
        server.Disk.Replace(Path, Encoding.UTF8.GetBytes(text.ToString()));
    }
}
