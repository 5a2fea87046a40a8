using RedisClone.Engine.Durability;
using RedisClone.Journal.Rdb;
using RedisClone.Server.Tests.Commands;
using RedisClone.Storage;

namespace RedisClone.Server.Tests.Durability;

/// <summary>
/// A snapshot writes a large key in parts. Any thread that holds the shard writes the next part, each with a form of its own, which has
/// written parts of other keys before.
/// </summary>
public sealed class PartsOfLargeKeysTests
{
    private const string Values = "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0123456789";

    [Theory]
    [InlineData("SET key VALUE")]
    [InlineData("RPUSH key VALUE", "RPUSH key ALL")]
    [InlineData("SADD key VALUE", "SADD key ALL")]
    [InlineData("ZADD key 1 VALUE", "ZADD key ALL")]
    [InlineData("HSET key f VALUE", "HSET key ALL")]
    [InlineData("HSET key f VALUE", "HSET key ALL", "HPEXPIREAT key 4000000000000 FIELDS 1 1")]
    [InlineData("XADD key 1-1 f VALUE", "XADD key ALL")]
    [InlineData("XADD key 1-1 f VALUE", "XADD key ALL", "XGROUP CREATE key g 0", "XREADGROUP GROUP g c COUNT 5 STREAMS key >")]
    [InlineData("XADD key 1-1 f VALUE", "XADD key ALL", "XADD key IDMP producer message * f v")]
    [InlineData("XADD key 1-1 f VALUE", "XADD key ALL", "XGROUP CREATE key g 0", "XREADGROUP GROUP g c COUNT 5 STREAMS key >", "XNACK key g FAIL IDS 1 1-1")]
    public void AnyThreadWritesTheNextPart(params string[] commands)
    {
        var host = new CommandHost(c => c.Shards = 1);
        Fill(host, "key", commands);
        Fill(host, "plain", ["XADD plain ALL"]);
        Fill(host, "newer", ["XADD newer ALL", "XADD newer IDMP producer message * f v"]);
        foreach (Func<IKeyForm> form in new Func<IKeyForm>[] { static () => new RdbForm(compress: false), static () => new CommandForm() })
        {
            IKeyForm[] others = [form(), form(), form()];
            Write(host, "plain", _ => others[1]);
            Write(host, "newer", _ => others[2]);
            byte[] whole = Write(host, "key", _ => others[0]), changing = Write(host, "key", part => others[part % 3]);
            Assert.Equal(whole, changing);
        }
    }

    private static void Fill(CommandHost host, string key, string[] commands)
    {
        for (int command = 0; command < commands.Length; command++)
        {
            if (!commands[command].Contains("ALL", StringComparison.Ordinal))
            {
                string value = commands[command].StartsWith("SET", StringComparison.Ordinal) ? new string('v', 1 << 20) : "v";
                Assert.DoesNotContain("ERR", host.Run(commands[command].Replace("VALUE", value, StringComparison.Ordinal)), StringComparison.Ordinal);
                continue;
            }
            string name = commands[command].Split(' ')[0];
            for (int i = 1; i <= 4000; i++)
            {
                host.Call(name switch
                {
                    "XADD" => [name, key, $"{i + 1}-1", "f", Values + i],
                    "ZADD" => [name, key, $"{i}", Values + i],
                    "HSET" => [name, key, $"{i}", Values + i],
                    _ => [name, key, Values + i],
                });
            }
        }
    }

    private static byte[] Write(CommandHost host, string key, Func<int, IKeyForm> formOf)
    {
        byte[] name = System.Text.Encoding.ASCII.GetBytes(key);
        Entry entry = host.Core.Shards[0].Store.Database(0).Find(name, host.Core.Shards.HashOf(name));
        Assert.True(entry.Exists);
        var target = new RdbMemoryTarget();
        var place = default(CapturePlace);
        bool isLast = false;
        for (int part = 0; !isLast; part++)
        {
            IKeyForm form = formOf(part);
            form.Begin(target);
            isLast = form.Part(entry, ref place);
            form.End();
            place.Begun = true;
        }
        return target.Bytes.ToArray();
    }
}
