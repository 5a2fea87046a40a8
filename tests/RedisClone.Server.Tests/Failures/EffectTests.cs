using RedisClone.Admin.Commands;
using RedisClone.Server.Tests.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Failures;

/// <summary>The effects of commands lead to the same data on a server that has only the effects.</summary>
public sealed class EffectTests
{
    private readonly MirroredHost _hosts = new();

    [Fact]
    public void ATrimMayDeleteTheEntryThatWasAdded()
    {
        Run("XGROUP CREATE s g 18446744073709551615-18446744073709551615 MKSTREAM");
        Run("XADD s ACKED MAXLEN 0 1-1 a b");
        Assert.Equal("0", _hosts.Host.Run("XLEN s"));
        Assert.Null(_hosts.Difference());
    }

    /// <summary>Where a range of members ends among several scores depends on the structure of the set.</summary>
    [Fact]
    public void ARangeByMemberAmongSeveralScoresIsWrittenAsItsMembers()
    {
        Run("ZADD z 1 a 2 c 3 b 3.5 d");
        Run("SET d old");
        Run("ZRANGESTORE d z [b [c BYLEX");
        Assert.DoesNotContain("ZRANGESTORE", _hosts.LastEffects, StringComparison.OrdinalIgnoreCase);
        Assert.Null(_hosts.Difference());
        Run("ZRANGESTORE d z [x [y BYLEX");
        Assert.Equal("0", _hosts.Host.Run("EXISTS d"));
        Assert.Null(_hosts.Difference());
    }

    [Fact]
    public void RestoreHasItsOwnNameAsAnEffect()
    {
        Assert.Null(_hosts.Host.Core.Commands.Rename("restore", "bring-back"));
        Run("SET a value");
        string payload = _hosts.Host.Run("DUMP a");
        _hosts.Host.Call("bring-back", "b", "100000", payload);
        Assert.Null(_hosts.Difference());
        Assert.Contains("RESTORE", _hosts.LastEffects, StringComparison.Ordinal);
    }

    /// <summary>The source forgets old messages without an effect. A replica must not keep them for ever.</summary>
    [Fact]
    public void AReplicaForgetsOldMessagesOfProducers()
    {
        Run("XADD s 1-1 a b");
        Run("XCFGSET s IDMP-DURATION 10");
        for (int i = 0; i < 200; i++)
        {
            Run($"XADD s IDMP p{i} m * a b");
            _hosts.Host.Now += 1000;
        }
        var replica = new CommandHost(isReplay: true) { Now = _hosts.Host.Now };
        replica.Run("XADD s 1-1 a b");
        replica.Run("XCFGSET s IDMP-DURATION 10");
        for (int i = 0; i < 200; i++) replica.Run($"XIDMPRECORD s p{i} m {1_700_000_000_000 + i * 1000}-0");
        Assert.Equal(Tracked(_hosts.Host), Tracked(replica));
        Assert.InRange(Tracked(replica), 1, 100);
    }

    private static int Tracked(CommandHost host) => int.Parse(host.Run("XINFO STREAM s").Split("pids-tracked ")[1].Split(' ', ']')[0], null);

    /// <summary>A leaf of the order of messages holds 50; the sought message may be the first of a leaf.</summary>
    [Fact]
    public void AMessageThatIsSentAgainReplacesTheOldOne()
    {
        var replica = new CommandHost(isReplay: true);
        replica.Run("XADD s 1-1 a b");
        replica.Run("XCFGSET s IDMP-DURATION 86400 IDMP-MAXSIZE 1000");
        for (int i = 0; i < 300; i++) replica.Run($"XIDMPRECORD s p m{i} {1_700_000_000_000 + i}-0");
        for (int i = 0; i < 300; i++) Assert.Equal("OK", replica.Run($"XIDMPRECORD s p m{i} {1_700_000_001_000 + i}-0"));
    }

