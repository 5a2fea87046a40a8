using System.Buffers;
using System.Diagnostics;
using Microsoft.Extensions.Logging.Abstractions;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Server;
using RedisClone.Storage.Memory;

namespace RedisClone.Benchmarks;

/// <summary>The server without its sockets: parser, command table, shards and handlers run on the calling thread.</summary>
internal sealed class Engine
{
    private readonly RequestParser _parser;
    private readonly RequestBatch _batch = new();
    private readonly Session _session;
    private readonly ArrayBufferWriter<byte> _output = new(64 * 1024);

    public Engine()
    {
        ServerConfig config = ServerConfig.Load([], new Dictionary<string, string>()).Config!;
        Server = new ServerCore(config, new ConfigTable(config), new CommandTable(CommandFamilies.All), NullLogger<ServerCore>.Instance);
        _parser = new RequestParser(new RequestLimits());
        _session = new Session(Server, 1, new ReplyWriter(_output)) { Authenticated = true };
        for (int i = 0; i < Traffic.Keys; i++) Execute(System.Text.Encoding.ASCII.GetBytes($"SET {Traffic.Key(i)} {Traffic.Value}\r\n"));
    }

    public ServerCore Server { get; }

    /// <summary>Parses and runs all requests. Returns the number of bytes of the replies.</summary>
    public int Execute(byte[] requests)
    {
        _output.ResetWrittenCount();
        _parser.Parse(new ReadOnlySequence<byte>(requests), _batch, out _, out _);
        Lane lane = Server.Lanes.Current;
        long now = ServerCore.UnixMilliseconds(), started = Stopwatch.GetTimestamp();
        for (int i = 0; i < _batch.Count; i++)
        {
            Request request = _batch[i];
            CommandRow row = Server.Commands.Resolve(request)!;
            ulong hash = KeyHash.Of(request[row.FirstKey]);
            Shard shard = Server.Shards.Of(hash);
            if (!shard.TryEnter()) throw new InvalidOperationException("the shard is held although only one thread uses it");
            var held = ShardSet.Of(shard.Index);
            var context = new CommandContext(_session, row, request, hash, lane, held, now, cannotMove: false);
            ShardSet widened = default;
            Server.Executor.Run(ref context, ref started, ref widened);
            shard.Exit();
        }
        _batch.Clear();
        _session.Reply.Commit();
        return _output.WrittenCount;
    }
}
