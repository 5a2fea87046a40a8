namespace RedisClone.Compare.Load;

/// <summary>
/// Counts the complete top-level replies in a stream that may be split anywhere. It reads only lengths and counts. It skips bulk
/// strings, and stores nesting as the number of values that the current reply still needs.
/// </summary>
internal sealed class ReplyScanner
{
    private bool _inLine;
    private byte _type;
    private bool _negative;
    private long _number;
    private long _skip;
    private long _valuesLeft = 1;
    private string _errorText = "";

    public long Errors { get; private set; }

    /// <summary>The text of the first error reply, or empty.</summary>
    public string FirstError { get; private set; } = "";

    /// <summary>Reads the next bytes of the stream. Returns the number of replies that they complete.</summary>
    public int Scan(ReadOnlySpan<byte> data)
    {
        int complete = 0;
        int at = 0;
        while (at < data.Length)
        {
            if (_skip > 0)
            {
                int step = (int)Math.Min(_skip, data.Length - at);
                at += step;
                _skip -= step;
                if (_skip == 0)
                    complete += EndValue();
            }
            else if (!_inLine)
            {
                _type = data[at++];
                _inLine = true;
                _number = 0;
                _negative = false;
            }
            else if (_type is (byte)'$' or (byte)'*' or (byte)'%' or (byte)'~' or (byte)'>' or (byte)'=')
            {
                byte next = data[at++];
                if (next == '\n')
                    complete += EndHeader();
                else if (next == '-')
                    _negative = true;
                else if (next != '\r')
                    _number = _number * 10 + (next - '0');
            }
            else
            {
                int length = data[at..].IndexOf((byte)'\n');
                bool ends = length >= 0;
                if (_type == '-')
                    CollectError(data.Slice(at, ends ? length : data.Length - at), ends);
                at = ends ? at + length + 1 : data.Length;
                if (ends)
                {
                    _inLine = false;
                    complete += EndValue();
                }
            }
        }

        return complete;
    }

    private int EndHeader()
    {
        _inLine = false;
        if (_negative)
            return EndValue();
        if (_type is (byte)'$' or (byte)'=')
        {
            _skip = _number + 2;
            return 0;
        }

        _valuesLeft += _type == '%' ? 2 * _number : _number;
        return EndValue();
    }

    private int EndValue()
    {
        if (--_valuesLeft > 0)
            return 0;
        _valuesLeft = 1;
        return 1;
    }

    private void CollectError(ReadOnlySpan<byte> text, bool ends)
    {
        if (FirstError.Length == 0)
            _errorText += System.Text.Encoding.UTF8.GetString(text);
        if (!ends)
            return;
        Errors++;
        if (FirstError.Length == 0)
            FirstError = _errorText.Trim();
    }
}
