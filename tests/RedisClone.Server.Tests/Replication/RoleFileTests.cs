using RedisClone.Configuration;
using RedisClone.Engine.Replication;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Replication;

/// <summary>The file that keeps a role: it is read as it was written, and a damaged one prevents the start.</summary>
public sealed class RoleFileTests : IDisposable
{
    private const string History = "0123456789012345678901234567890123456789";

    private readonly string _directory = Directory.CreateTempSubdirectory().FullName;

    private string File => Path.Combine(_directory, "redisclone-6379.role");

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("fe80::1%eth0")]
    [InlineData("a host\nwith 100%25 \u00e4")]
    [InlineData("")]
    public void ARoleIsKept(string host)
    {
        Follow(host);
        CommandHost next = Start(out string? refusal);
        Assert.Null(refusal);
        Assert.Equal(new ReplicaOf(host, 7000), next.Core.Config.ReplicaOf);
        // A promotion is kept too, as the role that replaced the configured one.
        next.Core.Role.Lead();
        Assert.Null(Start(out refusal).Core.Config.ReplicaOf);
        Assert.Null(refusal);
    }

    [Fact]
    public void APositionIsReadOnce()
    {
        Start(out _).Core.RoleFile.KeepEnd(new StreamPosition(History, 5, 1), lsn: 9, fingerprint: 7);
        CommandHost first = Start(out _);
        Assert.Equal(new StreamPosition(History, 5, 1), first.Core.RoleFile.PositionAt(9, fingerprint: 7));
        Assert.Null(first.Core.RoleFile.PositionAt(8, fingerprint: 7));
        CommandHost next = Start(out string? refusal);
        Assert.Null(refusal);
        Assert.Null(next.Core.RoleFile.PositionAt(9, fingerprint: 7));
    }

    /// <summary>Other files may end at the same LSN: those of a backup, or none.</summary>
    [Theory]
    [InlineData(6)]
    [InlineData(0)]
    public void APositionIsThatOfItsFiles(long fingerprint)
    {
        Start(out _).Core.RoleFile.KeepEnd(new StreamPosition(History, 5, 1), lsn: 0, fingerprint: 7);
        Assert.Null(Start(out _).Core.RoleFile.PositionAt(0, fingerprint));
    }

    /// <summary>A restart looks for the role in the directory of the options.</summary>
    [Fact]
    public void AChangedDirectoryKeepsTheFileInItsPlace()
    {
        CommandHost host = Start(out _);
        string other = Directory.CreateDirectory(Path.Combine(_directory, "other")).FullName;
        host.Core.Config.Dir = other;
        host.Core.Role.Follow(new ReplicaOf("127.0.0.1", 7000));
        Assert.True(System.IO.File.Exists(File));
        Assert.Empty(Directory.GetFiles(other));
    }

    [Theory]
    [InlineData("role primary - 127.0.0.1 7000\n")]
    [InlineData($"role primary - 127.0.0.1 7000\nposition {History} 5 1 9\n")]
    public void TheFirstFormIsRead(string text)
    {
        System.IO.File.WriteAllText(File, text);
        Assert.Equal(new ReplicaOf("127.0.0.1", 7000), Start(out string? refusal).Core.Config.ReplicaOf);
        Assert.Null(refusal);
    }

    /// <summary>No damaged file is taken for another role. A file that lost its last lines at the end of a line still has the role.</summary>
    [Fact]
    public void ADamagedFilePreventsTheStart()
    {
        Follow("127.0.0.1");
        byte[] good = System.IO.File.ReadAllBytes(File);
        int lines = Array.IndexOf(good, (byte)'\n') + 1;
        for (int length = 0; length < good.Length; length++) Check(good[..length], hasRole: length == lines);
        for (int at = 0; at < good.Length; at++)
            foreach (byte other in (byte[])[0, (byte)' ', (byte)'\n', (byte)'-', (byte)'7', (byte)(good[at] ^ 0x80), (byte)(good[at] ^ 1)])
                if (other != good[at]) Check([.. good[..at], other, .. good[(at + 1)..]], hasRole: false);
        Check([.. good, .. good], hasRole: false);
        Check([.. good, .. "junk\n"u8], hasRole: false);
        Check(new byte[200], hasRole: false);
        Check(new byte[3_000_000], hasRole: false);
        Check("role\n"u8.ToArray(), hasRole: false);
        Check("role primary - 127.0.0.1 -1\n"u8.ToArray(), hasRole: false);
        Check("role primary - 127.0.0.1 99999999\n"u8.ToArray(), hasRole: false);
        Check("role primary - zzz -\n"u8.ToArray(), hasRole: false);
    }

    [Fact]
    public void ADirectoryInItsPlacePreventsTheStart()
    {
        Directory.CreateDirectory(File);
        Start(out string? refusal);
        Assert.Contains("it is a directory", refusal, StringComparison.Ordinal);
    }

    public void Dispose() => Directory.Delete(_directory, recursive: true);

    private void Check(byte[] bytes, bool hasRole)
    {
        System.IO.File.WriteAllBytes(File, bytes);
        CommandHost host = Start(out string? refusal);
        if (hasRole)
        {
            Assert.Null(refusal);
            Assert.NotNull(host.Core.Config.ReplicaOf);
            return;
        }
        Assert.True(refusal is not null, $"the server starts with '{System.Text.Encoding.Latin1.GetString(bytes)}'");
        Assert.Contains(File, refusal, StringComparison.Ordinal);
        Assert.Contains("Delete it", refusal, StringComparison.Ordinal);
        Assert.Equal(bytes, System.IO.File.ReadAllBytes(File));
    }

    private void Follow(string host) => Start(out _).Core.Role.Follow(new ReplicaOf(host, 7000));

    private CommandHost Start(out string? refusal)
    {
        var host = new CommandHost(config => (config.Dir, config.Port) = (_directory, 6379));
        refusal = host.Core.RoleFile.Read();
        return host;
    }
}
