using System.Text;
using RedisClone.Engine.Clients;
using RedisClone.Engine.Effects;
using RedisClone.Engine.Shards;
using RedisClone.Protocol;

namespace RedisClone.Engine.Commands;

internal delegate void CommandHandler(ref CommandContext c);

/// <summary>Returns the shards of a command whose keys alone do not determine them.</summary>
internal delegate ShardSet ShardRoute(in Request request, Session session);

/// <summary>Whether an argument must be hidden in the slow log, MONITOR and the log.</summary>
internal delegate bool SecretArgument(in Request request, int index);

/// <summary>
/// Returns the flags of a request whose command alone does not determine them: EXEC has those of the queued commands, EVAL those
/// that its script declares.
/// </summary>
internal delegate CommandFlags RequestFlags(CommandRow row, in Request request, Session session);

/// <summary>Adds the present state of the data that a command changes to a lane's effects.</summary>
internal delegate void EffectImage(ServerCore server, Lane lane);

/// <summary>Adds the positions and flags of a request's keys. It parses the arguments as the handler does.</summary>
internal delegate void KeyFinder(in Request request, ref KeyPositions into);

/// <summary>Returns the flags of the key at a position if the arguments determine them.</summary>
internal delegate KeyFlags KeyFlagsOf(in Request request, int position);

/// <summary>
/// The complete description of a command. Lookup, arity, keys, routing, access control, journalling, COMMAND, statistics and the
/// generated tests all use it.
/// </summary>
internal sealed class CommandRow
{
    private readonly string _summary;
    private CommandRow[] _subcommands = [];

    /// <param name="usage">The name in capitals and the arguments as in a manual; see <see cref="CommandSyntax"/>.</param>
    /// <param name="arity">The exact number of arguments, including the name. A negative number is a minimum.</param>
    /// <param name="keys">The rules that find the keys.</param>
    /// <param name="flags">What the server must know before the command runs.</param>
    /// <param name="group">Redis's group: string, generic, hash, …; it also implies the ACL category.</param>
    /// <param name="since">The version of Redis that introduced the command.</param>
    /// <param name="handler">The function of the command; null for a container of subcommands.</param>
    /// <param name="summary">One line for COMMAND DOCS.</param>
    public CommandRow(
        string usage, int arity, KeySpec[] keys, CommandFlags flags, string group, string since, CommandHandler? handler, string summary = "")
    {
        int blank = usage.IndexOf(' ');
        Name = (blank < 0 ? usage : usage[..blank]).ToLowerInvariant();
        FullName = Name;
        Syntax = blank < 0 ? "" : usage[(blank + 1)..];
        Arity = arity;
        Keys = keys;
        Flags = flags;
        Group = group;
        Since = since;
        Handler = handler;
        _summary = summary;
        FirstKey = keys is [{ Keyword: null, Counted: false, IsUnknown: false } first, ..] ? first.Index : 0;
        NamesKeys = Array.Exists(keys, static spec => (spec.Flags & KeyFlags.NotKey) == 0);
        HasSingleKey = keys.Length == 1 && FirstKey > 0 && keys[0].Last == 0 && keys[0].Limit == 0;
    }

    /// <summary>The name in lower case, as error texts and COMMAND show it.</summary>
    public string Name { get; }

    /// <summary>The name; for a subcommand, with the name of its container: config|get.</summary>
    public string FullName { get; private set; }

    public int Arity { get; }

    public KeySpec[] Keys { get; }

    public CommandFlags Flags { get; }

    public string Group { get; }

    public string Since { get; }

    public string Summary => Lacks is { } missing ? $"{_summary} Not supported: {missing}." : _summary;

    public CommandHandler? Handler { get; }

    /// <summary>ACL categories, without the @, that neither the flags nor the group imply.</summary>
    public string[] Categories { get; init; } = [];

    public string Complexity { get; init; } = "O(1)";

    /// <summary>For a deprecated command: the version of the deprecation, and the replacement.</summary>
    public string? DeprecatedSince { get; init; }

    public string? ReplacedBy { get; init; }

    /// <summary>
    /// The missing part because of which the command always replies with an error; null for a command that works.
    /// </summary>
    public string? Lacks { get; init; }

    /// <summary>The tips of COMMAND INFO, such as nondeterministic_output.</summary>
    public string[] Tips { get; init; } = [];

    /// <summary>The shards that the command needs in addition to those of its keys, or instead of them.</summary>
    public ShardRoute? Route { get; init; }

    /// <summary>
    /// For a command that writes and names no keys: records the present state of the data that it may have changed after its
    /// handler has failed. Without it, such a failure ends the process.
    /// </summary>
    public EffectImage? Image { get; init; }

    public CommandRow[] Subcommands
    {
        get => _subcommands;
        init => _subcommands = value;
    }

