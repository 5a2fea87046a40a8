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

    /// <summary>
    /// A part is held in memory until it is written. It has few bytes more than one element, also if the elements are long: those at one
    /// position of a table, and the entries of several nodes, are divided.
    /// </summary>
    [Theory]
    [InlineData("RPUSH", false)]
    [InlineData("SADD", false)]
    [InlineData("ZADD", false)]
    [InlineData("HSET", false)]
    [InlineData("XADD", false)]
    [InlineData("RPUSH", true)]
    [InlineData("SADD", true)]
    [InlineData("ZADD", true)]
    [InlineData("XADD", true)]
    public void APartHasFewLongElements(string command, bool asCommands)
    {
        const int length = 200_000, count = 60;
        var host = new CommandHost(c => c.Shards = 1);
        for (int i = 1; i <= count; i++)
        {
            string value = i.ToString("d6", System.Globalization.CultureInfo.InvariantCulture) + new string('v', length);
            string[] request = command switch
            {
                "ZADD" => [command, "key", $"{i}", value],
                "HSET" => [command, "key", $"{i}", value],
                "XADD" => [command, "key", $"{i}-1", "f", value],
                _ => [command, "key", value],
            };
            Assert.DoesNotContain("ERR", host.Call(request), StringComparison.Ordinal);
        }
        IKeyForm form = asCommands ? new CommandForm() : new RdbForm(compress: false);
        var sizes = new List<int>();
        byte[] whole = Write(host, "key", _ => form, sizes.Add);
        Assert.InRange(whole.Length, count * length, count * (length + 200));
        Assert.InRange(sizes.Max(), length, 2 * (length + RdbForm.PartBytes));
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

    private static byte[] Write(CommandHost host, string key, Func<int, IKeyForm> formOf, Action<int>? ofPart = null)
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
            int before = target.Bytes.Length;
            form.Begin(target);
            isLast = form.Part(entry, ref place);
            form.End();
            ofPart?.Invoke(target.Bytes.Length - before);
            place.Begun = true;
        }
        return target.Bytes.ToArray();
    }
}
