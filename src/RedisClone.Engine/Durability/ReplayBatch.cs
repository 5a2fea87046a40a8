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

    public void Add(in JournalCommand command, CommandRow row, ulong hash)
    {
        int number = Begin(command.Database, command.Bytes.Length);
        int start = Append(command.Bytes);
        ReadOnlySpan<JournalWord> words = command.Words;
        Span<ArgSlice> arguments = Requests.Room(words.Length);
        for (int i = 0; i < arguments.Length; i++) arguments[i] = new ArgSlice(start + words[i].Offset, words[i].Length);
        Requests.Add(Bytes, words.Length, command.Bytes.Length);
        if (number == _prepared.Length) Array.Resize(ref _prepared, number * 2);
        _prepared[number] = new Prepared { Row = row, Hash = hash };
    }

    public override void Clear()
    {
        base.Clear();
        Requests.Clear();
    }
}
