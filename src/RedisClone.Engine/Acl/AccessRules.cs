using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Engine.Acl;

/// <summary>
/// Parses the rules of ACL SETUSER and applies them to permissions that are not published yet. A rule is a string with one char
/// per byte. Methods return null on success, or Redis's error text.
/// </summary>
internal sealed class AccessRules(CommandTable table)
{
    public const string SyntaxError = "Syntax error";
    public const string UnknownCommand = "Unknown command or category name in ACL";
    public const string PatternAfterAllKeys =
        "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. " +
        "Try 'resetkeys' to start with an empty list of patterns";
    public const string PatternAfterAllChannels =
        "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. " +
        "Try 'resetchannels' to start with an empty list of channels";

    private const string NoSuchPassword = "The password you are trying to remove from the user does not exist";
    private const string BadHash = "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters";
    private const string FirstArgumentOfSubcommand = "Allowing first-arg of a subcommand is not supported";

    /// <summary>Whether new users and selectors have access to all channels: acl-pubsub-default.</summary>
    public bool AllChannelsByDefault { get; set; }

    public CommandTable Table => table;

    public Permissions NewUser() => new(table, AllChannelsByDefault);

    /// <summary>Joins the words of selectors that were split at spaces, such as (+get and ~key).</summary>
    /// <param name="words">The rules as the client sent them.</param>
    /// <param name="unmatched">The beginning of the selector that has no closing parenthesis.</param>
    /// <returns>The rules, or null if a parenthesis is not closed.</returns>
    public static List<string>? Merge(IEnumerable<string> words, out string unmatched)
    {
        var rules = new List<string>();
        string? open = null;
        unmatched = "";
        foreach (string word in words)
        {
            if (open is not null)
            {
                open += ' ' + word;
                if (!word.EndsWith(')')) continue;
                rules.Add(open);
                open = null;
            }
            else if (word.StartsWith('(') && !word.EndsWith(')'))
            {
                open = unmatched = word;
            }
            else
            {
                rules.Add(word);
            }
        }
        return open is null ? rules : null;
    }

    public string? Apply(Permissions user, string rule)
    {
        if (rule.Length == 0) return null;
        if (rule[0] is '>' or '#' or '<' or '!') return ApplyPassword(user, rule);
        if (rule[0] == '(' && rule[^1] == ')') return AddSelector(user, rule[1..^1]);
        switch (rule.ToLowerInvariant())
        {
            case "on":
                user.Enabled = true;
                return null;
            case "off":
                user.Enabled = false;
                return null;
            case "skip-sanitize-payload":
                user.SkipsSanitizing = true;
                return null;
            case "sanitize-payload":
                user.SkipsSanitizing = false;
                return null;
            case "nopass":
                user.NoPassword = true;
                user.Passwords.Clear();
                return null;
            case "resetpass":
                user.NoPassword = false;
                user.Passwords.Clear();
                return null;
            case "clearselectors":
                user.ClearSelectors();
                return null;
            case "reset":
                Reset(user);
                return null;
            default:
                return Apply(user.Root, rule);
        }
    }

    private void Reset(Permissions user)
    {
        user.Enabled = user.NoPassword = user.SkipsSanitizing = false;
        user.Passwords.Clear();
        user.ClearSelectors();
        user.Root.ResetKeys();
        user.Root.ResetChannels();
        if (AllChannelsByDefault) user.Root.AllowAllChannels();
        user.Root.SetAllCommands(false);
    }

    private static string? ApplyPassword(Permissions user, string rule)
    {
        bool isHash = rule[0] is '#' or '!';
        if (isHash && !AccessText.IsHash(rule.AsSpan(1))) return BadHash;
        string hash = isHash ? rule[1..] : AccessText.HashOf(AccessText.Bytes(rule[1..]));
        if (rule[0] is '<' or '!') return user.Passwords.Remove(hash) ? null : NoSuchPassword;
        if (!user.Passwords.Contains(hash)) user.Passwords.Add(hash);
        user.NoPassword = false;
        return null;
    }

