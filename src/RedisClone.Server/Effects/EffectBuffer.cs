using System.Buffers.Text;
using System.Diagnostics;
using RedisClone.Protocol;

namespace RedisClone.Server;

/// <summary>
/// Where one thread writes down, in RESP, the effects of the command that it is running. One unit: all or nothing. Reused.
/// </summary>
public sealed class EffectBuffer
{
    private byte[] _bytes = new byte[4096];
    private int _length;
    private int _owed;               // arguments announced and not yet added

    /// <summary>Commands in the unit.</summary>
    public int Commands { get; private set; }

    /// <summary>The database of the unit's last command; a change of it within the unit is written as SELECT.</summary>
    public int Database { get; private set; } = -1;

    /// <summary>The database that the unit begins in.</summary>
    public int FirstDatabase { get; private set; }

    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(0, _length);

    public void Begin(int database, int arguments)
    {
        Debug.Assert(_owed == 0, "an effect has fewer arguments than announced");
        if (Commands == 0) FirstDatabase = database;
        else if (database != Database) Select(database);
        Database = database;
        Commands++;
        Header((byte)'*', arguments);
        _owed = arguments;
    }

    public void Add(scoped ReadOnlySpan<byte> argument)
    {
        Debug.Assert(_owed > 0, "an effect has more arguments than announced");
        _owed--;
        Header((byte)'$', argument.Length);
        Room(argument.Length + 2);
        argument.CopyTo(_bytes.AsSpan(_length));
        _length += argument.Length;
        _bytes[_length++] = (byte)'\r';
        _bytes[_length++] = (byte)'\n';
    }

    public void Add(long number)
    {
        Span<byte> text = stackalloc byte[RedisNumber.MaxInt64Length];
        Add(text[..RedisNumber.WriteInt64(number, text)]);
    }

    public void AddCommand(int database, in Request request)
    {
        Begin(database, request.Count);
        for (int i = 0; i < request.Count; i++) Add(request[i]);
    }

    /// <summary>A DEL of one key: what expiry and eviction become.</summary>
    public void AddDelete(int database, ReadOnlySpan<byte> key)
    {
        Begin(database, 2);
        Add("DEL"u8);
        Add(key);
    }

    public void Clear()
    {
        _length = 0;
        _owed = 0;
        Commands = 0;
        if (_bytes.Length > 1 << 20) _bytes = new byte[4096];
    }

    private void Select(int database)
    {
        Header((byte)'*', 2);
        _owed = 2;
        Add("SELECT"u8);
        Add(database);
    }

    private void Header(byte type, int number)
    {
        Room(16);
        _bytes[_length++] = type;
        Utf8Formatter.TryFormat(number, _bytes.AsSpan(_length), out int written);
        _length += written;
        _bytes[_length++] = (byte)'\r';
        _bytes[_length++] = (byte)'\n';
    }

    private void Room(int bytes)
    {
        if (_length + bytes > _bytes.Length) Array.Resize(ref _bytes, Math.Max(_bytes.Length * 2, _length + bytes));
    }
}
