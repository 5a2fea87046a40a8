using System.Globalization;
using System.Text;
using RedisClone.Configuration;
using RedisClone.Journal.Disk;

namespace RedisClone.Engine.Replication;

/// <summary>
/// A small file beside the data. It keeps the role that REPLICAOF, Sentinel or FAILOVER gave to a server that has no configuration
/// file, and after a shutdown the place in the replication stream that the journal has reached.
/// </summary>
/// <remarks>
/// The role counts only while the configured role is the one that it replaced: a later change of replicaof in the flags or in the
/// environment wins. With a configuration file, CONFIG REWRITE keeps the role, as with Redis.
/// </remarks>
internal sealed class RoleFile(ServerCore server)
{
    private string _configured = "";
    private string _role = "";          // empty while it is the configured one
    private string _end = "";           // the position at a shutdown

    private string Path => server.Config.PathOf(string.Create(
        CultureInfo.InvariantCulture, $"redisclone-{(server.Config.Port > 0 ? server.Config.Port : server.Config.TlsPort)}.role"));

    /// <summary>With a configuration file, CONFIG REWRITE keeps the role; in a cluster, nodes.conf does.</summary>
    private bool KeepsRole => server.Config.ConfigFile is null && server.Cluster is null;

    /// <summary>Reads the file at the start and sets the role of the configuration.</summary>
    public void Read()
    {
        _configured = Text(server.Config.ReplicaOf);
        try
        {
            if (!server.Disk.Exists(Path)) return;
            foreach (string line in ReadText().Split('\n'))
            {
                string[] words = line.Split(' ');
                if (words is ["role", ..] && words.Length > 2) TakeRole(words);
                else if (words is ["position", ..]) _end = line["position ".Length..];
            }
            // The position is that of a shutdown. It is gone once there are new writes.
            if (_end.Length > 0) Write(withEnd: false);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            _end = "";
            server.Log.LogWarning("{Path} cannot be used: {Reason}", Path, failure.Message);
        }
    }

    /// <summary>The position at the shutdown, if the journal ends where it ended then; else null.</summary>
    public StreamPosition? PositionAt(long lsn)
    {
        string[] words = _end.Split(' ');
        return words.Length == 4 && words[0].Length == ReplicationHistory.IdLength && Number(words[1]) is >= 0 and var offset
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
        _role = role;
        TryWrite(withEnd: false);
    }

    /// <summary>Keeps the position at a shutdown, once the journal is closed.</summary>
    public void KeepEnd(StreamPosition position, long lsn)
    {
        _end = string.Create(CultureInfo.InvariantCulture, $"{position.History} {position.Offset} {position.Database} {lsn}");
        TryWrite(withEnd: true);
    }

    private static string Text(ReplicaOf? primary) =>
        primary is null ? "primary -" : string.Create(CultureInfo.InvariantCulture, $"{primary.Host} {primary.Port}");

    private static long Number(string word) => long.TryParse(word, NumberStyles.None, CultureInfo.InvariantCulture, out long number) ? number : -1;

    /// <summary>Takes the role from a line: the configured role, and the one that replaced it.</summary>
    private void TakeRole(string[] words)
    {
        if (!KeepsRole || words.Length != 5 || $"{words[1]} {words[2]}" != _configured) return;
        _role = $"{words[3]} {words[4]}";
        server.Config.ReplicaOf = Number(words[4]) is >= 0 and <= ushort.MaxValue and var port ? new ReplicaOf(words[3], (int)port) : null;
        server.Log.LogInformation("The role that was set at run time is kept: {Role}",
            server.Config.ReplicaOf is { } primary ? $"a replica of {primary.Host}:{primary.Port}" : "a master");
    }

    private string ReadText()
    {
        using IDiskFile file = server.Disk.Open(Path, DiskOpen.Read);
        byte[] bytes = new byte[(int)Math.Min(file.Length, Limits.RoleFile)];
        int read = file.Read(0, bytes);
        return Encoding.UTF8.GetString(bytes, 0, read);
    }

    private void TryWrite(bool withEnd)
    {
        try
        {
            Write(withEnd);
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            server.Log.LogWarning("The role cannot be kept for a restart: {Reason}", failure.Message);
        }
    }

    private void Write(bool withEnd)
    {
        var text = new StringBuilder();
        if (_role.Length > 0) text.Append("role ").Append(_configured).Append(' ').Append(_role).Append('\n');
        if (withEnd && _end.Length > 0) text.Append("position ").Append(_end).Append('\n');
        string temporary = Path + ".tmp";
        using (IDiskFile file = server.Disk.Open(temporary, DiskOpen.New))
        {
            file.Write(0, Encoding.UTF8.GetBytes(text.ToString()));
            file.Flush();
        }
        server.Disk.Rename(temporary, Path);
        server.Disk.FlushDirectory(System.IO.Path.GetDirectoryName(Path)!);
    }
}
