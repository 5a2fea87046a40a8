using System.Runtime.CompilerServices;

namespace RedisClone.Protocol;

/// <summary>
/// The slow path of the parser. It receives one request in pieces of any size, copies each argument once to its place in a pooled
/// buffer, and keeps its state between the pieces. It also formats the protocol errors, because every request that the fast path
/// cannot parse ends here.
/// </summary>
internal sealed class RequestAssembler(RequestLimits limits)
{
    /// <summary>
    /// The room for a bulk string longer than <see cref="RequestLimits.TrustedLength"/> never exceeds the larger of that length
    /// and the bytes received times this factor.
    /// The factor by which the room for a long bulk string grows. With a factor of two, copying makes a string of 64 MB cost half
    /// as much again; with this factor, the cost is not measurable.
    /// </summary>
    private const int Growth = 8;

    private const int BigBulk = 32 * 1024;

    private readonly SliceList _slices = new();
    private byte[] _buffer = [];
    private int _length;
    private Step _step;
    private HeaderText _header;
    private int _headerLength;
    private bool _headerHasNul;
    private bool _headerAtReturn;
    private int _argumentsLeft;
    private int _bulkLength;
    private int _bulkLeft;
    private long _wireLength;

    private enum Step
    {
        Start,
        Count,
        BulkLength,
        Bulk,
        BulkEnd,
        Line,
    }

    public enum Outcome
    {
        More,
        Complete,
        Empty,
        Failed,
    }

    /// <summary>The first bytes of a header line. A longer line is not a number.</summary>
    [InlineArray(32)]
    private struct HeaderText
    {
        private byte _first;
    }

    public byte[] Error { get; private set; } = [];

    /// <summary>
    /// Bytes of memory that the incomplete request holds. The positions of the arguments count, because they are most of a
    /// request of many short arguments. A header beside a large string is not counted.
    /// </summary>
    public long HeldBytes => _length + _slices.UsedBytes + (IsLarge ? 0 : Math.Min(_headerLength, 32));

    /// <summary>The part of the room of an announced argument, and of the positions, that is not filled yet.</summary>
    public long RoomBytes => _slices.SpareBytes + (_step is Step.Bulk ? Math.Min(_bulkLeft, _buffer.Length - _length) : 0);

    /// <summary>
    /// Bytes of the arrays of the incomplete request, without those that are kept for the next one. Any thread may read it.
    /// </summary>
    public long ArrayBytes => _buffer.Length + _slices.ArrayBytes - _slices.KeptBytes;

    /// <summary>Bytes of the array of positions that is kept for the next request. Any thread may read it.</summary>
    public long KeptBytes => _slices.KeptBytes;

    /// <summary>Whether to keep the copied bytes, because parsing the request again would copy too many.</summary>
    public bool IsLarge => _wireLength > 4096 || (_step is Step.Bulk or Step.BulkEnd && _bulkLength > BigBulk);

    /// <summary>The minimum length of the request on the wire, as far as it is known.</summary>
    public long KnownLength => _wireLength + (_step is Step.Bulk ? _bulkLeft + 2 : _step is Step.BulkEnd ? _bulkLeft : 1);

    /// <summary>Consumes bytes of <paramref name="input"/>, at most up to the last byte of the request.</summary>
    public Outcome Feed(ReadOnlySpan<byte> input, bool restricted, out int used)
    {
        used = 0;
        Outcome outcome = Outcome.More;
        while (used < input.Length && outcome == Outcome.More)
        {
            ReadOnlySpan<byte> rest = input[used..];
            int taken;
            switch (_step)
            {
                case Step.Start:
                    _step = rest[0] == '*' ? Step.Count : Step.Line;
                    continue;
                case Step.Count:
                    if (TakeHeader(rest, out taken, "too big mbulk count string", ref outcome)) outcome = ReadCount(restricted);
                    break;
                case Step.BulkLength:
                    if (TakeHeader(rest, out taken, "too big bulk count string", ref outcome))
                        outcome = ReadBulkLength(restricted);
                    break;
                case Step.Bulk:
                    taken = TakeBulk(rest);
                    break;
                case Step.BulkEnd:
                    taken = Math.Min(rest.Length, _bulkLeft);
                    _bulkLeft -= taken;
                    if (_bulkLeft == 0) outcome = EndBulk();
                    break;
                default:
                    outcome = TakeLine(rest, out taken);
                    break;
            }
            used += taken;
            _wireLength += taken;
        }
        return outcome;
    }

    /// <summary>Adds the complete request to a batch.</summary>
    public void MoveTo(RequestBatch batch)
    {
        batch.Add(_buffer, _slices, (int)Math.Min(_wireLength, int.MaxValue));
        if (_buffer.Length > 0) batch.Own(_buffer);
        _buffer = [];
        Reset();
    }

    /// <summary>Discards the request.</summary>
    public void Reset()
    {
        if (_buffer.Length > 0) RequestBuffers.Return(_buffer);
        _buffer = [];
        _slices.Clear();
        _step = Step.Start;
        _length = 0;
        _wireLength = 0;
        _argumentsLeft = 0;
        _bulkLeft = 0;
        StartHeader(Step.Start);
    }

    private void StartHeader(Step step)
    {
        _step = step;
        _headerLength = 0;
        _headerHasNul = false;
        _headerAtReturn = false;
    }

