using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedisClone.Compare.Load;

/// <summary>
/// Uses a server as a cache, as applications do: a batch of keys is asked for, and those that are missing are set.
/// </summary>
internal sealed class CacheClient : IDisposable
{
    private const int Batch = 50;

    private readonly TcpClient _client;
    private readonly BufferedStream _stream;
    private readonly string _value;
    private readonly byte[] _body;
    private readonly bool _expires;
    private readonly List<int> _missed = [];

    public CacheClient(int port, int valueBytes, bool expires)
    {
        _client = new TcpClient { NoDelay = true, ReceiveTimeout = 60_000 };
        _client.Connect(IPAddress.Loopback, port);
        _stream = new BufferedStream(_client.GetStream(), 64 * 1024);
        _value = new string('v', valueBytes);
        _body = new byte[valueBytes + 2];
        _expires = expires;
    }

    public long Asked { get; private set; }

    public long Hits { get; private set; }

    public void ResetCounts() => Asked = Hits = 0;

    /// <summary>So many lookups, and what they miss.</summary>
    public void Run(ZipfTrace trace, int lookups)
    {
        int[] keys = new int[Batch];
        for (int done = 0; done < lookups; done += Batch)
        {
            for (int i = 0; i < Batch; i++) keys[i] = trace.Next();
            Look(keys);
            SetMissed();
        }
    }

    public void Dispose()
    {
        _stream.Dispose();
        _client.Dispose();
    }

    private void Look(ReadOnlySpan<int> keys)
    {
        foreach (int key in keys) Send(["GET", Name(key)]);
        _stream.Flush();
        _missed.Clear();
        foreach (int key in keys)
        {
            Asked++;
            string line = ReadLine();
            if (line == "$-1")
            {
                _missed.Add(key);
                continue;
            }
            if (line != $"${_value.Length}") throw new LoadException(line);
            _stream.ReadExactly(_body);
            Hits++;
        }
    }

    /// <summary>Where keys expire, the most popular ones are not those that live longest.</summary>
    private void SetMissed()
    {
        foreach (int key in _missed)
        {
            if (_expires) Send(["SET", Name(key), _value, "EX", (10_000 + key % 10_000).ToString(CultureInfo.InvariantCulture)]);
            else Send(["SET", Name(key), _value]);
        }
        _stream.Flush();
        for (int i = 0; i < _missed.Count; i++)
            if (ReadLine() is var answer && answer != "+OK") throw new LoadException(answer);
    }

    private static string Name(int key) => string.Create(CultureInfo.InvariantCulture, $"key:{key:00000000}");

    private void Send(ReadOnlySpan<string> words)
    {
        _stream.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"*{words.Length}\r\n")));
        foreach (string word in words)
            _stream.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"${word.Length}\r\n{word}\r\n")));
    }

    private string ReadLine()
    {
        var line = new StringBuilder();
        for (int next = _stream.ReadByte(); next != '\n'; next = _stream.ReadByte())
        {
            if (next < 0) throw new IOException("the server closed the connection");
            if (next != '\r') line.Append((char)next);
        }
        return line.ToString();
    }
}
