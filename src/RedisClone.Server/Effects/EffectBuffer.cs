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
    private const int MostHeader = 16;              // a type, a number of ten digits, the end of a line
    private const int MostSelects = 96;             // two of them may come with one command

    // Room is kept in front, so that a unit of several commands becomes a transaction without being moved.
    private static readonly int Front = "*1\r\n$5\r\nMULTI\r\n"u8.Length;

    // EXEC has room at all times: a unit that is complete is ended without an allocation.
    private static readonly int Tail = "*1\r\n$4\r\nEXEC\r\n"u8.Length;

    private readonly byte[] _initial = new byte[InitialSize];
    private byte[] _bytes;
    private int _length = Front;
    private int _last = Front;       // where the last command begins
    private int _owed;               // arguments announced and not yet added
    private int _current;            // the database of the last command
    private int _moved;              // by so many bytes the unit moved when it began to select its databases

    public EffectBuffer() => _bytes = _initial;

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
            "*1\r\n$4\r\nEXEC\r\n"u8.CopyTo(_bytes.AsSpan(_length));
            return _bytes.AsSpan(0, _length + "*1\r\n$4\r\nEXEC\r\n"u8.Length);
        }
    }

    /// <summary>The longest unit; tests have shorter ones.</summary>
    public long MostBytes { get; set; } = Limits.UnitBytes;

    /// <summary>What is written now is not kept.</summary>
    public bool IsMuted { get; set; }

    /// <summary>
    /// Bytes of a command that has so many arguments, the name included, of so many bytes together; never too few.
    /// </summary>
    public static long SizeOf(long arguments, long textBytes) => MostHeader + arguments * (MostHeader + 2) + textBytes;

    /// <summary>
    /// Makes room for effects of so many bytes: adding them does not fail then. False where they would make the unit too
    /// long; nothing has changed if so, nor where the memory cannot be had.
    /// </summary>
    public bool TryReserve(long bytes)
    {
        if (IsMuted) return true;
        if (_length + bytes > MostBytes) return false;
        Room(MostSelects + bytes);
        return true;
    }

    public void Begin(int database, int arguments)
    {
        if (IsMuted) return;
        Debug.Assert(_owed == 0, "an effect has fewer arguments than announced");
        Room(MostSelects + MostHeader);
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
        Room(MostHeader + argument.Length + 2L);
        Write(argument);
        _owed--;
    }

    public void Add(long number)
    {
        Span<byte> text = stackalloc byte[RedisNumber.MaxInt64Length];
        Add(text[..RedisNumber.WriteInt64(number, text)]);
    }

    /// <summary>Adds a request, under a name that may differ from the client's.</summary>
    public void AddCommand(int database, ReadOnlySpan<byte> name, in Request request)
    {
        if (IsMuted) return;
        // All its room at once: it is added as a whole or not at all.
        Room(MostSelects + SizeOf(request.Count, (long)name.Length + request.WireLength));
        Begin(database, request.Count);
        Add(name);
        for (int i = 1; i < request.Count; i++) Add(request[i]);
    }

    /// <summary>A DEL of one key: what expiry and eviction become.</summary>
    public void AddDelete(int database, ReadOnlySpan<byte> key)
    {
        if (IsMuted) return;
        Room(MostSelects + SizeOf(2, "DEL"u8.Length + (long)key.Length));
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
        if (_bytes.Length > KeptSize) _bytes = _initial;
    }

    /// <summary>
    /// Later commands of the unit are of another database: from then on the unit says of each which it is. The room is there.
    /// </summary>
    private void Select(int database)
    {
        if (Database >= 0)
        {
            int first = Database, length = _length - Front;
            int selecting = _moved = SelectLength(first);
            Database = -1;
            _bytes.AsSpan(Front, length).CopyTo(_bytes.AsSpan(Front + selecting));
            _length = Front;
            WriteSelect(first);
            _length += length;
            Commands++;
        }
        WriteSelect(database);
        _current = database;
        Commands++;
    }

    private static int SelectLength(int database)
    {
        Span<byte> text = stackalloc byte[RedisNumber.MaxInt64Length];
        int digits = RedisNumber.WriteInt64(database, text);
        return "*2\r\n$6\r\nselect\r\n$\r\n\r\n"u8.Length + (digits > 9 ? 2 : 1) + digits;
    }

    private void WriteSelect(int database)
    {
        Span<byte> text = stackalloc byte[RedisNumber.MaxInt64Length];
        Header((byte)'*', 2);
        Write("select"u8);
        Write(text[..RedisNumber.WriteInt64(database, text)]);
    }

    private void Write(scoped ReadOnlySpan<byte> argument)
    {
        Header((byte)'$', argument.Length);
        argument.CopyTo(_bytes.AsSpan(_length));
        _length += argument.Length;
        _bytes[_length++] = (byte)'\r';
        _bytes[_length++] = (byte)'\n';
    }

    private void Header(byte type, int number)
    {
        _bytes[_length++] = type;
        Utf8Formatter.TryFormat(number, _bytes.AsSpan(_length), out int written);
        _length += written;
        _bytes[_length++] = (byte)'\r';
        _bytes[_length++] = (byte)'\n';
    }

    private void Room(long bytes)
    {
        if (_length + bytes + Tail > _bytes.Length || FaultPoint.IsArmed) Grow(_length + bytes + Tail);
    }

    /// <summary>Without the memory the command that is being added is dropped: what came before it is whole.</summary>
    private void Grow(long needed)
    {
        try
        {
            if (needed > Array.MaxLength) throw new InvalidOperationException("a unit of effects is longer than an array can be");
            FaultPoint.Allocation();
            if (needed <= _bytes.Length) return;
            byte[] larger = new byte[(int)Math.Clamp(2L * _bytes.Length, needed, Array.MaxLength)];
            _bytes.AsSpan(0, _length).CopyTo(larger);
            _bytes = larger;
        }
        catch
        {
            DropUnfinished();
            throw;
        }
    }
}