    /// <summary>
    /// Takes a header, which ends at a '\r' and the byte after it, as in Redis. A header with a zero byte never ends, because
    /// Redis searches for its end as in a C string.
    /// </summary>
    private bool TakeHeader(ReadOnlySpan<byte> input, out int taken, string tooBig, ref Outcome outcome)
    {
        if (_headerAtReturn)
        {
            taken = 1;
            return true;
        }
        int length = _headerHasNul ? -1 : input.IndexOfAny((byte)'\r', (byte)0);
        if (length >= 0 && input[length] == 0)
        {
            _headerHasNul = true;
            length = -1;
        }
        _headerAtReturn = length >= 0;
        taken = length >= 0 ? length + 1 : input.Length;
        ReadOnlySpan<byte> text = input[..(length >= 0 ? length : input.Length)];
        Span<byte> room = _header;
        if (_headerLength < room.Length)
        {
            room = room[_headerLength..];
            text[..Math.Min(text.Length, room.Length)].CopyTo(room);
        }
        _headerLength += text.Length;
        if (_headerLength > limits.MaxInlineLength) outcome = Fail(tooBig);
        return false;
    }

    private bool ReadHeaderNumber(out long value)
    {
        value = 0;
        ReadOnlySpan<byte> text = _header;
        return _headerLength <= text.Length && _headerLength > 0
            && RedisNumber.TryParseInt64(text[1.._headerLength], out value);
    }

    private Outcome ReadCount(bool restricted)
    {
        if (!ReadHeaderNumber(out long count) || count > RequestLimits.MaxArguments) return Fail("invalid multibulk length");
        if (restricted && count > RequestLimits.RestrictedArguments) return Fail("unauthenticated multibulk length");
        if (count <= 0) return Outcome.Empty;
        _argumentsLeft = (int)count;
        StartHeader(Step.BulkLength);
        return Outcome.More;
    }

    private Outcome ReadBulkLength(bool restricted)
    {
        ReadOnlySpan<byte> text = _header;
        byte first = _headerLength == 0 ? (byte)' ' : text[0];
        if (first != '$') return Fail("expected '$', got '", first == '\n' ? (byte)' ' : first);
        if (!ReadHeaderNumber(out long length) || length < 0 || length > limits.MaxBulkLength
            || length > RequestLimits.MaxRequestBytes - _length) return Fail("invalid bulk length");
        if (restricted && length > RequestLimits.RestrictedBulkLength) return Fail("unauthenticated bulk length");
        _bulkLength = (int)length;
        _bulkLeft = _bulkLength;
        _step = Step.Bulk;
        if (_bulkLength == 0) StartBulkEnd();
        else MakeRoom(Math.Min(_bulkLength, limits.TrustedLength));
        return Outcome.More;
    }

    private int TakeBulk(ReadOnlySpan<byte> input)
    {
        int taken = Math.Min(input.Length, _bulkLeft);
        if (_buffer.Length - _length < taken) Grow(taken);
        input[..taken].CopyTo(_buffer.AsSpan(_length));
        _length += taken;
        _bulkLeft -= taken;
        if (_bulkLeft == 0) StartBulkEnd();
        return taken;
    }

    private void StartBulkEnd()
    {
        _step = Step.BulkEnd;
        _bulkLeft = 2;
    }

    private Outcome EndBulk()
    {
        _slices.Add(new ArgSlice(_length - _bulkLength, _bulkLength));
        if (--_argumentsLeft == 0) return Outcome.Complete;
        StartHeader(Step.BulkLength);
        return Outcome.More;
    }

    private Outcome TakeLine(ReadOnlySpan<byte> input, out int taken)
    {
        int length = _headerHasNul ? -1 : input.IndexOfAny((byte)'\n', (byte)0);
        if (length >= 0 && input[length] == 0)
        {
            _headerHasNul = true;
            length = -1;
        }
        taken = length >= 0 ? length + 1 : input.Length;
        ReadOnlySpan<byte> text = input[..(length >= 0 ? length : input.Length)];
        if (_length + text.Length > limits.MaxInlineLength) return Fail("too big inline request");
        Append(text);
        if (length < 0) return Outcome.More;
        int end = _length > 0 && _buffer[_length - 1] == '\r' ? _length - 1 : _length;
        if (!InlineSplitter.Split(_buffer, 0, end, _slices)) return Fail("unbalanced quotes in request");
        return _slices.Count == 0 ? Outcome.Empty : Outcome.Complete;
    }

    private void Append(ReadOnlySpan<byte> bytes)
    {
        MakeRoom(bytes.Length);
        bytes.CopyTo(_buffer.AsSpan(_length));
        _length += bytes.Length;
    }

    /// <summary>Grows the buffer for the bulk string that arrives, but not beyond its end.</summary>
    private void Grow(int arrived) =>
        Resize(Math.Max((long)_length + arrived, Math.Min(Growth * (long)_buffer.Length, (long)_length + _bulkLeft)));

    private void MakeRoom(int more)
    {
        if (_buffer.Length - _length >= more) return;
        Resize(Math.Max((long)_length + more, Math.Min(2L * _buffer.Length, RequestLimits.MaxRequestBytes)));
    }

    private void Resize(long wanted)
    {
        byte[] bigger = RequestBuffers.Rent((int)wanted);
        _buffer.AsSpan(0, _length).CopyTo(bigger);
        if (_buffer.Length > 0) RequestBuffers.Return(_buffer);
        _buffer = bigger;
    }

    private Outcome Fail(string what)
    {
        Error = [.. "ERR Protocol error: "u8, .. System.Text.Encoding.ASCII.GetBytes(what)];
        return Outcome.Failed;
    }

    private Outcome Fail(string what, byte got)
    {
        Fail(what);
        Error = [.. Error, got, (byte)'\''];
        return Outcome.Failed;
    }
}
