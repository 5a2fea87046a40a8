using System.Globalization;
using System.Text;
using RedisClone.Engine.Durability;
using RedisClone.Journal.Rdb;
using RedisClone.Lua.Libraries;
using RedisClone.Server.Tests.Clients;

namespace RedisClone.Server.Tests.Scripting;

/// <summary>
/// Function libraries: their permissions during loading and during calls, and their replacement and restoration.
/// </summary>
public sealed class FunctionTests
{
    private static string Library(string name, string function, string body = "return keys[1] or 'none'") =>
        $"#!lua name={name}\nredis.register_function('{function}', function(keys, args) {body} end)";

    [Fact]
    public async Task AFunctionIsFoundByItsNameInEitherCase()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal("one", client.Call("FUNCTION", "LOAD", Library("one", "Fn", "return {keys[1], args[1], #keys, #args}")));
        Assert.Equal("[k a 1 2]", client.Call("FCALL", "fN", "1", "k", "a", "b"));
        Assert.Equal("ERR Library 'one' already exists", client.Call("FUNCTION", "LOAD", Library("one", "g")));
        Assert.Equal("ERR Function FN already exists", client.Call("FUNCTION", "LOAD", Library("two", "FN")));
        Assert.Equal("ERR Function not found", client.Run("FCALL g 0"));
        Assert.Equal("one", client.Call("FUNCTION", "LOAD", "REPLACE", Library("one", "g")));
        Assert.Equal("ERR Function not found", client.Run("FCALL fn 0"));
        Assert.Equal("none", client.Run("FCALL g 0"));
        Assert.Equal("ERR Number of keys can't be greater than number of args", client.Run("FCALL g 1"));
        Assert.Equal("ERR Number of keys can't be negative", client.Run("FCALL g -1"));
        Assert.Equal("ERR Bad number of keys provided", client.Run("FCALL g x"));
        Assert.Equal("OK", client.Run("FUNCTION DELETE one"));
        Assert.Equal("ERR Library not found", client.Run("FUNCTION DELETE one"));
    }

    [Fact]
    public async Task TextsCountForMaxmemory()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        string comment = " --" + new string('x', 6_000_000);
        Assert.Equal("long", client.Call("FUNCTION", "LOAD", Library("long", "f") + comment));
        Assert.Equal("OK", client.Run("CONFIG SET maxmemory 5mb"));
        Assert.StartsWith("OOM ", client.Run("SET k v"), StringComparison.Ordinal);
        Assert.StartsWith("OOM ", client.Call("FUNCTION", "LOAD", Library("other", "g")), StringComparison.Ordinal);
        Assert.Equal("OK", client.Run("FUNCTION DELETE long"));
        Assert.Equal("OK", client.Run("SET k v"));
        Assert.Equal("OK", client.Run("CONFIG SET maxmemory 0"));
        client.Call("SCRIPT", "LOAD", "return 1" + comment);
        Assert.Equal("OK", client.Run("CONFIG SET maxmemory 5mb"));
        Assert.StartsWith("OOM ", client.Run("SET k w"), StringComparison.Ordinal);
        Assert.Equal("OK", client.Run("SCRIPT FLUSH"));
        Assert.Equal("OK", client.Run("SET k w"));
    }

    [Fact]
    public async Task AFailedLoadChangesNothing()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal("a", client.Call("FUNCTION", "LOAD", Library("a", "f")));
        Assert.Equal("b", client.Call("FUNCTION", "LOAD", Library("b", "g")));
        string list = client.Run("FUNCTION LIST");
        foreach (string broken in (string[])
        [
            Library("a", "g"), "#!lua name=a\nreturn 1", "#!lua name=a\nredis.register_function('x'", "#!lua name=a\nredis.register_function('x', 1)",
            "#!lua name=a\nredis.call('set', 'k', 'v')", "#!lua name=a\nstring.rep('x', 10)",
            "#!lua name=a\nredis.register_function('x', print)", "#!lua name=a\nx = 1",
            "#!lua name=a\nredis.register_function{function_name='x', callback=function() end, flags={'none'}}",
            "#!other name=a\n", "#!lua\n", "#!lua name=a name=a\n", "no line",
            "#!lua name=a\nlocal function f() return f() end f()", "#!lua name=a\nwhile true do end",
        ])
        {
            Assert.StartsWith("ERR ", client.Call("FUNCTION", "LOAD", "REPLACE", broken));
        }
        Assert.Equal(list, client.Run("FUNCTION LIST"));
        Assert.Equal("k", client.Run("FCALL f 1 k"));
        Assert.Equal("nil", client.Run("GET k"));
    }

    /// <summary>A payload can have a library that no server ever loaded.</summary>
    [Fact]
    public async Task ARestoredLibraryThatDoesNotEndIsRefused()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal("a", client.Call("FUNCTION", "LOAD", Library("a", "f")));
        string list = client.Run("FUNCTION LIST");
        var target = new RdbMemoryTarget();
        var writer = new RdbWriter(target);
        writer.Function(Encoding.ASCII.GetBytes(Library("b", "g")));
        writer.Function("#!lua name=c\nwhile true do end"u8);
        DumpPayload.Finish(writer, ValueWriter.VersionFor(fieldsExpire: false));
        foreach (string policy in (string[])["FLUSH", "APPEND", "REPLACE"])
        {
            string reply = client.Call("FUNCTION", "RESTORE", Encoding.Latin1.GetString(target.Bytes), policy);
            Assert.EndsWith("FUNCTION LOAD timeout", reply, StringComparison.Ordinal);
            Assert.Equal(list, client.Run("FUNCTION LIST"));
        }
        Assert.Equal("k", client.Run("FCALL f 1 k"));
    }

    /// <summary>A script that ends with an error of a command has failed. The error is counted once, for the command.</summary>
    [Theory]
    [InlineData("return redis.call('incr', 'text')")]
    [InlineData("return redis.pcall('incr', 'text')")]
    [InlineData("return {redis.pcall('incr', 'text'), redis.pcall('incr', 'text')}")]
    public async Task ErrorsOfCommandsInAScriptAreCountedOnce(string script)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        client.Run("SET text x");
        for (int i = 0; i < 3; i++) client.Call("EVAL", script, "0");
        string statistics = client.Run("INFO commandstats"), errors = client.Run("INFO errorstats");
        int inner = 3 * script.Split("incr").Length - 3;
        Assert.Matches("cmdstat_eval:calls=3,.*rejected_calls=0,failed_calls=3\r\n", statistics);
        Assert.Matches($"cmdstat_incr:calls={inner},.*rejected_calls=0,failed_calls={inner}\r\n", statistics);
        Assert.Contains($"errorstat_ERR:count={inner}\r\n", errors, StringComparison.Ordinal);
    }

    /// <summary>
    /// The memory of libraries is reported separately from the memory of all scripts. It is counted when a library is loaded and
    /// freed when the library is removed.
    /// </summary>
    [Fact]
    public async Task TheMemoryOfLibrariesIsReported()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        (long functions, long others) = Memory(client);
        Assert.Equal(0, functions);
        for (int i = 0; i < 2_000; i++) client.Call("FUNCTION", "LOAD", "REPLACE", Library("same", "f", $"return '{i}'"));
        (long one, long after) = Memory(client);
        Assert.InRange(one, 100, 2_000);
        Assert.InRange(after, others, others + 16_000);
        for (int i = 0; i < 100; i++) client.Call("FUNCTION", "LOAD", Library($"l{i}", $"f{i}", "return '0123'"));
        Assert.InRange(Memory(client).Functions, 95 * one, 107 * one);
        Assert.Equal("OK", client.Run("FUNCTION FLUSH"));
        (functions, after) = Memory(client);
        Assert.Equal(0, functions);
        Assert.InRange(after, others, others + 16_000);

        static (long Functions, long Others) Memory(TestClient client)
        {
            Dictionary<string, string> fields = client.Run("INFO memory").Split("\r\n").Where(line => line.Contains(':', StringComparison.Ordinal))
                .ToDictionary(line => line.Split(':')[0], line => line.Split(':')[1]);
            long functions = long.Parse(fields["used_memory_vm_functions"], CultureInfo.InvariantCulture);
            Assert.Equal(
                long.Parse(fields["used_memory_vm_total"], CultureInfo.InvariantCulture),
                functions + long.Parse(fields["used_memory_vm_eval"], CultureInfo.InvariantCulture));
            return (functions, long.Parse(fields["used_memory_vm_eval"], CultureInfo.InvariantCulture));
        }
    }

    [Theory]
    [InlineData("redis.x = 1")]
    [InlineData("_G.x = 1")]
    [InlineData("x = 1")]
    [InlineData("string.x = 1")]
    [InlineData("getmetatable('').x = 1")]
    [InlineData("getmetatable('').__index = function() return 'stolen' end")]
    [InlineData("setmetatable(_G, {})")]
    [InlineData("setmetatable(redis, {})")]
    [InlineData("rawset(_G, 'x', 1)")]
    [InlineData("rawset(string, 'rep', 1)")]
    [InlineData("table.insert(math, 1)")]
    [InlineData("math.random = nil")]
    [InlineData("getmetatable(redis).__index = nil")]
    [InlineData("getmetatable(_G).__index = nil")]
    [InlineData("cjson.x = 1")]
    public async Task AnAttackLeavesNoStateForTheNextUser(string attack)
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal("lib", client.Call("FUNCTION", "LOAD", Library("lib", "attack", attack)));
        Assert.StartsWith("ERR ", client.Call("EVAL", attack, "0"));
        Assert.StartsWith("ERR ", client.Run("FCALL attack 0"));
        const string probe = "return {tostring(pcall(function() return x end)), ('x'):rep(2), tostring(redis.x == nil), tostring(math.random ~= nil)}";
        Assert.Equal("[false xx true true]", client.Call("EVAL", probe, "0"));
        Assert.Equal("probe", client.Call("FUNCTION", "LOAD", Library("probe", "probe", probe)));
        Assert.Equal("[false xx true true]", client.Run("FCALL probe 0"));
    }

    [Fact]
    public async Task FlagsApplyToTheirFunction()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        Assert.Equal("lib", client.Call("FUNCTION", "LOAD", """
            #!lua name=lib
            redis.register_function{
              function_name='reads', callback=function(keys) return redis.call('get', keys[1]) end, flags={'no-writes'},
              description='gets'}
            redis.register_function{function_name='lies', callback=function(keys) return redis.call('set', keys[1], 1) end, flags={'no-writes'}}
            redis.register_function('writes', function(keys) return redis.call('set', keys[1], 1) end)
            """));
        Assert.Equal("nil", client.Run("FCALL_RO reads 1 k"));
        Assert.StartsWith("ERR Write commands are not allowed from read-only scripts.", client.Run("FCALL lies 1 k"));
        Assert.Equal("ERR Can not execute a script with write flag using *_ro command.", client.Run("FCALL_RO writes 1 k"));
        Assert.Equal("OK", client.Run("FCALL writes 1 k"));
        Assert.Equal("1", client.Run("FCALL_RO reads 1 k"));
        Assert.Equal("[k j]", client.Run("COMMAND GETKEYS FCALL writes 2 k j arg"));
        Assert.Contains("[name reads description gets flags [no-writes]]", client.Run("FUNCTION LIST LIBRARYNAME L*"), StringComparison.Ordinal);
        Assert.Equal("[]", client.Run("FUNCTION LIST LIBRARYNAME x*"));
    }

    [Fact]
    public async Task VariablesOfALibraryLiveAsLongAsTheLibrary()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        const string source = "#!lua name=lib\nlocal n = 0\nredis.register_function('count', function() n = n + 1 return n end)";
        client.Call("FUNCTION", "LOAD", source);
        for (int i = 1; i < 5; i++) Assert.Equal($"{i}", client.Run("FCALL count 0"));
        client.Call("FUNCTION", "LOAD", "REPLACE", source);
        Assert.Equal("1", client.Run("FCALL count 0"));
    }

    [Fact]
    public async Task ADumpIsRestoredWithEachPolicy()
    {
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.EventLoop);
        using TestClient client = server.Connect();
        string empty = client.Run("FUNCTION DUMP");
        client.Call("FUNCTION", "LOAD", Library("a", "f"));
        client.Call("FUNCTION", "LOAD", Library("b", "g"));
        string list = client.Run("FUNCTION LIST WITHCODE"), dump = client.Run("FUNCTION DUMP");
        Assert.Equal("ERR Library a already exists", client.Call("FUNCTION", "RESTORE", dump));
        Assert.Equal("OK", client.Call("FUNCTION", "RESTORE", dump, "REPLACE"));
        Assert.Equal("OK", client.Call("FUNCTION", "RESTORE", dump, "flush"));
        Assert.Equal("OK", client.Run("FUNCTION FLUSH ASYNC"));
        Assert.Equal("[]", client.Run("FUNCTION LIST"));
        client.Call("FUNCTION", "LOAD", Library("c", "g"));
        Assert.Equal("ERR Function g already exists", client.Call("FUNCTION", "RESTORE", dump, "REPLACE"));
        Assert.Equal("OK", client.Call("FUNCTION", "RESTORE", dump, "FLUSH"));
        Assert.Equal(list, client.Run("FUNCTION LIST WITHCODE"));
        Assert.Equal("OK", client.Call("FUNCTION", "RESTORE", empty, "FLUSH"));
        Assert.Equal("[]", client.Run("FUNCTION LIST"));
        Assert.Equal("ERR DUMP payload version or checksum are wrong", client.Call("FUNCTION", "RESTORE", dump[..^1]));
        client.Run("SET k v");
        Assert.Equal("ERR failed loading the given functions payload", client.Call("FUNCTION", "RESTORE", client.Run("DUMP k")));
    }

    [Theory]
    [InlineData("FUNCTION DELETE keep")]
    [InlineData("replace")]
    public async Task AGoneLibraryGivesItsMemoryBack(string how)
    {
        const string Library = "#!lua name=keep\nlocal kept = nil\n" +
            "redis.register_function('grow', function() kept = string.rep('x', 30000000) return 'OK' end)";
        await using RunningServer server = await RunningServer.StartAsync(TransportKind.Auto);
        using TestClient client = server.Connect();
        Assert.Equal("keep", client.Call("FUNCTION", "LOAD", Library));
        long before = server.Core.Scripts.State.AllocatedBytes;
        Assert.Equal("OK", client.Run("FCALL grow 0"));
        Assert.True(server.Core.Scripts.State.AllocatedBytes > before + 30_000_000);
        string reply = how == "replace" ? client.Call("FUNCTION", "LOAD", "REPLACE", Library) : client.Run(how);
        Assert.Equal(how == "replace" ? "keep" : "OK", reply);
        Assert.InRange(server.Core.Scripts.State.AllocatedBytes, 0, before + 1_000_000);
    }
}
