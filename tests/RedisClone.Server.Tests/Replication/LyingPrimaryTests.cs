using RedisClone.Configuration;
using RedisClone.Server.Tests.Commands;

namespace RedisClone.Server.Tests.Replication;

/// <summary>A replica applies what a primary has reason to send: it does not let its primary manage the server.</summary>
public sealed class LyingPrimaryTests : IDisposable
{
    private const string History = "0123456789012345678901234567890123456789";

    private readonly string _directory = Directory.CreateTempSubdirectory().FullName;
    private readonly CommandHost _host;

    public LyingPrimaryTests() => _host = new CommandHost(config => config.Dir = _directory);

    [Theory]
    [InlineData("SHUTDOWN NOSAVE")]
    [InlineData("CONFIG SET maxmemory 1")]
    [InlineData("ACL SETUSER default off")]
    [InlineData("REPLICAOF NO ONE")]
    [InlineData("FAILOVER")]
    [InlineData("DEBUG SET-ACTIVE-EXPIRE 0")]
    [InlineData("CLIENT KILL TYPE normal")]
    [InlineData("CLIENT PAUSE 10000")]
    [InlineData("SUBSCRIBE a")]
    [InlineData("MONITOR")]
    [InlineData("PSYNC ? -1")]
    [InlineData("RESET")]
    public void WhatManagesTheServerIsNotApplied(string command)
    {
        ScriptedPeer peer = Follow("SET first 1", command, "SET second 1");
        // The replica begins again, with a copy of all data.
        Until(() => peer.Requests >= 2 && Has("first"));
        Assert.False(Has("second"));
        Assert.True(_host.Core.Role.IsReplica);
        Assert.NotEqual(1, _host.Core.Config.MaxMemoryBytes);
    }

    [Theory]
    [InlineData("PING")]
    [InlineData("SELECT 0")]
    [InlineData("PUBLISH a b")]
    [InlineData("SPUBLISH a b")]
    [InlineData("SCRIPT LOAD return(1)")]
    [InlineData("SCRIPT FLUSH")]
    [InlineData("FUNCTION FLUSH")]
    [InlineData("EVAL return(1) 0")]
    [InlineData("PFCOUNT a")]
    [InlineData("FLUSHALL")]
    [InlineData("SWAPDB 1 2")]
    [InlineData("REPLCONF GETACK *")]
    [InlineData("MULTI;SELECT 1;SET a 1;SELECT 0;EXEC")]
    public void WhatAPrimarySendsIsApplied(string commands)
    {
        ScriptedPeer peer = Follow(["SET first 1", .. commands.Split(';'), "SET second 1"]);
        Until(() => Has("second"));
        Assert.Equal(1, peer.Requests);
    }

    public void Dispose()
    {
        _host.Core.Role.Lead();
        Directory.Delete(_directory, recursive: true);
    }

    private ScriptedPeer Follow(params string[] stream)
    {
        byte[] empty = [.. "REDIS0011"u8, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
        byte[] offer = System.Text.Encoding.ASCII.GetBytes($"+FULLRESYNC {History} 0\r\n${empty.Length}\r\n");
        var peer = new ScriptedPeer("PSYNC", [.. offer, .. empty, .. ScriptedPeer.Commands(stream)]);
        _host.Core.Role.Connector = peer;
        _host.Core.Role.Follow(new ReplicaOf("127.0.0.1", 1));
        return peer;
    }

    private bool Has(string key) => _host.Run($"EXISTS {key}").Contains('1');

    private static void Until(Func<bool> condition) => Assert.True(SpinWait.SpinUntil(condition, TimeSpan.FromSeconds(30)));
}
