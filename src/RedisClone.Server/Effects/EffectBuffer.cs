using System.Buffers.Text;
using System.Diagnostics;
using RedisClone.Protocol;
using RedisClone.Storage.Memory;

namespace RedisClone.Server;

/// <summary>A place in an <see cref="EffectBuffer"/>.</summary>
internal readonly record struct EffectMark(int Length, int Commands, int Database, int Current);

/// <summary>
/// Where one thread writes down, in RESP, the effects of the command that it is running. One unit: all or nothing. Reused.
/// </summary>
internal sealed class EffectBuffer
{
    private const int InitialSize = 4096;
    private const int KeptSize = 1 << 20;

    // Room is kept in front, so that a unit of several commands becomes a transaction without being moved.
    private static readonly int Front = "*1\r\n$5\r\nMULTI\r\n"u8.Length;

    private byte[] _bytes = new byte[InitialSize];
    private int _length = Front;
    private int _last = Front;       // where the last command begins
    private int _owed;               // arguments announced and not yet added
    private int _current;            // the database of the last command
    private int _moved;              // by so many bytes the unit moved when it began to select its databases

    /// <summary>Commands in the unit.</summary>
    public int Commands { get; private set; }

    /// <summary>The database of all commands of the unit, -1 when they are of several and the unit selects them itself.</summary>
    public int Database { get; private set; }

    /// <summary>Its commands alone.</summary>
    public ReadOnlySpan<byte> Body => _bytes.AsSpan(Front, _length - Front);

    /// <summary>The unit as RESP: one command, or MULTI to EXEC.</summary>
    public ReadOnlySpan<byte> Unit
    {
        get
        {
            if (Commands == 1) return Body;
            "*1\r\n$5\r\nMULTI\r\n"u8.CopyTo(_bytes);
            Room(16);
            "*1\r\n$4\r\nEXEC\r\n"u8.CopyTo(_bytes.AsSpan(_length));
            return _bytes.AsSpan(0, _length + "*1\r\n$4\r\nEXEC\r\n"u8.Length);
        }
    }

    /// <summary>The longest unit; tests have shorter ones.</summary>
    public long MostBytes { get; set; } = Limits.UnitBytes;

    /// <summary>What is written now is not kept.</summary>
    public bool IsMuted { get; set; }

    public void Begin(int database, int arguments)
    {
        if (IsMuted) return;
        Debug.Assert(_owed == 0, "an effect has fewer arguments than announced");
        if (Commands == 0) Database = _current = database;
        else if (database != _current) Select(database);
        Commands++;
        (_last, _owed) = (_length, arguments);
        Header((byte)'*', arguments);
    }

    public void Add(scoped ReadOnlySpan<byte> argument)
    {
        if (IsMuted) return;
        Debug.Assert(_owed > 0, "an effect has more arguments than announced");
        Header((byte)'$', argument.Length);
        Room(argument.Length + 2);
        argument.CopyTo(_bytes.AsSpan(_length));
        _length += argument.Length;
        _bytes[_length++] = (byte)'\r';
        _bytes[_length++] = (byte)'\n';
        _owed--;
    }

    public void Add(long number)
    {
        Span<byte> text = stackalloc byte[RedisNumber.MaxInt64Length];
        Add(text[..RedisNumber.WriteInt64(number, text)]);
    }

    public void AddCommand(int database, in Request request)
    {
        Begin(database, request.Count);
        for (int i = 0; i < request.Count; i++) Add(request[i]);
    }

    /// <summary>Commands that are encoded already.</summary>
    public void AddEncoded(int database, int commands, ReadOnlySpan<byte> bytes)
    {
        if (IsMuted || commands == 0) return;
        Debug.Assert(_owed == 0, "an effect has fewer arguments than announced");
        if (!HasRoomFor(bytes.Length)) throw new InvalidOperationException("a unit of effects is longer than it may be");
        if (Commands == 0) Database = _current = database;
        else if (database != _current) Select(database);
        Room(bytes.Length);
        bytes.CopyTo(_bytes.AsSpan(_length));
        _length += bytes.Length;
        Commands += commands;
    }

    /// <summary>A DEL of one key: what expiry and eviction become.</summary>
    public void AddDelete(int database, ReadOnlySpan<byte> key)
    {
        Begin(database, 2);
        Add("DEL"u8);
        Add(key);
    }

    /// <summary>Where the unit ends now.</summary>
    public EffectMark Mark() => new(_length, Commands, Database, _current);

    /// <summary>Takes back what was added since a mark.</summary>
    public void Rollback(EffectMark mark)
    {
        // Where the unit has begun to select its databases since, what stood before the mark has moved by one command.
        bool moved = Database < 0 && mark is { Database: >= 0, Commands: > 0 };
        (_length, Commands) = moved ? (mark.Length + _moved, mark.Commands + 1) : (mark.Length, mark.Commands);
        if (!moved) Database = mark.Database;
        (_current, _owed) = (mark.Current, 0);
    }

    /// <summary>Whether a command that took so many bytes may be written down besides.</summary>
    public bool HasRoomFor(int bytes) => _length + (long)bytes <= MostBytes;

    /// <summary>A command whose author failed before it was complete is no effect.</summary>
    public void DropUnfinished()
    {
        if (_owed == 0) return;
        (_length, _owed) = (_last, 0);
        Commands--;
    }

    public void Clear()
    {
        _length = Front;
        _owed = 0;
        Commands = 0;
        if (_bytes.Length > KeptSize) _bytes = new byte[InitialSize];
    }

    /// <summary>Later commands of the unit are of another database: from then on the unit says of each which it is.</summary>
    private void Select(int database)
    {
        if (Database >= 0)
        {
            byte[] before = _bytes.AsSpan(Front, _length - Front).ToArray();
            int first = Database;
            Database = -1;
            _length = Front;
            WriteSelect(first);
            _moved = _length - Front;
            Room(before.Length);
            before.CopyTo(_bytes.AsSpan(_length));
            _length += before.Length;
            Commands++;
        }
        WriteSelect(database);
        _current = database;
        Commands++;
    }

    private void WriteSelect(int database)
    {
        Header((byte)'*', 2);
        _owed = 2;
        Add("select"u8);
        Add(database);
    }

    private void Header(byte type, int number)
    {
        Room(16);
        _bytes[_length++] = type;
        Utf8Formatter.TryFormat(number, _bytes.AsSpan(_length), out int written);
        _length += written;
        _bytes[_length++] = (byte)'\r';
        _bytes[_length++] = (byte)'\n';
    }

    private void Room(int bytes)
    {
        FaultPoint.Allocation();
        long needed = _length + (long)bytes;
        if (needed <= _bytes.Length) return;
        if (needed > Array.MaxLength) throw new InvalidOperationException("a unit of effects is longer than an array can be");
        Array.Resize(ref _bytes, (int)Math.Clamp(2L * _bytes.Length, needed, Array.MaxLength));
    }
}
