using System.Text;
using RedisClone.Journal.Disk;

namespace RedisClone.Engine.Cluster.State;

/// <summary>The file nodes.conf. It is replaced atomically, and its lock keeps a second node off the directory.</summary>
internal sealed class NodesFile(ServerCore server) : IDisposable
{
    private const int LongestFile = 256 << 20;

    private IDisposable? _lock;

    public string Path { get; } = server.Config.PathOf(server.Config.ClusterConfigFile);

    /// <summary>Locks the file and reads it. The state is null if there is no file yet.</summary>
    /// <returns>Null, or the reason why the server must not start.</returns>
    public string? Open(long now, out ClusterState? state)
    {
        state = null;
        try
        {
            _lock = server.Disk.TryLock(Path + ".lock");
            if (_lock is null)
                return $"Sorry, the cluster configuration file {Path} is already used by a different Redis Cluster node. " +
                    "Please make sure that different nodes use different cluster configuration files.";
            if (!server.Disk.Exists(Path) && !server.Disk.DirectoryExists(Path)) return null;
            byte[] bytes = server.Disk.ReadAll(Path, LongestFile) ?? throw new InvalidDataException("the file is too long");
            string text = Encoding.UTF8.GetString(bytes);
            if (text.Length > 0) state = NodesText.Parse(text, server.Config.TlsCluster, now);
            return null;
        }
        catch (InvalidDataException damage)
        {
            return $"Unrecoverable error: corrupted cluster config file {Path}, {damage.Message}";
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            return $"The cluster configuration file {Path} cannot be used: {failure.Message}";
        }
    }

    /// <summary>Replaces the file. Throws if the disk fails.</summary>
    public void Write(ClusterState state, bool flush) =>
        server.Disk.Replace(Path, Encoding.UTF8.GetBytes(NodesText.Format(state, server.Config.TlsCluster)), flush);

    public void Dispose() => _lock?.Dispose();
}
