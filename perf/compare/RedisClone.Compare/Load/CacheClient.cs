using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace RedisClone.Compare.Load;

/// <summary>
/// Uses a server as a cache, as applications do: it gets a batch of keys and sets the missing keys.
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

    public long LookupCount { get; private set; }

    public long HitCount { get; private set; }

    public void ResetCounts() => LookupCount = HitCount = 0;

    /// <summary>Performs lookups, and sets the keys that they miss.</summary>
    public void Run(ZipfTrace trace, int lookups)
    {
        int[] keys = new int[Batch];
        for (int done = 0; done < lookups; done += Batch)
        {
            for (int i = 0; i < Batch; i++) keys[i] = trace.Next();
            LookUp(keys);
            SetMissed();
        }
    }

    public void Dispose()
    {
        _stream.Dispose();
        _client.Dispose();
    }

    private void LookUp(ReadOnlySpan<int> keys)
    {
        foreach (int key in keys) Send(["GET", Name(key)]);
        _stream.Flush();
        _missed.Clear();
        foreach (int key in keys)
        {
            LookupCount++;
            string line = ReadLine();
            if (line == "$-1")
            {
                _missed.Add(key);
                continue;
            }
            if (line != $"${_value.Length}") throw new LoadException(line);
            _stream.ReadExactly(_body);
            HitCount++;
        }
    }

    /// <summary>Sets the missing keys. The lifetime of a key does not depend on its popularity.</summary>
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
