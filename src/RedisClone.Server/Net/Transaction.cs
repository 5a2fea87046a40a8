using RedisClone.Protocol;
using RedisClone.Server.Commands;

namespace RedisClone.Server.Net;

/// <summary>The commands between MULTI and EXEC, all in one buffer, so that a million small ones cost little more than their bytes.</summary>
internal sealed class Transaction
{
    private byte[] _bytes = new byte[512];
    private ArgSlice[] _slices = new ArgSlice[16];
    private Queued[] _commands = new Queued[4];
    private int _length;
    private int _sliceCount;

    public int Count { get; private set; }

    /// <summary>A command was refused while queueing: EXEC will fail.</summary>
    public bool Aborted { get; set; }

    /// <summary>Why EXEC itself was refused, if it was.</summary>
    public string? Refusal { get; private set; }

    /// <summary>EXEC will fail, and say why.</summary>
    public void Abort(string refusal)
    {
        Aborted = true;
        Refusal = refusal;
    }

    /// <summary>The flags of all queued commands together.</summary>
    public CommandFlags Flags { get; private set; }

    /// <summary>Memory that it holds.</summary>
    public long HeldBytes => _bytes.Length + (long)_slices.Length * 8 + (long)_commands.Length * 24;

    public CommandRow RowOf(int index) => _commands[index].Row;

    public Request this[int index]
    {
        get
        {
            ref readonly Queued command = ref _commands[index];
            return new Request(_bytes.AsSpan(0, _length), _slices.AsSpan(command.FirstSlice, command.Arguments), command.WireLength);
        }
    }

    public void Add(CommandRow row, in Request request, CommandFlags flags)
    {
        Flags |= flags;
        Room(ref _commands, Count + 1);
        Room(ref _slices, _sliceCount + request.Count);
        _commands[Count++] = new Queued(row, _sliceCount, request.Count, request.WireLength);
        for (int i = 0; i < request.Count; i++)
        {
            ReadOnlySpan<byte> argument = request[i];
            Room(ref _bytes, _length + argument.Length);
            argument.CopyTo(_bytes.AsSpan(_length));
            _slices[_sliceCount++] = new ArgSlice(_length, argument.Length);
            _length += argument.Length;
        }
    }

    private static void Room<T>(ref T[] array, int needed)
    {
        if (array.Length < needed) Array.Resize(ref array, Math.Max(needed, (int)Math.Min((long)array.Length * 2, Array.MaxLength)));
    }

    private readonly record struct Queued(CommandRow Row, int FirstSlice, int Arguments, int WireLength);
}
