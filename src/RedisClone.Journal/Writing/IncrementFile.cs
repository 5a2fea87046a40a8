using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Memory;

namespace RedisClone.Journal.Writing;

/// <summary>The increment that is being written: its offset, its salt and the end of its padding.</summary>
internal sealed class IncrementFile : IDisposable
{
    private const int Attempts = 20;

    private readonly IDiskFile _file;
    private readonly ulong _salt;
    private readonly WriterTuning _tuning;
    private readonly List<ReadOnlyMemory<byte>> _parts = [];
    private readonly byte[] _markLine = new byte[GroupHeader.MaxLength];
    private readonly byte[] _fillMark = new byte[FillMark.Length];
    private long _filledTo;
    private long _fill;

    private IncrementFile(IDiskFile file, ulong salt, WriterTuning tuning)
    {
        _file = file;
        _salt = salt;
        _tuning = tuning;
        _fill = tuning.FirstFill;
    }

    /// <summary>The offset of the next group: the length of the file without padding.</summary>
    public long Offset { get; private set; }

    /// <summary>The highest "durable" value in the headers of this file.</summary>
    public long DurableMark { get; private set; }

    /// <summary>
    /// Creates the file and makes it durable. It contains the header and a mark with its start position in the stream.
    /// All earlier positions must already be durable.
    /// </summary>
    public static IncrementFile Create(IDisk disk, string path, long lsn, WriterTuning tuning)
    {
        ulong salt = tuning.Salts is null
            ? BitConverter.ToUInt64(SystemRandom.GetBytes(sizeof(ulong)))
            : (ulong)tuning.Salts.NextInt64();
        var increment = new IncrementFile(disk.Open(path, DiskOpen.New), salt, tuning);
        try
        {
            Span<byte> start = stackalloc byte[FileHeader.Length + GroupHeader.MaxLength];
            FileHeader.Write(start, salt);
            int length = FileHeader.Length;
            length += Mark(lsn, lsn, salt).Write(start[length..], salt, length);
            increment._file.Write(0, start[..length]);
            increment._file.Flush();
            increment.Offset = increment._filledTo = length;
            increment.DurableMark = lsn;
            return increment;
        }
        catch
        {
            increment.Dispose();
            throw;
        }
    }

    /// <summary>
    /// Writes the commands of a file that Redis wrote, which recovery has accepted, as one group that ends at
    /// <paramref name="end"/>, and flushes it. The spellings by which recovery recognizes output of Redis in a file of
    /// this server are replaced.
    /// </summary>
    public void Adopt(byte[] commands, long end)
    {
        RespellAsOurs(commands);
        var segment = new Segment(Math.Max(commands.Length, 1));
        segment.Append(commands);
        long start = end - commands.Length;
        if (commands.Length > 0)
            Write(new PendingGroup(segment, start, commands.Length, Units: 1, EndsIncrement: false), start, fillAhead: false);
        _file.Flush();
        WriteMark(end, end);
        _file.Flush();
    }

    /// <summary>
    /// Writes one group. With <paramref name="fillAhead"/> the file is extended with padding in advance: a flush after
    /// overwriting bytes does not wait for the journal of the file system. Large groups gain nothing from this.
    /// </summary>
    public void Write(in PendingGroup group, long durable, bool fillAhead)
    {
        Segment first = group.First!;
        uint crc = GroupHeader.StartCrc(_salt, group.Lsn);
        for (Segment? segment = first; segment is not null; segment = segment.Next) crc = Checksum.Add(crc, segment.Bytes);
        var header = new GroupHeader(group.Lsn, durable, group.Length, Checksum.Finish(crc));

        // The header line is placed directly before the bytes of the first segment.
        Span<byte> line = stackalloc byte[GroupHeader.MaxLength];
        int lineLength = header.Write(line, _salt, Offset);
        int lineStart = Segment.HeaderRoom - lineLength;
        line[..lineLength].CopyTo(first.Buffer.AsSpan(lineStart));
        long end = Offset + lineLength + group.Length;

        long filledTo = FillTarget(end, group.Length, fillAhead);
        if (first.Next is null && filledTo <= _filledTo)
        {
            WriteSpan(first.Buffer.AsSpan(lineStart, lineLength + first.Length));
        }
        else
        {
            _parts.Clear();
            _parts.Add(first.Buffer.AsMemory(lineStart, lineLength + first.Length));
            for (Segment? segment = first.Next; segment is not null; segment = segment.Next) _parts.Add(segment.Memory);
            WriteParts(end, filledTo);
        }
        Advance(end, filledTo, durable);
    }

