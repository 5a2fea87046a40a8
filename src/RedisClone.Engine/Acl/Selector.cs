using System.Text;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Engine.Acl;

/// <summary>The access that a pattern grants to the keys it matches.</summary>
[Flags]
internal enum KeyAccess
{
    None = 0,
    Read = 1,
    Write = 2,
    All = Read | Write,
}

internal readonly record struct KeyPattern(string Text, byte[] Bytes, KeyAccess Access)
{
    public override string ToString() => Access switch
    {
        KeyAccess.Read => "%R~",
        KeyAccess.Write => "%W~",
        _ => "~",
    } + Text;
}

/// <summary>
/// A set of commands, keys and channels. A command is allowed if one selector allows the command with all its keys and
/// channels. The commands are a bitmap, so a check reads one bit. A selector is modified only before it is published.
/// </summary>
internal sealed partial class Selector
{
    private readonly ulong[] _commands;
    private readonly Dictionary<int, List<string>> _firstArguments = [];
    private readonly List<KeyPattern> _patterns = [];
    private readonly List<(string Text, byte[] Bytes)> _channels = [];
    private readonly List<string> _commandRules = [];
    private bool _allKeys, _allChannels, _allCommands;
    private bool _startsFromAll; // +@all came after -@all: rules are listed as exceptions from all

    public Selector(CommandTable table, bool allChannels)
    {
        _commands = new ulong[(table.All.Length + 63) / 64];
        _allChannels = allChannels;
    }

    private Selector(Selector other)
    {
        _commands = [.. other._commands];
        foreach ((int row, List<string> words) in other._firstArguments) _firstArguments[row] = [.. words];
        _patterns.AddRange(other._patterns);
        _channels.AddRange(other._channels);
        _commandRules.AddRange(other._commandRules);
        (_allKeys, _allChannels, _allCommands, _startsFromAll) = (other._allKeys, other._allChannels, other._allCommands, other._startsFromAll);
    }

    /// <summary>Allows everything, so that no check is necessary.</summary>
    public bool IsUnrestricted => _allKeys && _allChannels && _allCommands;

    public bool AllChannels => _allChannels;

    public IEnumerable<byte[]> Channels => _channels.Select(c => c.Bytes);

    public Selector Clone() => new(this);

    public Denial Check(CommandRow row, in Request request)
    {
        if (!_allCommands && !row.Has(CommandFlags.NoAuth) && !Allows(row) && !AllowsFirstArgument(row, request)) return new Denial(DenialReason.Command);
        if (!_allKeys && row.Keys.Length > 0 && FindForeignKey(row, request) is var key and >= 0) return new Denial(DenialReason.Key, key);
        if (!_allChannels && row.Channels != ChannelUse.None && FindForeignChannel(row.Channels, request) is var channel and >= 0)
            return new Denial(DenialReason.Channel, channel);
        return default;
    }

    /// <summary>Whether any key may be read. SORT requires this when its patterns generate key names.</summary>
    public bool MayReadEveryKey => _allKeys || _patterns.Exists(p => p.Text == "*" && (p.Access & KeyAccess.Read) != 0);

    private bool Allows(CommandRow row) => (_commands[row.Id >> 6] >> row.Id & 1) != 0;

    /// <summary>Whether the command is allowed with this first argument, for rules such as +select|0.</summary>
    private bool AllowsFirstArgument(CommandRow row, in Request request)
    {
        int at = row.Parent is null ? 1 : 2;
        if (request.Count <= at || !_firstArguments.TryGetValue(row.Id, out List<string>? words)) return false;
        foreach (string word in words)
            if (Ascii.EqualsIgnoreCase(request[at], word)) return true;
        return false;
    }

    /// <summary>The index of the first key argument without the required permission, or -1.</summary>
    private int FindForeignKey(CommandRow row, in Request request)
    {
        var positions = new KeyPositions(stackalloc int[2 * Limits.StackKeys]);
        int found = -1;
        // Invalid arguments name no keys. The handler finds the same fault and replies with an error.
        if (row.CollectKeys(request, ref positions))
            for (int i = 0; i < positions.Count && found < 0; i++)
                if (!AllowsKey(request[positions[i]], AccessOf(row.FlagsOfKey(request, positions[i], positions.FlagsOf(i))))) found = positions[i];
        positions.Dispose();
        return found;
    }

    private static KeyAccess AccessOf(KeyFlags flags)
    {
        KeyAccess access = (flags & KeyFlags.Access) != 0 ? KeyAccess.Read : KeyAccess.None;
        return (flags & (KeyFlags.Insert | KeyFlags.Update | KeyFlags.Delete)) != 0 ? access | KeyAccess.Write : access;
    }

    private bool AllowsKey(ReadOnlySpan<byte> key, KeyAccess access)
    {
        foreach (KeyPattern pattern in _patterns)
            if ((pattern.Access & access) == access && Glob.Matches(pattern.Bytes, key)) return true;
        return false;
    }

    private int FindForeignChannel(ChannelUse use, in Request request)
    {
        int last = use == ChannelUse.First ? 1 : request.Count - 1;
        for (int i = 1; i <= last; i++)
            if (!AllowsChannel(Channels, request[i], use == ChannelUse.EachPattern)) return i;
        return -1;
    }

    /// <summary>
    /// A channel must match one of the allowed patterns. A pattern to subscribe to must be identical to one of them.
    /// </summary>
    public static bool AllowsChannel(IEnumerable<byte[]> allowed, ReadOnlySpan<byte> channel, bool isPattern)
    {
        foreach (byte[] pattern in allowed)
            if (isPattern ? channel.SequenceEqual(pattern) : Glob.Matches(pattern, channel)) return true;
        return false;
    }
}
