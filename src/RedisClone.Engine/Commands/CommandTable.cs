using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text;
using RedisClone.Protocol;

namespace RedisClone.Engine.Commands;

/// <summary>
/// All commands of one server by name. Each family of commands has its rows in the file with its handlers. The table has its own
/// copies of them.
/// </summary>
internal sealed class CommandTable
{
    private const int LongestName = 64;

    private readonly CommandRow?[] _slots;
    private readonly string[] _names;                   // the names of the slots' rows: their own, unless they were renamed
    private readonly int _mask;
    private bool _hasRenamed;
    private readonly Dictionary<string, CommandRow> _originals = new(StringComparer.OrdinalIgnoreCase);

    public CommandTable(IEnumerable<CommandRow> rows)
    {
        int count = 0;
        Rows = [.. rows.Select(row => row.ForTable(ref count))];
        All = [.. Rows.SelectMany(row => row.Subcommands.Prepend(row))];
        foreach (CommandRow row in All) _originals[row.FullName] = row;
        _slots = new CommandRow?[BitOperations.RoundUpToPowerOf2((uint)Rows.Length * 4)];
        _names = new string[_slots.Length];
        _mask = _slots.Length - 1;
        foreach (CommandRow row in Rows)
            if (!TryPlace(row.Name, row)) throw new InvalidOperationException($"two rows are called {row.Name}");
    }

    /// <summary>The top-level commands.</summary>
    public CommandRow[] Rows { get; }

    /// <summary>The top-level commands and subcommands, indexed by <see cref="CommandRow.Id"/>.</summary>
    public CommandRow[] All { get; }

    public CommandRow? Find(ReadOnlySpan<byte> name) => _slots[SlotOf(name)];

    /// <summary>
    /// Renames a command, or removes it if the new name is empty. It must run before the first client connects. Returns null, or
    /// the problem.
    /// </summary>
    public string? Rename(string name, string newName)
    {
        int at = SlotOf(Encoding.UTF8.GetBytes(name));
        if (_slots[at] is not { } row) return "No such command in rename-command";
        // The slot stays in use, because a probe for another name would otherwise end here. No command's name contains a blank.
        _names[at] = " ";
        _hasRenamed = true;
        return newName.Length == 0 || TryPlace(newName.ToLowerInvariant(), row) ? null : "Target command name already exists";
    }

    public static CommandRow? FindSubcommand(CommandRow container, ReadOnlySpan<byte> name)
    {
        foreach (CommandRow sub in container.Subcommands)
            if (Ascii.EqualsIgnoreCase(name, sub.Name)) return sub;
        return null;
    }

    /// <summary>
    /// The row of a request. For a container, it is the row of the subcommand, or of the container if there is no such
    /// subcommand.
    /// </summary>
    public CommandRow? Resolve(in Request request)
    {
        CommandRow? row = Find(request[0]);
        if (row is null || row.Subcommands.Length == 0 || request.Count < 2) return row;
        return FindSubcommand(row, request[1]) ?? row;
    }

    /// <summary>The row of a full name such as config|get.</summary>
    public CommandRow? FindFull(ReadOnlySpan<byte> fullName)
    {
        int bar = fullName.IndexOf((byte)'|');
        if (bar < 0) return Find(fullName);
        return Find(fullName[..bar]) is { } container ? FindSubcommand(container, fullName[(bar + 1)..]) : null;
    }

    /// <summary>
    /// The row of an original full name such as config|get. ACL rules use original names, so they apply after a renaming too.
    /// </summary>
    public CommandRow? FindOriginal(string fullName) => _originals.GetValueOrDefault(fullName);

    /// <summary>
    /// The name of a request's command in the journal and for replicas. A renamed command has its original name there, as the
    /// effects that the server makes do, so that the journal stays valid if the renaming changes.
    /// </summary>
    public ReadOnlySpan<byte> EffectName(CommandRow row, in Request request) => _hasRenamed ? row.EffectName : request[0];

    /// <summary>
    /// The row of a command in a journal. The original names come first. A client's name is accepted too, because earlier
    /// versions and redis-server write it.
    /// </summary>
    public CommandRow? FindEffect(ReadOnlySpan<byte> name)
    {
        if (!_hasRenamed || name.Length > LongestName) return Find(name);
        Span<char> text = stackalloc char[LongestName];
        int length = Encoding.Latin1.GetChars(name, text);
        return _originals.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(text[..length], out CommandRow? row) ? row : Find(name);
    }

    /// <summary>The slot of the name, or an empty slot.</summary>
    private int SlotOf(ReadOnlySpan<byte> name)
    {
        int at = Hash(name) & _mask;
        while (_slots[at] is not null && !Ascii.EqualsIgnoreCase(name, _names[at])) at = (at + 1) & _mask;
        return at;
    }

    private bool TryPlace(string name, CommandRow row)
    {
        int at = SlotOf(Encoding.UTF8.GetBytes(name));
        if (_slots[at] is not null) return false;
        _slots[at] = row;
        _names[at] = name;
        return true;
    }

    /// <summary>Sets bit 5 of every byte, so that the hash ignores letter case.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int Hash(ReadOnlySpan<byte> name)
    {
        ulong head, tail;
        if (name.Length >= 8)
        {
            head = BinaryPrimitives.ReadUInt64LittleEndian(name);
            tail = BinaryPrimitives.ReadUInt64LittleEndian(name[^8..]);
        }
        else if (name.Length >= 4)
        {
            head = BinaryPrimitives.ReadUInt32LittleEndian(name);
            tail = BinaryPrimitives.ReadUInt32LittleEndian(name[^4..]);
        }
        else
        {
            head = name.Length > 0 ? name[0] : 0u;
            tail = name.Length > 0 ? (uint)(name[^1] << 8 | name[name.Length >> 1]) : 0u;
        }
        const ulong lower = 0x2020202020202020;
        ulong mixed = ((head | lower) * 0x9E3779B97F4A7C15) ^ ((tail | lower) * 0xC2B2AE3D27D4EB4F) ^ (ulong)name.Length;
        return (int)(mixed >> 40);
    }
}
