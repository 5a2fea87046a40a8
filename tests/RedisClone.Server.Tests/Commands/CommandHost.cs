using System.Buffers;
using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using RedisClone.Configuration;
using RedisClone.Engine;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Execution;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;
using RedisClone.Storage.Memory;
using RedisClone.Storage.Values;

namespace RedisClone.Server.Tests.Commands;

/// <summary>
/// A server without sockets. Commands run directly in the executor, on the calling thread. Their replies and their effects are
/// returned as text. The test controls the clock.
/// </summary>
internal sealed class CommandHost : IEffectSink
{
    /// <summary>The directories of hosts in cluster mode. Each has a nodes.conf, and tests run at the same time.</summary>
    private static readonly string s_folder = NewFolder();
    private static int s_folders;

    private readonly ServerCore _core;
    private readonly ReusedOutput _output = new();
    private readonly Session _session;
    private readonly List<string> _effects = [];

    public CommandHost(Action<ServerConfig>? configure = null, bool isReplay = false)
    {
        var config = new ServerConfig { Shards = 4 };
        configure?.Invoke(config);
        if (config.ClusterEnabled) config.Dir = Directory.CreateDirectory(Path.Combine(s_folder, $"{Interlocked.Increment(ref s_folders)}")).FullName;
        _core = new ServerCore(config, new ConfigTable(config), new CommandTable(CommandFamilies.All), NullLogger<ServerCore>.Instance);
        _session = new Session(_core, 1, new ReplyWriter(_output)) { IsReplay = isReplay };
    }

    private static string NewFolder()
    {
        string folder = Directory.CreateTempSubdirectory("redisclone-hosts-").FullName;
        AppDomain.CurrentDomain.ProcessExit += (_, _) => Delete(folder);
        return folder;
    }

    private static void Delete(string folder)
    {
        try
        {
            Directory.Delete(folder, recursive: true);
        }
        catch (IOException)
        {
            // A host that no test waits for may still write.
        }
    }

    public ServerCore Core => _core;

    /// <summary>The current time in Unix milliseconds.</summary>
    public long Now { get; set; } = 1_700_000_000_000;

    public int RespVersion { set => _session.Reply.Version = value; }

    /// <summary>Whether the commands run as if EXEC ran them.</summary>
    public bool InTransaction { set => _session.InTransaction = value; }

    /// <summary>Runs a command of words (Latin 1, one byte per character) and returns its reply in a readable form.</summary>
    public string Run(string line) => Call(line.Split(' '));

    public string Call(params string[] words)
    {
        Execute(new Prepared(words));
        string reply = Encoding.Latin1.GetString(_output.Written);
        _output.Clear();
        int at = 0;
        return ReplyText.Read(reply, ref at);
    }

    /// <summary>Runs a command and drops its reply. This method itself allocates nothing.</summary>
    public void Execute(Prepared command)
    {
        Request request = command.Request;
        CommandRow row = _core.Commands.Resolve(request) ?? throw new ArgumentException($"there is no command {command}");
        if (!row.ArityFits(request.Count))
        {
            _session.Reply.Error(Errors.WrongArity(row.FullName));
        }
        else
        {
            Lane lane = _core.Lanes.Current;
            long started = 0;
            ShardSet held = Router.ShardsOf(_core, _session, row, request);
            ulong hash = row.HashOfFirstKey(request, _core.Shards);
            var context = new CommandContext(_session, row, request, hash, lane, held, Now, cannotMove: true);
            ShardSet widened = default;
            if (_core.Executor.Run(ref context, ref started, ref widened) == Outcome.Widened)
            {
                context = new CommandContext(_session, row, request, hash, lane, widened, Now, cannotMove: true);
                _core.Executor.Run(ref context, ref started, ref widened);
            }
        }
        _session.Reply.Commit();
    }

    public string SelectedDatabase => _session.Database.ToString(System.Globalization.CultureInfo.InvariantCulture);

    /// <summary>Runs commands in the format of a journal file.</summary>
    public void Replay(byte[] commands)
    {
        var parser = new RequestParser(new RequestLimits { MaxBulkLength = int.MaxValue });
        var batch = new RequestBatch();
        var rest = new ReadOnlySequence<byte>(commands);
        while (!rest.IsEmpty)
        {
            parser.Parse(rest, batch, out SequencePosition consumed, out _);
            if (batch.HasError || batch.Count == 0) throw new InvalidDataException("the bytes are not a sequence of commands");
            for (int i = 0; i < batch.Count; i++)
            {
                Request request = batch[i];
                var words = new string[request.Count];
                for (int word = 0; word < words.Length; word++) words[word] = Encoding.Latin1.GetString(request[word]);
                Call(words);
            }
            batch.Clear();
            rest = rest.Slice(consumed);
        }
    }

    /// <summary>Drops the replies so far.</summary>
    public void Forget() => _output.Clear();

    /// <summary>Returns the name that Redis has for the encoding of a key's value.</summary>
    public string EncodingOf(string key)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(key);
        ulong hash = KeyHash.Of(bytes);
        return Encoding.ASCII.GetString(ValueInfo.EncodingName(_core.Shards.Of(hash).Store.Database(0).Find(bytes, hash)));
    }

    /// <summary>Runs a command and returns its effects, one per line.</summary>
    public string[] EffectsOf(string line)
    {
        _core.Effects.Attach(this);
        _effects.Clear();
        Run(line);
        _core.Effects.Detach(this);
        return [.. _effects];
    }

    long IEffectSink.Append(EffectBuffer unit)
    {
        string text = Encoding.Latin1.GetString(unit.Unit);
        for (int at = 0; at < text.Length;) _effects.Add(ReplyText.Read(text, ref at).Trim('[', ']'));
        return 0;
    }

    /// <summary>A command in the form that the parser produces.</summary>
    internal sealed class Prepared(params string[] words)
    {
        private readonly byte[] _bytes = Encoding.Latin1.GetBytes(string.Concat(words));
        private readonly ArgSlice[] _slices = Slice(words);

        public Request Request => new(_bytes, _slices, _bytes.Length);

        public override string ToString() => string.Join(' ', words);

        private static ArgSlice[] Slice(string[] words)
        {
            var slices = new ArgSlice[words.Length];
            for (int i = 0, at = 0; i < words.Length; at += words[i++].Length) slices[i] = new ArgSlice(at, words[i].Length);
            return slices;
        }
    }

    private sealed class ReusedOutput : IBufferWriter<byte>
    {
        private byte[] _bytes = new byte[64 * 1024];
        private int _length;

        public ReadOnlySpan<byte> Written => _bytes.AsSpan(0, _length);

        public void Clear() => _length = 0;

        public void Advance(int count) => _length += count;

        public Memory<byte> GetMemory(int sizeHint = 0)
        {
            if (_bytes.Length - _length < Math.Max(sizeHint, 4096)) Array.Resize(ref _bytes, 2 * (_length + sizeHint));
            return _bytes.AsMemory(_length);
        }

        public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;
    }
}
