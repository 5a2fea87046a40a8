using System.Text;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Clients;

/// <summary>Widely used clients. Each runs a tour of its own commands, on both transports.</summary>
public sealed class ClientProgramTests
{
    [Theory]
    [InlineData("node", "ioredis.mjs", "eventloop")]
    [InlineData("node", "ioredis.mjs", "sockets")]
    [InlineData("node", "node-redis.mjs", "eventloop")]
    [InlineData("node", "node-redis.mjs", "sockets")]
    [InlineData("/usr/bin/python3", "redis_py.py", "eventloop")]
    [InlineData("/usr/bin/python3", "redis_py.py", "sockets")]
    public async Task TheTourSucceeds(string program, string script, string transport)
    {
        using ServerProcess server = ServerProcess.Ours("--transport", transport);
        using var client = new ClientProgram(program, script, $"{server.Port}");
        Assert.EndsWith("tour complete\n", await client.Finish());
        server.AssertWell();
    }

    [Fact]
    public async Task RedisCliWorksInteractively()
    {
        using ServerProcess server = ServerProcess.Ours();
        using var cli = new ClientProgram("script", "-qec", $"stty cols 200 rows 50; exec redis-cli -p {server.Port}", "/dev/null");
        string prompt = $"127.0.0.1:{server.Port}";
        (string Line, string Answer)[] dialogue =
        [
            ("SET greeting \"hello \\x41 world\"", "OK"),
            ("get greeting", "\"hello A world\""),
            ("INCR greeting", "(error) ERR value is not an integer or out of range"),
            ("GET 'no such key'", "(nil)"),
            ("EXISTS greeting", "(integer) 1"),
            ("MULTI", "OK"),
            ("INCR counter", "QUEUED"),
            ("EXEC", "1) (integer) 1"),
            ("CONFIG GET maxmemory-policy", "2) \"noeviction\""),
            ("NOSUCH thing", "(error) ERR unknown command 'NOSUCH', with args beginning with: 'thing'"),
            ("HELLO 3", "\"proto\" => (integer) 3"),
            ("CONFIG GET maxmemory-policy", "1# \"maxmemory-policy\" => \"noeviction\""),
        ];
        // redis-cli prints the line again after each character. A prompt on a new line means that it is ready for input.
        await cli.ReadUntil(prompt + "> ");
        foreach ((string line, string answer) in dialogue)
        {
            await cli.Write(line + "\r");
            await cli.ReadUntil("\r\n");
            await cli.ReadUntil(answer);
            await cli.ReadUntil("\r\n" + prompt);
            await cli.ReadUntil("> ");
        }
        await cli.Write("quit\r");
        await cli.Finish();
        server.AssertWell();
    }

    [Fact]
    public async Task RedisCliInsertsManyKeysThroughAPipe()
    {
        const int count = 100_000;
        using ServerProcess server = ServerProcess.Ours();
        var mass = new StringBuilder();
        for (int i = 0; i < count; i++) mass.Append($"*3\r\n$3\r\nSET\r\n${$"key:{i}".Length}\r\nkey:{i}\r\n${$"{i}".Length}\r\n{i}\r\n");
        mass.Append("*2\r\n$4\r\nINCR\r\n$5\r\nkey:7\r\nSET inline 1\r\n");
        using var cli = new ClientProgram("redis-cli", "-p", $"{server.Port}", "--pipe");
        string output = await cli.Finish(Encoding.Latin1.GetBytes(mass.ToString()));
        Assert.Contains($"errors: 0, replies: {count + 2}", output, StringComparison.Ordinal);
        using RespClient client = server.Connect();
        client.Expect($":{count + 1}", "DBSIZE");
        client.Expect("$\"8\"", "GET", "key:7");
    }

    [Theory]
    [InlineData("--bigkeys", "Biggest   list found '\"queue\"' has 3 items")]
    [InlineData("--memkeys", "Biggest string found '\"big\"' has ")]
    [InlineData("--hotkeys", "keyname: \"big\"")]
    public async Task RedisCliFindsBigAndHotKeys(string option, string found)
    {
        using ServerProcess server = ServerProcess.Ours("--maxmemory-policy", "allkeys-lfu");
        using RespClient client = server.Connect();
        client.Expect("+OK", "SET", "big", new string('x', 3000));
        client.Expect(":3", "RPUSH", "queue", "a", "b", "c");
        for (int i = 0; i < 50; i++) client.Call("GET", "big");
        using var cli = new ClientProgram("redis-cli", "-p", $"{server.Port}", option);
        Assert.Contains(found, await cli.Finish(), StringComparison.Ordinal);
    }
}
