using RedisClone.Admin.Commands;
using RedisClone.Engine.Failures;
using RedisClone.Server.Tests.Commands;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Tests.Failures;

/// <summary>
/// A command that moves, copies or stores values and lacks memory changes nothing: no element and no old value is lost, and no
/// counter is left without its expiry.
/// </summary>
[Collection(nameof(Fatal))]
public sealed class FailedMoveTests
{
    private static readonly string s_long = new('x', 5_000);

    [Theory]
    [InlineData("LMOVE list {0} LEFT RIGHT")]
    [InlineData("RPOPLPUSH list {0}")]
    [InlineData("BLMOVE list {0} RIGHT RIGHT 0")]
    [InlineData("LMOVEM list {0} LEFT LEFT COUNT 3 OBO")]
    [InlineData("LMOVEM list list LEFT LEFT COUNT 2 OBO")]
    [InlineData("LMOVEM list list RIGHT LEFT COUNT 4 BULK")]
    [InlineData("SMOVE set {0} a")]
    [InlineData("RENAME list {0}")]
    [InlineData("RENAME hash {0}")]
    [InlineData("RENAME large {0}")]
    [InlineData("COPY set {0} REPLACE")]
    [InlineData("COPY hash {0} REPLACE")]
    [InlineData("COPY large {0} REPLACE")]
    [InlineData("MOVE large 1")]
    [InlineData("SORT list ALPHA STORE {0}")]
    [InlineData("SUNIONSTORE {0} set other")]
    [InlineData("ZRANGESTORE {0} zset 0 -1")]
    [InlineData("HIMPORT SET {0} fields 1 2")]
    [InlineData("INCREX number EX 1000")]
    [InlineData("INCREX number BYFLOAT 0.5 EX 1000")]
    [InlineData("INCREX {0} BYINT 2 PX 100000")]
    [InlineData("XREADGROUP GROUP g c COUNT 20 STREAMS stream >")]
    public void NothingIsLost(string command)
    {
        if (!FaultPoint.Exist) return;
        int faults = 0;
        // Keys of any shard, absent ones, and values of the same type and of another one.
        foreach (string target in (string[])["absent", "missing", "gone", "other", "rest", "hash:2", "text"])
        {
            bool thrown = true;
            for (int nth = 1; thrown; nth++)
            {
                CommandHost host = Filled();
                byte[] before = KeyspaceDigest.OfAll(host.Core);
                string[] words = string.Format(null, command, target).Split(' ');
                FaultPoint.Arm(nth);
                string reply = host.Call(words);
                thrown = FaultPoint.Disarm();
                // Some allocations are dispensable, such as that of a smaller buffer.
                if (!reply.StartsWith("OOM", StringComparison.Ordinal)) continue;
                faults++;
                host.Core.Failures.Tend();
                Assert.Equal((target, nth, Convert.ToHexString(before)), (target, nth, Convert.ToHexString(KeyspaceDigest.OfAll(host.Core))));
            }
        }
        Assert.True(faults > 0);
    }

    private static CommandHost Filled()
    {
        var host = new CommandHost();
        host.Run($"RPUSH list {s_long} b c d");
        host.Run("RPUSH rest z");
        host.Run($"SADD set a b {s_long}");
        host.Run("SADD other c");
        host.Run("HSET hash f v g w");
        host.Call("HEXPIRE", "hash", "1000", "FIELDS", "1", "f");
        host.Run("HSET hash:2 f v");
        host.Call("EXPIRE", "hash:2", "1000");
        host.Run("HIMPORT PREPARE fields f g");
        host.Run("ZADD zset 1 a 2 b");
        host.Run("SET text v EX 1000");
        host.Run("SET number 5");
        for (int i = 0; i < 400; i++) host.Run($"HSET large field:{i} value:{i}");
        for (int i = 1; i <= 30; i++) host.Run($"XADD stream {i}-0 f {s_long}");
        host.Run("XGROUP CREATE stream g 0");
        host.Run("XREADGROUP GROUP g c COUNT 2 STREAMS stream >");
        host.Forget();
        return host;
    }
}
