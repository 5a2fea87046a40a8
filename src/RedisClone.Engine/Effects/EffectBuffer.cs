using System.Buffers.Text;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using RedisClone.Memory;
using RedisClone.Protocol;
using RedisClone.Storage.Memory;

namespace RedisClone.Engine.Effects;

/// <summary>A position in an <see cref="EffectBuffer"/>, to roll back to.</summary>
internal readonly record struct EffectMark(int Length, int Commands, int Database, int Current);

/// <summary>
/// The buffer in which a thread writes, in RESP, the effects of the commands that it runs. They form one unit of effects: all
/// of it takes place or nothing. The buffer is reused.
/// </summary>
internal sealed class EffectBuffer
{
    private const int InitialSize = 4096;
    private const int MostKept = 1 << 20;
    private const int LeastGiven = 256 << 10;       // the size of the journal's segments
    private const int KeptPart = 1024;
    /// <summary>Each thread keeps a buffer, so in a heap with a limit it keeps a small one.</summary>
    private static readonly int KeptSize = (int)HeapLimit.Part(KeptPart, MostKept);
    private static readonly long LargestGrowth = HeapLimit.Part(64, Array.MaxLength);
    private const int MostHeader = 16;              // a type, a number of ten digits, a line end
    private const int MostName = 32;                // the name of a command as an effect may be longer than the client's
    private const int MostSelects = 96;             // two SELECTs, the most that one command adds

    // Room for MULTI is kept in front, so that a unit of several commands becomes a transaction without being moved.
    private const int Front = 15;    // *1\r\n$5\r\nMULTI\r\n

    // Room for EXEC is always kept, so that a complete unit is ended without an allocation.
    private const int Tail = 14;     // *1\r\n$4\r\nEXEC\r\n

    private readonly byte[] _initial = new byte[InitialSize];
    private byte[] _bytes;
    private int _length = Front;
    private int _last = Front;       // the start of the last command
    private int _owed;               // arguments that were announced but not added yet
    private int _current;            // the database of the last command
    private int _moved;              // bytes by which the first SELECT moved the unit

    public EffectBuffer() => _bytes = _initial;

    /// <summary>The number of commands in the unit.</summary>
    public int Commands { get; private set; }

    /// <summary>
    /// The database of all commands of the unit, or -1 if they are of several databases and the unit has SELECTs of its own.
    /// </summary>
    public int Database { get; private set; }

    /// <summary>The number of bytes of the commands.</summary>
    public int Length => _length - Front;

    /// <summary>The commands of the unit, without MULTI and EXEC.</summary>
    public ReadOnlySpan<byte> Body => _bytes.AsSpan(Front, Length);

    /// <summary>The unit in RESP: one command, or several between MULTI and EXEC.</summary>
    public ReadOnlySpan<byte> Unit
    {
        get
        {
            if (Commands == 1) return Body;
            "*1\r\n$5\r\nMULTI\r\n"u8.CopyTo(_bytes);
            "*1\r\n$4\r\nEXEC\r\n"u8.CopyTo(_bytes.AsSpan(_length));
            return _bytes.AsSpan(0, _length + Tail);
        }
    }

    /// <summary>
    /// The unit in RESP if it is large. Its array is not used again after <see cref="Clear"/>, so a sink may keep it instead of
    /// copying it. The sink must not change it.
    /// </summary>
    public bool TryGive(out ArraySegment<byte> unit)
    {
        unit = default;
        if (_bytes.Length <= KeptSize || _length < LeastGiven) return false;
        int length = Unit.Length;
        unit = new(_bytes, Commands == 1 ? Front : 0, length);
        return true;
    }

    /// <summary>The largest size of a unit in bytes. Tests set a smaller one.</summary>
    public long MostBytes { get; set; } = Limits.UnitBytes;

    /// <summary>
    /// While true, effects are discarded. Those of expiry and eviction are not: later effects build on them.
    /// </summary>
    public bool IsMuted { get; set; }

    /// <summary>Ends the discarding of effects until the value is disposed.</summary>
    public Unmuting Unmute() => new(this);

    /// <summary>The time in which effects are not discarded.</summary>
    public readonly ref struct Unmuting
    {
        private readonly EffectBuffer _effects;
        private readonly bool _wasMuted;

        internal Unmuting(EffectBuffer effects)
        {
            (_effects, _wasMuted) = (effects, effects.IsMuted);
            effects.IsMuted = false;
        }

        public void Dispose() => _effects.IsMuted = _wasMuted;
    }

    /// <summary>
    /// An upper bound for the bytes of a command with <paramref name="arguments"/> arguments, its name included, whose texts
    /// have <paramref name="textBytes"/> bytes together.
    /// </summary>
    public static long SizeOf(long arguments, long textBytes) => MostHeader + arguments * (MostHeader + 2) + textBytes;

    /// <summary>
    /// Makes room for effects of this many bytes, so that adding them cannot fail. False if they would make the unit too
    /// long. Nothing has changed if the method returns false or throws for lack of memory.
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

