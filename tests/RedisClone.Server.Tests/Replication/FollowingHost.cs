using RedisClone.Configuration;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Replication;

/// <summary>A replica without a network, whose primary sends an empty snapshot and then the commands of a test.</summary>
internal sealed class FollowingHost : IDisposable
{
    private const string History = "0123456789012345678901234567890123456789";

    private readonly string _directory = Directory.CreateTempSubdirectory().FullName;
    private long _length;

    public FollowingHost() => Host = new CommandHost(config => config.Dir = _directory);

    public CommandHost Host { get; }

    /// <summary>Follows a primary whose stream has these commands.</summary>
    public ScriptedPeer Follow(params string[] stream)
    {
        byte[] empty = [.. "REDIS0011"u8, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
        byte[] offer = System.Text.Encoding.ASCII.GetBytes($"+FULLRESYNC {History} 0\r\n${empty.Length}\r\n");
        byte[] commands = ScriptedPeer.Commands(stream);
        _length = commands.Length;
        var peer = new ScriptedPeer("PSYNC", [.. offer, .. empty, .. commands]);
        Host.Core.Role.Connector = peer;
        Host.Core.Role.Follow(new ReplicaOf("127.0.0.1", 1));
        return peer;
    }

    /// <summary>Waits until all commands are applied. The host runs commands without holds, so a test runs none before that.</summary>
    public void AwaitStream() => Until(() => Host.Core.Replicas.Stream.Offset >= _length);

    public bool Has(string key) => Host.Run($"EXISTS {key}").Contains('1');

    public static void Until(Func<bool> condition) => Assert.True(SpinWait.SpinUntil(condition, TimeSpan.FromSeconds(30)));

    public void Dispose()
    {
        Host.Core.Role.Lead();
        Directory.Delete(_directory, recursive: true);
    }
}
