using System.Text;
using RedisClone.Engine.Commands;
using RedisClone.Engine.Execution;
using RedisClone.Journal.Format;
using RedisClone.Journal.Reading;
using RedisClone.Protocol;

namespace RedisClone.Engine.Replication.Following;

/// <summary>
/// Units of the stream of a primary that are applied under one hold. The commands stay in the buffer that they were received
/// in. Reused.
/// </summary>
/// <param name="server">The server.</param>
/// <param name="owner">Decides which commands are applied; null for effects of this server.</param>
internal sealed class StreamBatch(ServerCore server, IStreamOwner? owner = null)
{
    /// <summary>About the size that fits into a second-level cache together with the data.</summary>
    private const int UsualBytes = 64 * 1024, MostCommands = 256;

    /// <summary>A longer name is not remembered.</summary>
    private const int MostLastName = 16;

    private readonly UnitStream _stream = new();
    private readonly List<Unit> _units = [];
    private readonly List<int> _databases = [];
    private readonly byte[] _lastName = new byte[MostLastName];
    private Prepared[] _prepared = new Prepared[MostCommands];
    private CommandRow? _lastRow;       // of the last name, if the row has no subcommands
    private int _lastLength;
    private int _scanned;               // bytes of an incomplete unit that have been scanned in vain
    private long _needed;

    public RequestBatch Requests { get; } = new();

    public Prepared[] Prepared => _prepared;

    public int Units => _units.Count;

    public Unit this[int unit] => _units[unit];

    /// <summary>The length of all units in bytes.</summary>
    public int Bytes { get; private set; }

    /// <summary>Whether a command of the batch writes.</summary>
    public bool HasWrites
    {
        get
        {
            for (int i = 0; i < Requests.Count; i++)
                if (_prepared[i].Row!.IsWrite) return true;
            return false;
        }
    }

    /// <summary>Whether the primary asks for the offset that this server has reached.</summary>
    public bool WantsOffset { get; private set; }

    /// <summary>The database that the stream is in after the batch.</summary>
    public int Database
    {
        get => _stream.Database;
        set => _stream.Database = value;
    }

    public int DatabaseOf(int command) => _databases[command];

    /// <summary>
    /// Takes complete units from the received bytes. Returns null, or the reason why the stream cannot be applied. The units
    /// before that are in the batch.
    /// </summary>
    /// <param name="buffer">The array of the received bytes.</param>
    /// <param name="start">The position of the first byte.</param>
    /// <param name="count">The number of bytes.</param>
    public string? Fill(byte[] buffer, int start, int count)
    {
        while (Bytes < UsualBytes && Requests.Count < MostCommands)
        {
            ReadOnlySpan<byte> bytes = buffer.AsSpan(start + Bytes, count - Bytes);
            if (bytes.IsEmpty || Bytes == 0 && IsStillIncomplete(bytes)) return null;
            switch (_stream.Next(bytes, out JournalUnit unit, out int length, out _needed))
            {
                case UnitKind.Incomplete:
                    _scanned = bytes.Length;
                    return null;
                case UnitKind.Malformed:
                    return "the master sent bytes that are no command";
                case UnitKind.Unit:
                    if (Add(unit, buffer, start + Bytes) is { } problem) return problem;
                    break;
                default:
                    _units.Add(new Unit(Requests.Count, 0, length, Database));
                    break;
            }
            Bytes += length;
            (_scanned, _needed) = (0, 0);
        }
        return null;
    }

    public void Clear()
    {
        Requests.Clear();
        _units.Clear();
        _databases.Clear();
        (Bytes, WantsOffset) = (0, false);
    }

    /// <summary>
    /// Whether the bytes are certainly still incomplete, so that a long transaction is not scanned again after each part of it:
    /// only an EXEC, a command of one word of four bytes, can complete it.
    /// </summary>
    private bool IsStillIncomplete(ReadOnlySpan<byte> bytes)
    {
        if (_scanned == 0) return false;
        if (bytes.Length < _needed) return true;
        if (_scanned < UsualBytes || !bytes.StartsWith("*1\r\n$5\r\n"u8)) return false;
        // The command may have begun before the end of the last scan.
        const int longest = 16;
        if (bytes[Math.Max(0, _scanned - longest)..].IndexOf("*1\r\n$4\r\n"u8) >= 0) return false;
        _scanned = bytes.Length;
        return true;
    }

    private string? Add(in JournalUnit unit, byte[] buffer, int start)
    {
        int first = Requests.Count;
        for (int i = 0; i < unit.Count; i++)
        {
            JournalCommand command = unit[i];
            if ((uint)command.Database >= (uint)server.Config.Databases) return $"the master uses the database {command.Database}";
            bool isLast = _lastRow is not null && command[0].SequenceEqual(_lastName.AsSpan(0, _lastLength));
            if (!isLast && Ascii.EqualsIgnoreCase(command[0], "REPLCONF"u8))
            {
                WantsOffset |= command.Words.Length > 1 && Ascii.EqualsIgnoreCase(command[1], "GETACK"u8);
                continue;
            }
            CommandRow? row = isLast ? _lastRow : Find(command);
            if (row is not { Handler: not null } || !row.ArityFits(command.Words.Length))
                return $"the master sent a command that this server does not know: '{Encoding.Latin1.GetString(command[0])}'";
            Add(command, row, buffer, start + command.Offset);
            if (owner?.Refuse(row, Requests[^1], command.Database) is { } refusal) return refusal;
        }
        _units.Add(new Unit(first, Requests.Count - first, unit.Bytes.Length, Database));
        return null;
    }

    /// <summary>Finds the row of a command. Most streams repeat a few commands, so the last name is remembered.</summary>
    private CommandRow? Find(in JournalCommand command)
    {
        ReadOnlySpan<byte> name = command[0];
        CommandRow? row = server.Commands.FindEffect(name);
        if (row is { Subcommands.Length: > 0 } && command.Words.Length > 1) return CommandTable.FindSubcommand(row, command[1]) ?? row;
        if (row is null || !name.TryCopyTo(_lastName)) return row;
        (_lastRow, _lastLength) = (row, name.Length);
        return row;
    }

    private void Add(in JournalCommand command, CommandRow row, byte[] buffer, int start)
    {
        int number = Requests.Count;
        if (number == _prepared.Length) Array.Resize(ref _prepared, number * 2);
        ulong hash = row.FirstKey > 0 && row.FirstKey < command.Words.Length ? server.Shards.HashOf(command[row.FirstKey]) : 0;
        _prepared[number] = new Prepared { Row = row, Hash = hash };
        ReadOnlySpan<JournalWord> words = command.Words;
        Span<ArgSlice> arguments = Requests.Room(words.Length);
        for (int i = 0; i < arguments.Length; i++) arguments[i] = new ArgSlice(start + words[i].Offset, words[i].Length);
        Requests.Add(buffer, words.Length, command.Bytes.Length);
        _databases.Add(command.Database);
    }

    /// <summary>A part of the stream that is applied as a whole.</summary>
    /// <param name="First">The number of its first command in the batch.</param>
    /// <param name="Count">The number of its commands.</param>
    /// <param name="Bytes">Its length in the stream.</param>
    /// <param name="Database">The database that the stream is in after it.</param>
    internal readonly record struct Unit(int First, int Count, int Bytes, int Database);
}
