using System.Buffers.Binary;
using System.Numerics;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>The struct library: packs numbers and strings like C structures.</summary>
internal static class StructLibrary
{
    private const int MaxIntegerSize = 32;

    public static void Open(LuaState state) =>
        Library.Open(state, "struct", ("pack", Pack), ("unpack", Unpack), ("size", Size));

    /// <summary>
    /// Reads a format up to its end or a zero byte. The byte order and the alignment may change within it.
    /// </summary>
    private ref struct Format(ReadOnlySpan<byte> text)
    {
        private ReadOnlySpan<byte> _rest = text;
        private int _alignment = 1;

        public bool BigEndian { get; private set; }

        public bool TryNext(out byte option)
        {
            option = _rest.Length > 0 ? _rest[0] : (byte)0;
            if (option == 0) return false;
            _rest = _rest[1..];
            return true;
        }

        public int SizeOf(ref LuaCall call, byte option)
        {
            switch (option)
            {
                case (byte)'B' or (byte)'b' or (byte)'x':
                    return 1;
                case (byte)'H' or (byte)'h':
                    return 2;
                case (byte)'L' or (byte)'l' or (byte)'T' or (byte)'d':
                    return 8;
                case (byte)'f':
                    return 4;
                case (byte)'c':
                    return Number(ref call, 1);
                case (byte)'i' or (byte)'I':
                    int size = Number(ref call, 4);
                    if (size > MaxIntegerSize) call.Error($"integral size {size} is larger than limit of {MaxIntegerSize}");
                    return size;
                default:
                    return 0;
            }
        }

        /// <summary>Returns the padding before an item of a size at a position.</summary>
        public readonly int Padding(long position, byte option, int size)
        {
            if (size == 0 || option == 'c') return 0;
            int to = Math.Min(size, _alignment);
            return (to - (int)(position & (to - 1))) & (to - 1);
        }

        public void Control(ref LuaCall call, byte option)
        {
            switch (option)
            {
                case (byte)' ':
                    return;
                case (byte)'>':
                    BigEndian = true;
                    return;
                case (byte)'<':
                    BigEndian = false;
                    return;
                case (byte)'!':
                    int alignment = Number(ref call, 8);
                    if (alignment <= 0 || !BitOperations.IsPow2(alignment))
                        call.Error($"alignment {alignment} is not a power of 2");
                    _alignment = alignment;
                    return;
                default:
                    call.ArgumentError(1, $"invalid format option '{(char)option}'");
                    return;
            }
        }

        private int Number(ref LuaCall call, int otherwise)
        {
            if (_rest.Length == 0 || !char.IsAsciiDigit((char)_rest[0])) return otherwise;
            long value = 0;
            while (_rest.Length > 0 && char.IsAsciiDigit((char)_rest[0]))
            {
                value = (value * 10) + _rest[0] - '0';
                if (value > int.MaxValue)
                {
                    call.Error("integral size overflow");
                    return 0;
                }
                _rest = _rest[1..];
            }
            return (int)value;
        }
    }

    /// <summary>
    /// Reads the format, which is the first argument. A long format may describe no data at all, so its length counts
    /// as work.
    /// </summary>
    private static LuaString ReadFormat(ref LuaCall call)
    {
        LuaString text = call.CheckString(1);
        call.Meter.Work(text.Length);
        return text;
    }

    private static bool IsInteger(byte option) => "bBhHlLTiI"u8.Contains(option);

    private static int Pack(ref LuaCall call)
    {
        var format = new Format(ReadFormat(ref call).Span);
        var text = new TextBuilder(call.Meter);
        int argument = 2;
        while (!call.Failed && !text.Overflowed && format.TryNext(out byte option))
        {
            int size = format.SizeOf(ref call, option);
            if (call.Failed) break;
            text.Append(0, format.Padding(text.Length, option, size));
            if (IsInteger(option)) PackInteger(ref text, NumberAt(ref call, argument++), size, format.BigEndian);
            else if (option == 'x') text.Append(0);
            else if (option is (byte)'f' or (byte)'d')
                PackDouble(ref text, NumberAt(ref call, argument++), size, format.BigEndian);
            else if (option is (byte)'c' or (byte)'s') PackString(ref call, ref text, argument++, size, option);
            else format.Control(ref call, option);
        }
        if (!call.Failed) return text.Return(ref call);
        text.Dispose();
        return 0;
    }

    /// <summary>
    /// Reads a number. The original library pushes a nil above the arguments, so its message for the first missing
    /// argument says "got nil".
    /// </summary>
    private static double NumberAt(ref LuaCall call, int argument)
    {
        if (argument != call.Count + 1) return call.CheckNumber(argument);
        call.ArgumentError(argument, "number expected, got nil");
        return 0;
    }

    private static void PackInteger(ref TextBuilder text, double number, int size, bool bigEndian)
    {
        ulong value = number < 0 ? (ulong)LuaNumber.ToInt64(number) : LuaNumber.ToUInt64(number);
        Span<byte> bytes = stackalloc byte[MaxIntegerSize];
        bytes = bytes[..size];
        for (int i = 0; i < size; i++, value >>= 8) bytes[i] = (byte)value;
        if (bigEndian) bytes.Reverse();
        text.Append(bytes);
    }

