using System.Text;
using RedisClone.Engine.Commands;

namespace RedisClone.Engine.Acl;

/// <summary>The part of a selector that rules modify, and the text of its rules.</summary>
internal sealed partial class Selector
{
    public void AllowAllKeys()
    {
        _allKeys = true;
        _patterns.Clear();
    }

    public void ResetKeys()
    {
        _allKeys = false;
        _patterns.Clear();
    }

    public void AllowAllChannels()
    {
        _allChannels = true;
        _channels.Clear();
    }

    public void ResetChannels()
    {
        _allChannels = false;
        _channels.Clear();
    }

    public void SetAllCommands(bool allowed)
    {
        Array.Fill(_commands, allowed ? ulong.MaxValue : 0);
        _allCommands = _startsFromAll = allowed;
        _commandRules.Clear();
        _firstArguments.Clear();
    }

    /// <summary>Adds a key pattern. Returns null, or the error.</summary>
    public string? AddKeys(string pattern, KeyAccess access)
    {
        if (_allKeys) return AccessRules.PatternAfterAllKeys;
        if (AccessText.HasBlanks(pattern)) return AccessRules.SyntaxError;
        int known = _patterns.FindIndex(p => p.Text == pattern);
        if (known < 0) _patterns.Add(new KeyPattern(pattern, AccessText.Bytes(pattern), access));
        else _patterns[known] = _patterns[known] with { Access = _patterns[known].Access | access };
        return null;
    }

    public string? AddChannels(string pattern)
    {
        if (_allChannels) return AccessRules.PatternAfterAllChannels;
        if (AccessText.HasBlanks(pattern)) return AccessRules.SyntaxError;
        if (!_channels.Exists(c => c.Text == pattern)) _channels.Add((pattern, AccessText.Bytes(pattern)));
        return null;
    }

    /// <summary>Allows or denies a command with its subcommands.</summary>
    public void SetCommand(CommandRow row, bool allowed)
    {
        SetBits(row, allowed);
        Remember(row.FullName, allowed);
    }

    public void AllowFirstArgument(CommandRow row, string word)
    {
        if (!_firstArguments.TryGetValue(row.Id, out List<string>? words)) _firstArguments[row.Id] = words = [];
        if (!words.Contains(word, StringComparer.OrdinalIgnoreCase)) words.Add(word);
        Remember($"{row.FullName}|{word.ToLowerInvariant()}", allowed: true);
    }

    /// <summary>Allows or denies all commands of a category (written with its @) and their subcommands.</summary>
    public void SetCategory(CommandTable table, string category, ulong mask, bool allowed)
    {
        foreach (CommandRow row in table.All)
            if ((row.CategoryMask & mask) != 0) SetBits(row, allowed);
        Remember(category, allowed);
    }

    private void SetBits(CommandRow row, bool allowed)
    {
        SetBit(row.Id, allowed);
        _firstArguments.Remove(row.Id);
        foreach (CommandRow sub in row.Subcommands) SetBit(sub.Id, allowed);
    }

    private void SetBit(int id, bool allowed)
    {
        ulong bit = 1UL << id;
        if (allowed)
        {
            _commands[id >> 6] |= bit;
            return;
        }
        _commands[id >> 6] &= ~bit;
        _allCommands = false;
    }

    /// <summary>Records a rule. It replaces earlier rules for the same command or category, and for its subcommands.</summary>
    private void Remember(string what, bool allowed)
    {
        _commandRules.RemoveAll(rule => rule.AsSpan(1) is var known
            && known.StartsWith(what, StringComparison.Ordinal) && (known.Length == what.Length || known[what.Length] == '|'));
        _commandRules.Add((allowed ? '+' : '-') + what);
    }

    public string DescribeCommands() => string.Join(' ', [_startsFromAll ? "+@all" : "-@all", .. _commandRules]);

    public string DescribeKeys() => _allKeys ? "~*" : string.Join(' ', _patterns.Select(Describe));

    /// <summary>No pattern may follow ~*.</summary>
    private string Describe(KeyPattern pattern) => pattern is { Text: "*", Access: KeyAccess.All } && _patterns.Count > 1 ? "%RW~*" : pattern.ToString();

    public string DescribeChannels() => _allChannels ? "&*" : string.Join(' ', _channels.Select(c => '&' + c.Text));

    public override string ToString()
    {
        var text = new StringBuilder();
        if (DescribeKeys() is { Length: > 0 } keys) text.Append(keys).Append(' ');
        if (!_allChannels) text.Append("resetchannels ");
        if (DescribeChannels() is { Length: > 0 } channels) text.Append(channels).Append(' ');
        return text.Append(DescribeCommands()).ToString();
    }
}
