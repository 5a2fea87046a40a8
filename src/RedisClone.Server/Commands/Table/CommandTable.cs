using System.Buffers.Binary;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Text;
using RedisClone.Protocol;

namespace RedisClone.Server.Commands;

/// <summary>All commands by name. Each family of commands brings its rows from the file that holds its functions.</summary>
internal sealed class CommandTable
{
    private const int LongestName = 64;

    private readonly CommandRow?[] _slots;
    private readonly string[] _names;                   // under which the row in the slot is called; its own, unless it was renamed
    private readonly int _mask;
    private bool _hasRenamed;
    private readonly Dictionary<string, CommandRow> _originals = new(StringComparer.OrdinalIgnoreCase);

    public CommandTable(IEnumerable<CommandRow> rows)
    {
        Rows = [.. rows];
        var all = new List<CommandRow>();
        foreach (CommandRow row in Rows)
        {
            row.Register(all.Count, null);
            all.Add(row);
            foreach (CommandRow sub in row.Subcommands)
            {
                sub.Register(all.Count, row);
                all.Add(sub);
            }
        }
        All = [.. all];
        foreach (CommandRow row in All) _originals[row.FullName] = row;
        _slots = new CommandRow?[BitOperations.RoundUpToPowerOf2((uint)Rows.Length * 4)];
        _names = new string[_slots.Length];
        _mask = _slots.Length - 1;
        foreach (CommandRow row in Rows)
            if (!TryPlace(row.Name, row)) throw new InvalidOperationException($"two rows are called {row.Name}");
    }

    /// <summary>Top-level commands.</summary>
    public CommandRow[] Rows { get; }

    /// <summary>Top-level commands and subcommands, by <see cref="CommandRow.Id"/>.</summary>
    public CommandRow[] All { get; }

    public CommandRow? Find(ReadOnlySpan<byte> name) => _slots[SlotOf(name)];

    /// <summary>
    /// Gives a command another name, or with an empty one takes it away; before the first client. Null, or why it cannot be.
    /// </summary>
    public string? Rename(string name, string newName)
    {
        int at = SlotOf(Encoding.UTF8.GetBytes(name));
        if (_slots[at] is not { } row) return "No such command in rename-command";
        // The slot stays taken, or a probe for another name would end here; but nothing has a name with a blank.
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

    /// <summary>The row of a request: for a container the subcommand's, the container itself where none is named so.</summary>
    public CommandRow? Resolve(in Request request)
    {
        CommandRow? row = Find(request[0]);
        if (row is null || row.Subcommands.Length == 0 || request.Count < 2) return row;
        return FindSubcommand(row, request[1]) ?? row;
    }

    /// <summary>The row of a name such as config|get.</summary>
    public CommandRow? FindFull(ReadOnlySpan<byte> fullName)
    {
        int bar = fullName.IndexOf((byte)'|');
        if (bar < 0) return Find(fullName);
        return Find(fullName[..bar]) is { } container ? FindSubcommand(container, fullName[(bar + 1)..]) : null;
    }

    /// <summary>The row of a name such as config|get that it has from the start: rules for users hold whatever it is called now.</summary>
    public CommandRow? FindOriginal(string fullName) => _originals.GetValueOrDefault(fullName);

    /// <summary>
    /// What the journal and the replicas call the command of a request. A renamed command has the table's name there: the effects that
    /// the server makes have such names too, and the journal stays readable when the renaming changes.
    /// </summary>
    public ReadOnlySpan<byte> EffectName(CommandRow row, in Request request) => _hasRenamed ? row.EffectName : request[0];

    /// <summary>
    /// The row of a command in a journal. The table's names come first; a name of clients is accepted for journals of earlier versions
    /// and of redis-server, which write it.
    /// </summary>
    public CommandRow? FindEffect(ReadOnlySpan<byte> name)
    {
        if (!_hasRenamed || name.Length > LongestName) return Find(name);
        Span<char> text = stackalloc char[LongestName];
        int length = Encoding.Latin1.GetChars(name, text);
        return _originals.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(text[..length], out CommandRow? row) ? row : Find(name);
    }

    /// <summary>Where the name is, or an empty slot.</summary>
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

    /// <summary>Letters of either case hash alike: bit 5 is set in every byte.</summary>
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
