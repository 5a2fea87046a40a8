namespace RedisClone.Protocol;

/// <summary>
/// One request: the command's name and its arguments. A view only; it is valid as long as the batch or the owned request
/// that it comes from.
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

    /// <summary>The number of arguments, the command's name included: at least one.</summary>
    public int Count => _arguments.Length;

    public ReadOnlySpan<byte> this[int index]
    {
        get
        {
            ArgSlice slice = _arguments[index];
            return _buffer.Slice(slice.Offset, slice.Length);
        }
    }

    /// <summary>The request that begins with a later argument, such as the one that COMMAND GETKEYS is about.</summary>
    public Request From(int argument) => new(_buffer, _arguments[argument..], WireLength);

    /// <summary>How many bytes the request took on the wire.</summary>
    public int WireLength { get; }

    /// <summary>The bytes of all arguments together.</summary>
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
