namespace RedisClone.Protocol;

/// <summary>
/// One request: the name of the command and its arguments. A view that is valid as long as its batch or its owned request.
/// </summary>
public readonly ref struct Request
{
    private readonly ReadOnlySpan<byte> _buffer;
    private readonly ReadOnlySpan<ArgSlice> _arguments;
    private readonly bool _isOnWire;

    public Request(ReadOnlySpan<byte> buffer, ReadOnlySpan<ArgSlice> arguments, int wireLength)
        : this(buffer, arguments, wireLength, isOnWire: false)
    {
    }

    internal Request(ReadOnlySpan<byte> buffer, ReadOnlySpan<ArgSlice> arguments, int wireLength, bool isOnWire)
    {
        _buffer = buffer;
        _arguments = arguments;
        WireLength = wireLength;
        _isOnWire = isOnWire;
    }

    /// <summary>The number of arguments, including the name of the command: at least one.</summary>
    public int Count => _arguments.Length;

    public ReadOnlySpan<byte> this[int index]
    {
        get
        {
            ArgSlice slice = _arguments[index];
            return _buffer.Slice(slice.Offset, slice.Length);
        }
    }

    /// <summary>The request that begins at a later argument, such as the subject of COMMAND GETKEYS.</summary>
    public Request From(int argument) => new(_buffer, _arguments[argument..], WireLength);

    /// <summary>Bytes of the request on the wire.</summary>
    public int WireLength { get; }

    /// <summary>
    /// Copies the request in RESP, <see cref="WireLength"/> bytes, if the buffer has it as a whole with plain numbers. Returns
    /// false if it does not.
    /// </summary>
    public bool TryCopyWire(Span<byte> into)
    {
        if (!_isOnWire) return false;
        ArgSlice last = _arguments[^1];
        int start = last.Offset + last.Length + 2 - WireLength;
        _buffer.Slice(start, WireLength).CopyTo(into);
        // The parser does not check the line ends of the arguments, nor the second byte of those of the numbers.
        into[HeaderLength(Count) + 1] = (byte)'\n';
        foreach (ArgSlice slice in _arguments)
        {
            int at = slice.Offset - start;
            into[at - 1] = (byte)'\n';
            into[at + slice.Length] = (byte)'\r';
            into[at + slice.Length + 1] = (byte)'\n';
        }
        return true;
    }

    /// <summary>Bytes of all arguments together.</summary>
    public long ArgumentBytes
    {
        get
        {
            long sum = 0;
            foreach (ArgSlice slice in _arguments) sum += slice.Length;
            return sum;
        }
    }

    /// <summary>The length of a type and a number without its line end.</summary>
    private static int HeaderLength(int number)
    {
        int length = 2;
        for (; number > 9; number /= 10) length++;
        return length;
    }
}
