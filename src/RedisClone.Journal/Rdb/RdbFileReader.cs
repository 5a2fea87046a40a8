using System.Buffers.Text;

namespace RedisClone.Journal.Rdb;

/// <summary>Reads a whole RDB and verifies its checksum.</summary>
public static class RdbFileReader
{
    private const int MaxDatabase = 1 << 20;

    /// <summary>
    /// Reads an RDB that begins at the reader's position, to the end of its checksum. Returns null, or a description of
    /// the damage. After damage, <see cref="RdbReader.Offset"/> is close to it.
    /// </summary>
    /// <param name="reader">The reader of the file.</param>
    /// <param name="visitor">Receives the contents.</param>
    /// <param name="verifyChecksum">
    /// The setting <c>rdbchecksum</c>. A file without a checksum is always accepted.
    /// </param>
    public static string? Read(RdbReader reader, IRdbVisitor visitor, bool verifyChecksum = true)
    {
        if (!TryHeader(reader, out int version)) return reader.Error;
        var state = new KeyState();
        while (true)
        {
            if (!reader.TryByte(out byte type)) return "Unexpected EOF reading RDB file";
            if (type == RdbOpcode.End) break;
            if (!ReadOne(reader, type, visitor, ref state)) return reader.Error;
        }
        if (version >= 5) return CheckSum(reader, verifyChecksum);
        return reader.Remaining == 0 ? null : "data follows the end of the file: its version may be damaged";
    }

    private static bool TryHeader(RdbReader reader, out int version)
    {
        version = 0;
        if (!reader.TryBytes(9, out ReadOnlySpan<byte> header)) return reader.Fail("Unexpected EOF reading RDB file");
        if (header.StartsWith("VALKEY"u8)) return reader.Fail("the file is in Valkey's own format, of version 9 or later");
        if (!header.StartsWith("REDIS"u8)) return reader.Fail("Wrong signature trying to load DB from file");
        if (!Utf8Parser.TryParse(header[5..], out version, out int digits) || digits != 4
            || version is < 1 or > RdbVersion.Highest)
            return reader.Fail($"Can't handle RDB format version {version}");
        return true;
    }

    private static bool ReadOne(RdbReader reader, byte type, IRdbVisitor visitor, ref KeyState state)
    {
        switch (type)
        {
            case RdbOpcode.ExpireMilliseconds:
                if (!reader.TryMilliseconds(out long milliseconds)) return false;
                state.ExpireAt(milliseconds);
                return true;
            case RdbOpcode.ExpireSeconds:
                if (!reader.TrySeconds(out long seconds)) return false;
                state.ExpireAt(seconds * 1000);
                return true;
            case RdbOpcode.Frequency:
                if (!reader.TryByte(out byte frequency)) return false;
                state.Frequency = frequency;
                return true;
            case RdbOpcode.Idle:
                if (!reader.TryLength(out ulong idle)) return false;
                state.Idle = (long)Math.Min(idle, long.MaxValue);
                return true;
            case RdbOpcode.SelectDatabase:
                if (!reader.TryLength(out ulong database)) return false;
                if (database >= MaxDatabase) return reader.Fail("a database number is out of range");
                state.Database = (int)database;
                return true;
            case RdbOpcode.ResizeDatabase:
                if (!reader.TryLength(out ulong keys) || !reader.TryLength(out ulong expiring)) return false;

                // The counts are hints and are limited to the number of keys that the file can hold.
                ulong most = (ulong)reader.Remaining;
                visitor.Resize(state.Database, (long)Math.Min(keys, most), (long)Math.Min(expiring, most));
                return true;
            case RdbOpcode.SlotInfo:
                return reader.TryLength(out _) && reader.TryLength(out _) && reader.TryLength(out _);
            case RdbOpcode.Aux:
                if (!reader.TryHeldString(out ReadOnlySpan<byte> name) || !reader.TryString(out ReadOnlySpan<byte> value))
                    return false;
                visitor.Aux(name, value);
                return true;
            case RdbOpcode.Function:
                if (!reader.TryString(out ReadOnlySpan<byte> code)) return false;
                return visitor.Function(code) is not { } problem || reader.Fail(problem);
            case RdbOpcode.FunctionOld:
                return reader.Fail("Pre-release function format not supported.");
            case RdbOpcode.ModuleAux:
                return reader.TryLength(out ulong module)
                    && reader.Fail(
                        $"The RDB file contains AUX module data I can't load: no matching module '{RdbModule.NameOf(module)}'");
            default:
                return ReadKey(reader, type, visitor, ref state);
        }
    }

    private static bool ReadKey(RdbReader reader, byte type, IRdbVisitor visitor, ref KeyState state)
    {
        if (!reader.TryHeldString(out ReadOnlySpan<byte> name)) return false;
        var key = new RdbKey
        {
            Database = state.Database,
            Name = name,
            ExpireMilliseconds = state.Expire,
            IdleSeconds = state.Idle,
            Frequency = state.Frequency,
        };
        state = new() { Database = state.Database };
        if (visitor.TakesValues && RdbLayout.TryMeasure(reader, (RdbType)type, out int length)
            && reader.TryBytes(length, out ReadOnlySpan<byte> bytes))
            return visitor.Value(key, (RdbType)type, bytes) is not { } problem || reader.Fail(problem);
        IRdbValueVisitor? target = visitor.Key(key);
        switch (RdbValueReader.Read(reader, type, target ?? RdbNullVisitor.Instance))
        {
            case RdbResult.Complete:
                return true;
            case RdbResult.Empty:
                if (target is not null) visitor.SkippedEmpty();
                return true;
            default:
                return false;
        }
    }

    private static string? CheckSum(RdbReader reader, bool verify)
    {
        ulong computed = reader.Crc;
        if (!reader.TryBytes(8, out ReadOnlySpan<byte> bytes)) return "Unexpected EOF reading RDB file";
        ulong stored = System.Buffers.Binary.BinaryPrimitives.ReadUInt64LittleEndian(bytes);
        return !verify || stored == 0 || stored == computed
            ? null
            : $"RDB CRC error: Wrong RDB checksum expected: ({computed:x}) but got ({stored:x}). Aborting now.";
    }

    private struct KeyState()
    {
        public int Database;
        public long Expire = -1;
        public long Idle = -1;
        public int Frequency = -1;

        /// <summary>
        /// A time before 1970 is stored as 0, because a negative value means that there is no expiry. Both times are in
        /// the past.
        /// </summary>
        public void ExpireAt(long milliseconds) => Expire = Math.Max(0, milliseconds);
    }
}