    /// <summary>After XGROUP SETID, new entries may be pending already. They stay so if memory is missing. A new consumer is in the effects.</summary>
    [Theory]
    [InlineData("second")]
    [InlineData("third")]
    public void AFailedDeliveryLosesNoPendingEntry(string consumer)
    {
        if (!FaultPoint.Exist) return;
        bool thrown = true;
        for (int nth = 1; thrown; nth++)
        {
            var hosts = new MirroredHost();
            for (int i = 1; i <= 120; i++) hosts.Host.Run($"XADD s {i}-1 a b");
            hosts.Host.Run("XGROUP CREATE s g 0");
            hosts.Host.Run("XREADGROUP GROUP g first COUNT 60 STREAMS s >");
            hosts.Host.Run("XGROUP SETID s g 0");
            hosts.Host.Run("XGROUP CREATECONSUMER s g second");
            FaultPoint.Arm(nth);
            hosts.Host.Run($"XREADGROUP GROUP g {consumer} COUNT 100 STREAMS s >");
            thrown = FaultPoint.Disarm();
            hosts.Host.Core.Failures.Tend();
            hosts.Follow();
            Assert.Equal(hosts.Host.Run("XINFO GROUPS s"), hosts.Mirror.Run("XINFO GROUPS s"));
            int pending = int.Parse(hosts.Host.Run("XPENDING s g").TrimStart('[').Split(' ')[0], null);
            Assert.InRange(pending, 60, 100);
        }
    }

    /// <summary>
    /// A command that lacks memory before a client can see a change has no effect. Otherwise the images of its keys would have to fit into the
    /// memory that is missing.
    /// </summary>
    [Theory]
    [InlineData("COPY set {0}")]
    [InlineData("RENAME set {0}")]
    [InlineData("SMOVE set {0} member:7")]
    [InlineData("LMOVE list {0} LEFT LEFT")]
    [InlineData("LMOVE list short LEFT LEFT")]
    [InlineData("BLMOVE list {0} LEFT LEFT 0")]
    [InlineData("BLPOP list 0")]
    [InlineData("LMPOP 1 list LEFT COUNT 5")]
    [InlineData("ZMPOP 1 zset MIN COUNT 5")]
    [InlineData("SPOP set")]
    public void ACommandThatChangedNothingHasNoEffect(string command)
    {
        if (!FaultPoint.Exist) return;
        int faults = 0;
        foreach (string target in (string[])["a", "b", "c"])
        {
            bool thrown = true;
            for (int nth = 1; thrown; nth++)
            {
                var hosts = new MirroredHost();
                hosts.Host.Core.Failures.Images.LargeValue = -1;
                for (int i = 0; i < 140; i++)
                {
                    hosts.Host.Run($"SADD set member:{i}");
                    hosts.Host.Run($"ZADD zset {i} {i}");
                }
                for (int i = 0; i < 30; i++) hosts.Host.Run($"RPUSH list {new string('x', 1000)}{i}");
                for (int i = 0; i < 8; i++) hosts.Host.Run($"RPUSH short {new string('y', 900)}{i}");
                hosts.Follow();
                byte[] before = KeyspaceDigest.OfAll(hosts.Host.Core);
                FaultPoint.Arm(nth);
                string reply = hosts.Host.Run(string.Format(null, command, target));
                thrown = FaultPoint.Disarm();
                hosts.Host.Core.Failures.Tend();
                hosts.Follow();
                Assert.Null(hosts.Difference());
                // What fails after the change is written as what the keys are now.
                if (!reply.StartsWith("OOM", StringComparison.Ordinal) || !before.AsSpan().SequenceEqual(KeyspaceDigest.OfAll(hosts.Host.Core))) continue;
                faults++;
                Assert.DoesNotContain("RESTORE", hosts.LastEffects, StringComparison.Ordinal);
            }
        }
        Assert.True(faults > 0, "no allocation failed");
    }

    private void Run(string line)
    {
        string reply = _hosts.Host.Run(line);
        Assert.DoesNotContain("ERR", reply, StringComparison.Ordinal);
    }
}
