using System.Buffers;
using System.Buffers.Binary;
using System.Runtime.InteropServices;

namespace RedisClone.Protocol;

/// <summary>
/// Parses the bytes of a connection into requests: RESP arrays of bulk strings, and inline commands. One per connection.
/// <para>
/// The fast path parses the span of one segment and stores offsets only. Every request that is not complete and regular goes
/// through the <see cref="RequestAssembler"/>: a request that spans segments, an unusual one, an invalid one, an incomplete one.
/// A small incomplete request stays in the pipe and is parsed again when more bytes arrive. The bytes of a large one are taken
/// out of the pipe as they arrive, so they are neither copied twice nor parsed again.
/// </para>
/// </summary>
public sealed class RequestParser(RequestLimits limits)
{
    /// <summary>The shortest argument on the wire: $0\r\n\r\n.</summary>
    private const int MinArgumentLength = 6;

    private readonly RequestAssembler _assembler = new(limits);
    private bool _assembling;
    private bool _failed;

    /// <summary>
    /// The position in the input of this call at which the request being assembled began. Negative: in the input of an earlier
    /// call.
    /// </summary>
    private long _assemblyStart;

    /// <summary>A parse of fewer bytes would find the same incomplete request again.</summary>
    private long _needed;

    private long _leftInPipe;

    /// <summary>
    /// Whether the client has not authenticated. It may then announce only what AUTH needs, and each batch has one request.
    /// </summary>
    public bool Restricted { get; set; }

    /// <summary>Bytes that an incomplete request holds, here and in the pipe.</summary>
    public long BufferedBytes => _leftInPipe + (_assembling ? _assembler.HeldBytes : 0);

    /// <summary>Bytes that it holds in addition, for arguments that have not arrived completely.</summary>
    public long RoomBytes => _assembling ? _assembler.RoomBytes : 0;

    /// <summary>Bytes of the arrays that an incomplete request holds. Any thread may read it.</summary>
    public long ArrayBytes => _assembling ? _assembler.ArrayBytes : 0;

    /// <summary>Bytes of the array that is kept for the next request that needs it. Any thread may read it.</summary>
    public long KeptBytes => _assembler.KeptBytes;

    /// <summary>Releases the arrays of an incomplete request. Nothing is parsed after it.</summary>
    public void Drop() => _assembler.Reset();

    /// <summary>
    /// Parses the complete requests of <paramref name="input"/>, within the limits of a turn, into <paramref name="batch"/>.
    /// After an error, every call consumes all input and reports the same error.
    /// </summary>
    public void Parse(
        in ReadOnlySequence<byte> input, RequestBatch batch, out SequencePosition consumed, out SequencePosition examined)
    {
        long length = input.Length;
        if (NeedsMore(length))
        {
            consumed = input.Start;
            examined = input.End;
            return;
        }
        long done = 0;
        if (!_failed)
        {
            foreach (ReadOnlyMemory<byte> segment in input)
            {
                int used = segment.IsEmpty ? 0 : ParseSegment(ArrayOf(segment, batch), done, batch);
                done += used;
                if (_failed || used < segment.Length) break;
            }
        }
        long taken = Finish(length, done, batch);
        consumed = taken == length ? input.End : input.GetPosition(taken);
        examined = _failed || done == length ? input.End : consumed;
    }

    /// <summary>
    /// The same for input in one array. <paramref name="consumed"/> and <paramref name="examined"/> count from its start.
    /// </summary>
    public void Parse(ArraySegment<byte> input, RequestBatch batch, out int consumed, out int examined)
    {
        int length = input.Count;
        if (NeedsMore(length))
        {
            consumed = 0;
            examined = length;
            return;
        }
        int done = _failed ? 0 : ParseSegment(input, segmentStart: 0, batch);
        consumed = (int)Finish(length, done, batch);
        examined = _failed || done == length ? length : consumed;
    }

    /// <summary>Begins a parse. Returns true if the input is too short to hold more than the last time.</summary>
    private bool NeedsMore(long length)
    {
        bool isShort = length < _needed;
        _leftInPipe = isShort ? length : 0;
        if (isShort) return true;
        _needed = 0;
        _assemblyStart = -1;
        return false;
    }

    /// <summary>Ends a parse of which <paramref name="done"/> bytes were parsed. Returns the number of bytes that are consumed.</summary>
    private long Finish(long length, long done, RequestBatch batch)
    {
        if (_failed)
        {
            batch.Fail(_assembler.Error);
            return length;
        }
        if (!_assembling || _assemblyStart < 0 || _assembler.IsLarge) return done;
        _needed = _assembler.KnownLength;
        _leftInPipe = length - _assemblyStart;
        _assembler.Reset();
        _assembling = false;
        return _assemblyStart;
    }