    /// <summary>
    /// Makes room for a request as an effect, so that <see cref="AddCommand"/> needs no memory. If it throws for lack of memory,
    /// nothing has changed.
    /// </summary>
    public void Reserve(in Request request)
    {
        if (!IsMuted) Room(RoomFor(request));
    }

    /// <summary>Begins an argument whose bytes are added in parts. It makes the room for all of them.</summary>
    public void BeginArgument(int length)
    {
        if (IsMuted) return;
        Room(MostHeader + length + 2L);
        Header((byte)'$', length);
    }

    /// <summary>Adds a part of the argument that was begun.</summary>
    public void AddPart(scoped ReadOnlySpan<byte> part)
    {
        if (IsMuted) return;
        part.CopyTo(_bytes.AsSpan(_length));
        _length += part.Length;
    }

    /// <summary>Ends the argument that was begun.</summary>
    public void EndArgument()
    {
        if (IsMuted) return;
        LineEnd();
        _owed--;
    }

    /// <summary>Adds a request as an effect, under a name that may differ from the client's.</summary>
    public void AddCommand(int database, ReadOnlySpan<byte> name, in Request request)
    {
        if (IsMuted) return;
        // All of the room is made first, so the command is added as a whole or not at all.
        Room(MostSelects + SizeOf(request.Count, (long)name.Length + request.WireLength));
        if (name == request[0] && TryAddWire(database, request)) return;
        Begin(database, request.Count);
        Add(name);
        for (int i = 1; i < request.Count; i++) Add(request[i]);
    }

    /// <summary>Adds a DEL of one key, which is the effect of an expiry or an eviction.</summary>
    public void AddDelete(int database, ReadOnlySpan<byte> key)
    {
        using Unmuting unmuted = Unmute();
        Room(MostSelects + SizeOf(2, "DEL"u8.Length + (long)key.Length));
        Begin(database, 2);
        Add("DEL"u8);
        Add(key);
    }

    /// <summary>The current end of the unit.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public EffectMark Mark() => new(_length, Commands, Database, _current);

    /// <summary>Removes everything that was added since a mark.</summary>
    public void Rollback(EffectMark mark)
    {
        // If the first SELECT was inserted after the mark, everything before the mark has moved by that one command.
        bool moved = Database < 0 && mark is { Database: >= 0, Commands: > 0 };
        (_length, Commands) = moved ? (mark.Length + _moved, mark.Commands + 1) : (mark.Length, mark.Commands);
        if (!moved) Database = mark.Database;
        (_current, _owed) = (mark.Current, 0);
    }

    /// <summary>Whether a request still fits into the unit, and the unit into an array.</summary>
    public bool HasRoomFor(in Request request) =>
        _length + (long)request.WireLength <= MostBytes && _length + RoomFor(request) + Tail <= Array.MaxLength;

    /// <summary>Removes the last command if not all of its arguments were added, because its handler failed.</summary>
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
    /// Adds a SELECT because the next command is of another database. The first time, a SELECT for the commands so far is
    /// inserted in front of them. The caller has made the room.
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

    /// <summary>Adds a request with one copy if its buffer has it in RESP. The caller has made the room.</summary>
    private bool TryAddWire(int database, in Request request)
    {
        if (Commands > 0 && database != _current || !request.TryCopyWire(_bytes.AsSpan(_length))) return false;
        if (Commands == 0) Database = _current = database;
        Commands++;
        _last = _length;
        _length += request.WireLength;
        return true;
    }

    private static long RoomFor(in Request request) => MostSelects + SizeOf(request.Count, MostName + (long)request.WireLength);

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
        LineEnd();
    }

    private void Header(byte type, int number)
    {
        _bytes[_length++] = type;
        Utf8Formatter.TryFormat(number, _bytes.AsSpan(_length), out int written);
        _length += written;
        LineEnd();
    }

    private void LineEnd()
    {
        _bytes[_length++] = (byte)'\r';
        _bytes[_length++] = (byte)'\n';
    }

    private void Room(long bytes)
    {
        if (_length + bytes + Tail > _bytes.Length || FaultPoint.IsArmed) Grow(_length + bytes + Tail);
    }

    /// <summary>Twice the present size. In a heap with a limit, a large buffer grows in smaller steps.</summary>
    private int SizeFor(long needed)
    {
        long wanted = _bytes.Length + Math.Min(_bytes.Length, LargestGrowth);
        return (int)Math.Clamp(wanted, needed, Array.MaxLength);
    }

    /// <summary>
    /// Makes the buffer larger. If there is no memory, the unfinished command is removed; the commands before it stay
    /// complete.
    /// </summary>
    private void Grow(long needed)
    {
        try
        {
            if (needed > Array.MaxLength) throw new InsufficientMemoryException("A unit of effects is longer than an array can be.");
            FaultPoint.Allocation();
            if (needed <= _bytes.Length) return;
            byte[] larger = HeapRelief.Allocate(SizeFor(needed));
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