    private static void PackDouble(ref TextBuilder text, double number, int size, bool bigEndian)
    {
        Span<byte> bytes = stackalloc byte[8];
        if (size == 4) BinaryPrimitives.WriteSingleLittleEndian(bytes, (float)number);
        else BinaryPrimitives.WriteDoubleLittleEndian(bytes, number);
        bytes = bytes[..size];
        if (bigEndian) bytes.Reverse();
        text.Append(bytes);
    }

    private static void PackString(ref LuaCall call, ref TextBuilder text, int argument, int size, byte option)
    {
        if (argument == call.Count + 1) call.ArgumentError(argument, "string expected, got nil");
        LuaString s = call.CheckString(argument);
        if (call.Failed) return;
        if (size == 0) size = s.Length;
        // The original library names the next argument in this error.
        call.Check(s.Length >= size, argument + 1, "string too short");
        if (call.Failed) return;
        text.Append(s.Span[..size]);
        if (option == 's') text.Append(0);
    }

    private static int Unpack(ref LuaCall call)
    {
        var format = new Format(ReadFormat(ref call).Span);
        LuaString s = call.CheckString(2);
        long start = call.OptionalInteger(3, 1);
        call.Check(start != 0, 3, "offset must be 1 or greater");
        if (call.Failed) return 0;
        ReadOnlySpan<byte> data = s.Span;
        ulong position = (ulong)start - 1;
        int results = 0;
        while (format.TryNext(out byte option))
        {
            int size = format.SizeOf(ref call, option);
            if (!call.Failed) position += (uint)format.Padding((long)position, option, size);
            CheckRoom(ref call, data, position, size);
            call.EnsureRoom(2, "too many results");
            if (call.Failed) return 0;
            ReadOnlySpan<byte> item = data.Slice((int)position, size);
            if (IsInteger(option))
            {
                call.Push(UnpackInteger(item, format.BigEndian, char.IsAsciiLetterLower((char)option)));
                results++;
            }
            else if (option is (byte)'f' or (byte)'d')
            {
                call.Push(UnpackDouble(item, format.BigEndian));
                results++;
            }
            else if (option == 'c')
            {
                if (size == 0)
                {
                    if (results == 0 || !TryTakeSize(ref call, out double given))
                        return call.Error("format 'c0' needs a previous size");
                    results--;
                    size = given is >= 0 and <= int.MaxValue ? (int)given : int.MaxValue;
                    CheckRoom(ref call, data, position, size);
                    if (call.Failed) return 0;
                    item = data.Slice((int)position, size);
                }
                call.Push(item);
                results++;
            }
            else if (option == 's')
            {
                int length = data[(int)position..].IndexOf((byte)0);
                call.Meter.Work(length < 0 ? data.Length : length);
                if (length < 0) return call.Error("unfinished string in data");
                call.Push(data.Slice((int)position, length));
                results++;
                size = length + 1;
            }
            else if (option != 'x')
            {
                format.Control(ref call, option);
            }
            if (call.Failed) return 0;
            position += (uint)size;
        }
        call.Push(position + 1);
        return results + 1;
    }

    private static bool TryTakeSize(ref LuaCall call, out double size)
    {
        LuaValue last = call.Pop();
        return call.State.TryConvert(in last, out size);
    }

    private static void CheckRoom(ref LuaCall call, ReadOnlySpan<byte> data, ulong position, int size)
    {
        if (!call.Failed) call.Check(size <= data.Length && position <= (ulong)(data.Length - size), 2, "data string too short");
    }

    private static double UnpackInteger(ReadOnlySpan<byte> bytes, bool bigEndian, bool signed)
    {
        ulong value = 0;
        for (int i = 0; i < bytes.Length; i++) value = (value << 8) | bytes[bigEndian ? i : bytes.Length - 1 - i];
        if (!signed) return value;
        // C shifts by the distance modulo 64.
        ulong mask = ulong.MaxValue << ((bytes.Length * 8) - 1);
        if ((value & mask) != 0) value |= mask;
        return (long)value;
    }

    private static double UnpackDouble(ReadOnlySpan<byte> bytes, bool bigEndian)
    {
        if (bytes.Length == 4)
            return bigEndian ? BinaryPrimitives.ReadSingleBigEndian(bytes) : BinaryPrimitives.ReadSingleLittleEndian(bytes);
        return bigEndian ? BinaryPrimitives.ReadDoubleBigEndian(bytes) : BinaryPrimitives.ReadDoubleLittleEndian(bytes);
    }

    private static int Size(ref LuaCall call)
    {
        var format = new Format(ReadFormat(ref call).Span);
        long position = 0;
        while (!call.Failed && format.TryNext(out byte option))
        {
            int size = format.SizeOf(ref call, option);
            if (call.Failed) return 0;
            position += format.Padding(position, option, size);
            if (option == 's') return call.ArgumentError(1, "option 's' has no fixed size");
            if (option == 'c' && size == 0) return call.ArgumentError(1, "option 'c0' has no fixed size");
            if (!char.IsAsciiLetterOrDigit((char)option)) format.Control(ref call, option);
            position += size;
        }
        return call.Return(position);
    }
}
