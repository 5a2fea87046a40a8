namespace RedisClone.Protocol;

/// <summary>
/// One request: the name of the command and its arguments. A view that is valid as long as its batch or its owned request.
/// </summary>
public readonly ref struct Request
{
    private readonly ReadOnlySpan<byte> _buffer;
    private readonly ReadOnlySpan<ArgSlice> _arguments;

    public Request(ReadOnlySpan<byte> buffer, ReadOnlySpan<ArgSlice> arguments, int wireLength)
    {
        _buffer = buffer;
        _arguments = arguments;
        WireLength = wireLength;
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
}