    /// <summary>
    /// Parses one segment. Returns the number of bytes consumed: all, unless the batch is full or the input is invalid.
    /// </summary>
    private int ParseSegment(ArraySegment<byte> segment, long segmentStart, RequestBatch batch)
    {
        byte[] buffer = segment.Array!;
        int start = segment.Offset;
        int end = start + segment.Count;
        int at = start;
        while (at < end && !IsFull(batch))
        {
            if (!_assembling)
            {
                at = ParseWhole(buffer, at, end, batch);
                if (at == end || IsFull(batch)) break;
                _assembling = true;
                _assemblyStart = segmentStart + (at - start);
            }

            RequestAssembler.Outcome outcome = _assembler.Feed(buffer.AsSpan(at, end - at), Restricted, out int used);
            at += used;
            switch (outcome)
            {
                case RequestAssembler.Outcome.Complete:
                    _assembler.MoveTo(batch);
                    _assembling = false;
                    break;
                case RequestAssembler.Outcome.Empty:
                    _assembler.Reset();
                    _assembling = false;
                    break;
                case RequestAssembler.Outcome.Failed:
                    _failed = true;
                    _assembling = false;
                    _assembler.Reset();
                    return at - start;
            }
        }
        return at - start;
    }

    private bool IsFull(RequestBatch batch) =>
        batch.Count >= (Restricted ? 1 : limits.MaxBatchRequests) || batch.WireBytes >= limits.MaxBatchBytes;

    private static ArraySegment<byte> ArrayOf(ReadOnlyMemory<byte> segment, RequestBatch batch)
    {
        if (MemoryMarshal.TryGetArray(segment, out ArraySegment<byte> array)) return array;
        byte[] copy = RequestBuffers.Rent(segment.Length);
        batch.Own(copy);
        segment.CopyTo(copy);
        return new ArraySegment<byte>(copy, 0, segment.Length);
    }

    /// <summary>The fast path: parses complete, regular requests and returns the position of the first other one.</summary>
    private int ParseWhole(byte[] buffer, int at, int end, RequestBatch batch)
    {
        ReadOnlySpan<byte> input = buffer.AsSpan(0, end);
        int maxCount = Restricted ? RequestLimits.RestrictedArguments : RequestLimits.MaxArguments;
        long maxBulk = Restricted ? Math.Min(limits.MaxBulkLength, RequestLimits.RestrictedBulkLength) : limits.MaxBulkLength;
        while (at < input.Length && !IsFull(batch))
        {
            int start = at;
            if (input[at] != '*')
            {
                at = ParseLine(buffer, at, end, batch);
                if (at == start) return at;
                continue;
            }
            int count = ReadHeader(input, '*', ref at);
            if ((uint)(count - 1) >= (uint)maxCount || (long)count * MinArgumentLength > end - at) return start;
            Span<ArgSlice> arguments = batch.Room(count);
            for (int i = 0; i < arguments.Length; i++)
            {
                int length = ReadHeader(input, '$', ref at);
                if (length < 0 || length > input.Length - at - 2 || length > maxBulk) return start;
                arguments[i] = new ArgSlice(at, length);
                at += length + 2;
            }
            batch.Add(buffer, count, at - start, isOnWire: true);
        }
        return at;
    }

    /// <summary>
    /// Reads the number of a header such as $256\r\n and advances past it. Returns -1 if it is not a complete plain number. As in
    /// Redis, the byte after '\r' is not checked.
    /// </summary>
    private static int ReadHeader(ReadOnlySpan<byte> input, char type, ref int at)
    {
        if (input.Length - at < 4) return -1;
        ReadOnlySpan<byte> header = input[at..];
        uint word = BinaryPrimitives.ReadUInt32LittleEndian(header);
        uint digit = ((word >> 8) & 0xFF) - '0';
        if ((word & 0x00FF_00FF) == (0x000D_0000u | type) && digit <= 9)
        {
            at += 4;
            return (int)digit;
        }
        if ((byte)word != type || digit - 1 > 8) return -1;

        int value = (int)digit;
        int i = 2;
        for (; i < header.Length && i < 10; i++)
        {
            digit = (uint)header[i] - '0';
            if (digit > 9) break;
            value = value * 10 + (int)digit;
        }
        if (i + 1 >= header.Length || header[i] != '\r') return -1;
        at += i + 2;
        return value;
    }

    /// <summary>
    /// Parses an inline command that is complete in the segment and has no quotes. Returns the position after it.
    /// </summary>
    private int ParseLine(byte[] buffer, int at, int end, RequestBatch batch)
    {
        ReadOnlySpan<byte> input = buffer.AsSpan(at, end - at);
        int length = input.IndexOfAny((byte)'\n', (byte)0);
        bool isWhole = length >= 0 && input[length] != 0 && length <= limits.MaxInlineLength;
        if (!isWhole || InlineSplitter.HasQuotes(input[..length])) return at;
        int lineEnd = length > 0 && input[length - 1] == '\r' ? length - 1 : length;
        batch.AddLine(buffer, at, at + lineEnd, length + 1);
        return at + length + 1;
    }
}
