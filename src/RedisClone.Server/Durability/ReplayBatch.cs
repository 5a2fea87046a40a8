using RedisClone.Server.Commands;

namespace RedisClone.Server.Durability;

/// <summary>Commands of a journal that one thread is to run in order, all in one database, each with its only key's hash.</summary>
internal sealed class ReplayBatch
{
    private const int Enough = 64 * 1024;

    private readonly List<(CommandRow Row, ulong Hash)> _commands = [];
    private byte[] _bytes = new byte[Enough + 4096];
    private int _length;

    public int Database { get; private set; }

    public bool IsEmpty => _commands.Count == 0;

    public bool IsFull => _length >= Enough;

    public int Count => _commands.Count;

    public ReadOnlyMemory<byte> Bytes => _bytes.AsMemory(0, _length);

    public (CommandRow Row, ulong Hash) this[int index] => _commands[index];

    public bool Takes(int database) => IsEmpty || database == Database;

    public void Add(int database, CommandRow row, ulong hash, ReadOnlySpan<byte> command)
    {
        if (_bytes.Length - _length < command.Length) Array.Resize(ref _bytes, Math.Max(_bytes.Length * 2, _length + command.Length));
        command.CopyTo(_bytes.AsSpan(_length));
        _length += command.Length;
        _commands.Add((row, hash));
        Database = database;
    }

    public void Clear()
    {
        _commands.Clear();
        _length = 0;
    }
}