    /// <summary>Writes a group without payload, so that recovery knows how far the file was durable.</summary>
    public void WriteMark(long lsn, long durable)
    {
        int length = Mark(lsn, durable, _salt).Write(_markLine, _salt, Offset);
        long end = Offset + length;
        long filledTo = FillTarget(end, groupLength: 0, fillAhead: false);
        _parts.Clear();
        _parts.Add(_markLine.AsMemory(0, length));
        WriteParts(end, filledTo);
        Advance(end, filledTo, durable);
    }

    public void Flush() => _file.Flush();

    /// <summary>Removes what a failed write has added to the file. The next group is written over the rest.</summary>
    public void DropUnfinished()
    {
        if (_file.Length > _filledTo) _file.Truncate(_filledTo);
    }

    /// <summary>Removes the padding and flushes. Nothing more is written to this file.</summary>
    public void Finish()
    {
        if (_filledTo > Offset) _file.Truncate(Offset);
        _filledTo = Offset;
        _file.Flush();
    }

    public void Dispose() => _file.Dispose();

    private static void RespellAsOurs(byte[] commands)
    {
        for (int at = 0; at < commands.Length;)
        {
            if (commands[at] == '#')
            {
                Span<byte> line = commands.AsSpan(at, Array.IndexOf(commands, (byte)'\n', at) + 1 - at);
                if (line.StartsWith("#TS:"u8)) "#ts:"u8.CopyTo(line);
                at += line.Length;
                continue;
            }
            Span<byte> bytes = commands.AsSpan(at);
            RespScanner.Command(commands, ref at, words: null, out StreamCommand command, out _, out _);
            if (command != StreamCommand.Select) continue;
            int name = bytes.IndexOf((byte)'$');
            "select"u8.CopyTo(bytes[(name + bytes[name..].IndexOf((byte)'\n') + 1)..]);
        }
    }

    private static GroupHeader Mark(long lsn, long durable, ulong salt) =>
        new(lsn, durable, 0, Checksum.Finish(GroupHeader.StartCrc(salt, lsn)));

    /// <summary>Writes the parts, followed by padding if the file is to be filled further than it is.</summary>
    private void WriteParts(long end, long filledTo)
    {
        if (filledTo > end && filledTo > _filledTo)
        {
            long mark = filledTo - FillMark.Length;
            Padding.Add(_parts, mark - end);
            FillMark.Write(_fillMark, _salt, mark);
            _parts.Add(_fillMark);
        }
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                _file.Write(Offset, _parts);
                break;
            }
            catch (OutOfMemoryException) when (MayTryAgain(attempt))
            {
                // The next attempt writes the same bytes to the same place.
            }
        }
        // The arrays of a large group must not stay alive until the next one.
        _parts.Clear();
    }

    private void WriteSpan(ReadOnlySpan<byte> bytes)
    {
        for (int attempt = 1; ; attempt++)
        {
            try
            {
                _file.Write(Offset, bytes);
                return;
            }
            catch (OutOfMemoryException) when (MayTryAgain(attempt))
            {
                // As above.
            }
        }
    }

    /// <summary>
    /// A lack of memory is no error of the disk: the runtime found no memory for the call. It is not final until several attempts
    /// have failed. Each waits a millisecond longer than the one before.
    /// </summary>
    private static bool MayTryAgain(int attempt)
    {
        if (attempt == Attempts) return false;
        Thread.Sleep(attempt);
        return true;
    }

    private void Advance(long end, long filledTo, long durable)
    {
        Offset = end;
        _filledTo = filledTo;
        DurableMark = durable;
    }

    /// <summary>
    /// Returns the offset to which the file is to be filled when a group that ends at <paramref name="end"/> is
    /// written.
    /// </summary>
    private long FillTarget(long end, long groupLength, bool fillAhead)
    {
        if (end <= _filledTo - FillMark.Length) return _filledTo;

        // A group must not end within a fill mark, because no loader accepts the rest of the mark's line.
        bool leavesPiece = end < _filledTo;
        if (!leavesPiece && (!fillAhead || groupLength > _tuning.LargestGroupToFill)) return end;

        // The fill has room for at least a dozen groups of this size.
        long target = Padding.End(end + Math.Max(_fill, Math.Min(groupLength * 16, _tuning.LargestFill)));
        _fill = Math.Min(_fill * 2, _tuning.LargestFill);
        return target;
    }
}
