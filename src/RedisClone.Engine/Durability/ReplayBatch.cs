using RedisClone.Engine.Commands;
using RedisClone.Engine.Execution;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;
using RedisClone.Protocol;

namespace RedisClone.Engine.Durability;

/// <summary>Parsed commands of a journal, each with its row and the hash of its first key.</summary>
internal sealed class ReplayBatch : LoadBatch
{
    private Prepared[] _prepared = new Prepared[16];

    public RequestBatch Requests { get; } = new();

    public Prepared[] Prepared => _prepared;

    /// <summary>Adds a command. If there is no memory for it, this throws and has added nothing.</summary>
    public void Add(in JournalCommand command, CommandRow row, ulong hash)
    {
        ReadOnlySpan<JournalWord> words = command.Words;
        Span<ArgSlice> arguments = Requests.Room(words.Length);
        if (Count == _prepared.Length) Array.Resize(ref _prepared, Count * 2);
        int number = Begin(command.Database, command.Bytes.Length);
        int start = Append(command.Bytes);
        for (int i = 0; i < arguments.Length; i++) arguments[i] = new ArgSlice(start + words[i].Offset, words[i].Length);
        Requests.Add(Bytes, words.Length, command.Bytes.Length);
        _prepared[number] = new Prepared { Row = row, Hash = hash };
    }

    public override void Clear()
    {
        base.Clear();
        Requests.Clear();
    }
}
