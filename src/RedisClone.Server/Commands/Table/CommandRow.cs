using System.Text;
using RedisClone.Protocol;
using RedisClone.Server.Net;
using RedisClone.Server.Shards;
using RedisClone.Storage.Memory;

namespace RedisClone.Server.Commands;

internal delegate void CommandHandler(ref CommandContext c);

/// <summary>Names the shards that a command needs where its keys alone do not tell.</summary>
internal delegate ShardSet ShardRoute(in Request request, Session session);

/// <summary>Whether an argument must not be shown by the slow log, MONITOR and the log.</summary>
internal delegate bool SecretArgument(in Request request, int index);

/// <summary>What a request does, where its command alone does not tell: an EXEC does what was queued, an EVAL what its script declares.</summary>
internal delegate CommandFlags RequestFlags(CommandRow row, in Request request, Session session);

/// <summary>Adds to a lane's effects the present state of what a command changes.</summary>
internal delegate void EffectImage(ServerCore server, Lane lane);

/// <summary>Adds the positions of a request's keys, with their flags, by the parse that the handler uses.</summary>
internal delegate void KeyFinder(in Request request, ref KeyPositions into);

/// <summary>The flags of the key at a position where the arguments decide them.</summary>
internal delegate KeyFlags KeyFlagsOf(in Request request, int position);

/// <summary>
/// Everything about a command in one place: lookup, arity, keys, routing, access control, journalling, COMMAND, statistics and the
/// generated tests all read it from here.
/// </summary>
internal sealed class CommandRow
{
    private readonly string _summary;

    /// <param name="usage">The name in capitals, and the arguments as a manual writes them; see <see cref="CommandSyntax"/>.</param>
    /// <param name="arity">Exact number of arguments, the name included; negative for at least so many.</param>
    /// <param name="keys">Where the keys are.</param>
    /// <param name="flags">What the server must know before it runs it.</param>
    /// <param name="group">Redis's group: string, generic, hash, …; also the ACL category.</param>
    /// <param name="since">The Redis version that brought it.</param>
    /// <param name="handler">What it does. A container of subcommands has none.</param>
    /// <param name="summary">One line of our own words for COMMAND DOCS.</param>
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
        HasSingleKey = keys.Length == 1 && FirstKey > 0 && keys[0].Last == 0 && keys[0].Limit == 0;
    }

    /// <summary>In lower case, as error texts and COMMAND show it.</summary>
    public string Name { get; }

    /// <summary>The name, for a subcommand with its container's: config|get.</summary>
    public string FullName { get; private set; }

    public int Arity { get; }

    public KeySpec[] Keys { get; }

    public CommandFlags Flags { get; }

    public string Group { get; }

    public string Since { get; }

    public string Summary => Lacks is { } missing ? $"{_summary} Not supported: {missing}." : _summary;

    public CommandHandler? Handler { get; }

    /// <summary>Further ACL categories that neither the flags nor the group imply, without the @.</summary>
    public string[] Categories { get; init; } = [];

    public string Complexity { get; init; } = "O(1)";

    /// <summary>For a deprecated command: since when, and what to use.</summary>
    public string? DeprecatedSince { get; init; }

    public string? ReplacedBy { get; init; }

    /// <summary>What this server lacks for the command, which therefore answers with an error; null for all that work.</summary>
    public string? Lacks { get; init; }

    /// <summary>COMMAND TIPS such as nondeterministic_output.</summary>
    public string[] Tips { get; init; } = [];

    /// <summary>Shards needed beyond or instead of those of the keys.</summary>
    public ShardRoute? Route { get; init; }

    /// <summary>
    /// For a command that writes and names no keys: writes down what it may have changed as that is now, when its handler has failed. Without it, such a
    /// failure ends the process.
    /// </summary>
    public EffectImage? Image { get; init; }

    public CommandRow[] Subcommands { get; init; } = [];

    /// <summary>The arguments as a manual writes them, behind the name; for HELP and COMMAND DOCS.</summary>
    public string Syntax { get; }

    /// <summary>Null where no argument is secret.</summary>
    public SecretArgument? IsSecret { get; init; }

    /// <summary>
    /// For commands with options that name keys or stand before them: a rule searches a word and cannot tell an option from a
    /// value that reads the same. It takes the place of the rules, which COMMAND INFO still shows.
    /// </summary>
    public KeyFinder? FindKeys { get; init; }

    /// <summary>For keys whose rule has <see cref="KeyFlags.VariableFlags"/>.</summary>
    public KeyFlagsOf? KeyFlagsOf { get; init; }

    /// <summary>For commands of which each request has flags of its own.</summary>
    public RequestFlags? FlagsOf { get; init; }

    /// <summary>Dense number, the index of per-command statistics; set by the table.</summary>
    public int Id { get; private set; }

    public CommandRow? Parent { get; private set; }

    /// <summary>The first word of the command in the journal: the name, for a subcommand its container's.</summary>
    public byte[] EffectName { get; private set; } = [];

    /// <summary>Which of its arguments are channels.</summary>
    public ChannelUse Channels { get; init; }

    /// <summary>A bit for each of its ACL categories.</summary>
    public ulong CategoryMask { get; private set; }

    /// <summary>Position of the first key where the arguments do not decide it, else 0.</summary>
    public int FirstKey { get; }

    /// <summary>
    /// Position of the first argument that names a member or a field of the collection at the first key, else 0. A batch fetches it into
    /// the cache ahead of its command, which is worth a third of the speed of sets.
    /// </summary>
    public int FirstMember { get; init; }

    /// <summary>Exactly one key, at a fixed position: the fast way through the router.</summary>
    public bool HasSingleKey { get; }

    public bool IsWrite => (Flags & CommandFlags.Write) != 0;

    public bool Has(CommandFlags flag) => (Flags & flag) != 0;

    public CommandFlags FlagsFor(in Request request, Session session) => FlagsOf is null ? Flags : FlagsOf(this, request, session);

    public bool ArityFits(int arguments) => Arity >= 0 ? arguments == Arity : arguments >= -Arity;

    /// <summary>An argument as logs may show it.</summary>
    public ReadOnlySpan<byte> Show(in Request request, int argument)
    {
        if (IsSecret is not null && argument > (Parent is null ? 0 : 1) && IsSecret(request, argument)) return "(redacted)"u8;
        return request[argument];
    }

    /// <summary>Finds the keys of a request; false when its arguments do not follow the rules.</summary>
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

    /// <summary>The hash of the first key; 0 where there is none at a fixed position.</summary>
    public ulong HashOfFirstKey(in Request request) => FirstKey > 0 && FirstKey < request.Count ? KeyHash.Of(request[FirstKey]) : 0;

    /// <summary>What the command does with the key at a position, given the flags of the rule that found it.</summary>
    public KeyFlags FlagsOfKey(in Request request, int position, KeyFlags flags) =>
        (flags & KeyFlags.VariableFlags) != 0 && KeyFlagsOf is { } decide ? decide(request, position) : flags;

    internal void Register(int id, CommandRow? parent)
    {
        Id = id;
        Parent = parent;
        EffectName = Encoding.ASCII.GetBytes((parent ?? this).Name);
        if (parent is not null) FullName = parent.Name + "|" + Name;
        CategoryMask = CommandCategories.MaskOf(this);
    }
}