    /// <summary>The arguments in the notation of manuals, without the name; for HELP and COMMAND DOCS.</summary>
    public string Syntax { get; }

    /// <summary>Null if no argument is secret.</summary>
    public SecretArgument? IsSecret { get; init; }

    /// <summary>
    /// Finds the keys of a command whose options name keys or stand before them. A keyword rule cannot distinguish an option
    /// from an equal value. It replaces the rules, which COMMAND INFO still shows.
    /// </summary>
    public KeyFinder? FindKeys { get; init; }

    /// <summary>For keys whose rule has <see cref="KeyFlags.VariableFlags"/>.</summary>
    public KeyFlagsOf? KeyFlagsOf { get; init; }

    /// <summary>For commands whose flags depend on the request.</summary>
    public RequestFlags? FlagsOf { get; init; }

    /// <summary>The index in per-command statistics.</summary>
    public int Id { get; private set; }

    public CommandRow? Parent { get; private set; }

    /// <summary>The first word of the command in the journal: its name, or the name of its container.</summary>
    public byte[] EffectName { get; private set; } = [];

    /// <summary>The arguments that are channels.</summary>
    public ChannelUse Channels { get; init; }

    /// <summary>The ACL categories, one bit for each.</summary>
    public ulong CategoryMask { get; private set; }

    /// <summary>The position of the first key if it is fixed; otherwise 0.</summary>
    public int FirstKey { get; }

    /// <summary>
    /// The position of the first argument that is a member or a field of the collection at the first key; otherwise 0. A batch
    /// fetches it into the cache ahead of its command. This saves sets a third of their time.
    /// </summary>
    public int FirstMember { get; init; }

    /// <summary>Whether the command has exactly one key at a fixed position, which the router handles fastest.</summary>
    public bool HasSingleKey { get; }

    /// <summary>Whether the rules find keys, and not only shard channels.</summary>
    public bool NamesKeys { get; }

    public bool IsWrite => (Flags & CommandFlags.Write) != 0;

    public bool Has(CommandFlags flag) => (Flags & flag) != 0;

    /// <summary>Whether the command never changes data or takes more memory, whatever its arguments are.</summary>
    public bool OnlyReads =>
        FlagsOf is null && (Flags & (CommandFlags.ReadOnly | CommandFlags.Write | CommandFlags.DenyOom)) == CommandFlags.ReadOnly;

    public CommandFlags FlagsFor(in Request request, Session session) => FlagsOf is null ? Flags : FlagsOf(this, request, session);

    public bool ArityFits(int arguments) => Arity >= 0 ? arguments == Arity : arguments >= -Arity;

    /// <summary>An argument as logs may show it.</summary>
    public ReadOnlySpan<byte> Show(in Request request, int argument)
    {
        if (IsSecret is not null && argument > (Parent is null ? 0 : 1) && IsSecret(request, argument)) return "(redacted)"u8;
        return request[argument];
    }

    /// <summary>Finds the keys of a request. Returns false if the arguments do not follow the rules.</summary>
    public bool CollectKeys(in Request request, ref KeyPositions into)
    {
        if (FindKeys is { } find)
        {
            find(request, ref into);
            return true;
        }
        foreach (KeySpec spec in Keys)
            if ((spec.Flags & KeyFlags.NotKey) == 0 && !spec.Collect(request, ref into)) return false;
        return true;
    }

    /// <summary>The hash of the first key; 0 if it has no fixed position.</summary>
    public ulong HashOfFirstKey(in Request request, ShardMap shards) => FirstKey > 0 && FirstKey < request.Count ? shards.HashOf(request[FirstKey]) : 0;

    /// <summary>The flags of the key at a position, given the flags of the rule that found it.</summary>
    public KeyFlags FlagsOfKey(in Request request, int position, KeyFlags flags) =>
        (flags & KeyFlags.VariableFlags) != 0 && KeyFlagsOf is { } decide ? decide(request, position) : flags;

    /// <summary>
    /// Returns a copy of this row and of its subcommands for one table. <paramref name="id"/> is the next free index.
    /// </summary>
    internal CommandRow ForTable(ref int id, CommandRow? parent = null)
    {
        var row = (CommandRow)MemberwiseClone();
        row.Id = id++;
        row.Parent = parent;
        row.EffectName = Encoding.ASCII.GetBytes((parent ?? row).Name);
        if (parent is not null) row.FullName = parent.Name + "|" + Name;
        row.CategoryMask = CommandCategories.MaskOf(row);
        row._subcommands = new CommandRow[_subcommands.Length];
        for (int i = 0; i < _subcommands.Length; i++) row._subcommands[i] = _subcommands[i].ForTable(ref id, row);
        return row;
    }
}