    private string? AddSelector(Permissions user, string rules)
    {
        if (InlineSplitter.Split(AccessText.Bytes(rules)) is not { } words) return SyntaxError;
        var selector = new Selector(table, AllChannelsByDefault);
        foreach (byte[] word in words)
        {
            // An ACL file would end the selector at the parenthesis, or find quotes in the word, and could not be loaded.
            if (word is [.., (byte)')'] || InlineSplitter.Split(word) is not [var same] || !same.AsSpan().SequenceEqual(word)) return SyntaxError;
            if (Apply(selector, AccessText.Of(word)) is { } error) return error;
        }
        user.AddSelector(selector);
        return null;
    }

    private string? Apply(Selector selector, string rule)
    {
        switch (rule.ToLowerInvariant())
        {
            case "allkeys" or "~*":
                selector.AllowAllKeys();
                return null;
            case "resetkeys":
                selector.ResetKeys();
                return null;
            case "allchannels" or "&*":
                selector.AllowAllChannels();
                return null;
            case "resetchannels":
                selector.ResetChannels();
                return null;
            case "allcommands" or "+@all":
                selector.SetAllCommands(true);
                return null;
            case "nocommands" or "-@all":
                selector.SetAllCommands(false);
                return null;
        }
        return rule switch
        {
            ['~', .. var pattern] => selector.AddKeys(pattern, KeyAccess.All),
            ['%', ..] => AddKeys(selector, rule),
            ['&', .. var pattern] => selector.AddChannels(pattern),
            ['+', '@', ..] => SetCategory(selector, rule[1..], allowed: true),
            ['-', '@', ..] => SetCategory(selector, rule[1..], allowed: false),
            ['+', .. var command] => Allow(selector, command),
            ['-', .. var command] => SetCommand(selector, command, allowed: false),
            _ => SyntaxError,
        };
    }

    /// <summary>Parses %R~, %W~ or %RW~. Each letter may occur once.</summary>
    private static string? AddKeys(Selector selector, string rule)
    {
        KeyAccess access = KeyAccess.None;
        int at = 1;
        for (; at < rule.Length && rule[at] != '~'; at++)
        {
            KeyAccess one = char.ToUpperInvariant(rule[at]) switch { 'R' => KeyAccess.Read, 'W' => KeyAccess.Write, _ => KeyAccess.None };
            if (one == KeyAccess.None || (access & one) != 0) return SyntaxError;
            access |= one;
        }
        return access == KeyAccess.None || at == rule.Length ? SyntaxError : selector.AddKeys(rule[(at + 1)..], access);
    }

    private string? SetCategory(Selector selector, string category, bool allowed)
    {
        ulong mask = CommandCategories.MaskOf(category.AsSpan(1));
        if (mask == 0) return UnknownCommand;
        selector.SetCategory(table, category.ToLowerInvariant(), mask, allowed);
        return null;
    }

    private string? SetCommand(Selector selector, string name, bool allowed)
    {
        if (table.FindOriginal(name) is not { } row) return UnknownCommand;
        selector.SetCommand(row, allowed);
        return null;
    }

    /// <summary>Allows a command, a subcommand, or a command with one specific first argument.</summary>
    private string? Allow(Selector selector, string name)
    {
        int bar = name.LastIndexOf('|');
        if (bar < 0) return SetCommand(selector, name, allowed: true);
        if (table.FindOriginal(name[..bar]) is not { } row) return UnknownCommand;
        if (row.Parent is not null) return FirstArgumentOfSubcommand;
        if (bar == name.Length - 1 || AccessText.HasBlanks(name)) return SyntaxError;
        if (row.Subcommands.Length > 0) return SetCommand(selector, name, allowed: true);
        selector.AllowFirstArgument(row, name[(bar + 1)..]);
        return null;
    }
}
