using System.Text;
using RedisClone.Protocol;
using RedisClone.Server.Commands;

namespace RedisClone.Server.Acl;

/// <summary>
/// All that is known of a user but the name: whether and how it may log in, and what it may do then. Changed only before it is
/// published: a change of rules makes another one.
/// </summary>
internal sealed class Permissions
{
    private readonly List<Selector> _selectors;

    /// <summary>A new user: off, without a password, allowed nothing (but all channels, if the configuration says so).</summary>
    public Permissions(CommandTable table, bool allChannels) => _selectors = [new Selector(table, allChannels)];

    private Permissions(Permissions other)
    {
        Enabled = other.Enabled;
        NoPassword = other.NoPassword;
        SkipsSanitizing = other.SkipsSanitizing;
        Passwords.AddRange(other.Passwords);
        _selectors = other._selectors.ConvertAll(s => s.Clone());
    }

    public bool Enabled { get; set; }

    /// <summary>Any password will do.</summary>
    public bool NoPassword { get; set; }

    /// <summary>Kept and told; what RESTORE takes is always checked here.</summary>
    public bool SkipsSanitizing { get; set; }

    /// <summary>SHA-256 of each.</summary>
    public List<string> Passwords { get; } = [];

    /// <summary>What the user's own rules allow.</summary>
    public Selector Root => _selectors[0];

    /// <summary>What else is allowed, each by itself.</summary>
    public IEnumerable<Selector> Further => _selectors.Skip(1);

    public bool AllChannels => _selectors.Exists(s => s.AllChannels);

    public IEnumerable<byte[]> Channels => _selectors.SelectMany(s => s.Channels);

    /// <summary>Nothing needs to be checked; decided once, when the permissions are complete.</summary>
    public bool IsUnrestricted { get; private set; }

    public Permissions Clone() => new(this);

    public void AddSelector(Selector selector) => _selectors.Add(selector);

    public void ClearSelectors() => _selectors.RemoveRange(1, _selectors.Count - 1);

    /// <summary>No more changes from here on.</summary>
    public Permissions Complete()
    {
        IsUnrestricted = _selectors.Exists(s => s.IsUnrestricted);
        return this;
    }

    /// <summary>Allowed if one selector allows it. Otherwise the refusal that got furthest, since it says most.</summary>
    public Denial Check(CommandRow row, in Request request)
    {
        var furthest = new Denial(DenialReason.Command);
        foreach (Selector selector in _selectors)
        {
            Denial denial = selector.Check(row, request);
            if (denial.IsAllowed) return denial;
            if (denial.Reason > furthest.Reason || denial.Reason == furthest.Reason && denial.Argument > furthest.Argument) furthest = denial;
        }
        return furthest;
    }

    /// <summary>Whether a selector that allows the command lets any key be read.</summary>
    public bool MayReadEveryKey(CommandRow row, in Request request)
    {
        if (IsUnrestricted) return true;
        foreach (Selector selector in _selectors)
            if (selector.MayReadEveryKey && selector.Check(row, request).IsAllowed) return true;
        return false;
    }

    /// <summary>The words of its flags, in the order in which they are shown.</summary>
    public IEnumerable<string> Flags()
    {
        yield return Enabled ? "on" : "off";
        if (NoPassword) yield return "nopass";
        yield return SkipsSanitizing ? "skip-sanitize-payload" : "sanitize-payload";
    }

    /// <summary>The rules that make the same again, as files have them behind the user's name.</summary>
    public override string ToString()
    {
        var text = new StringBuilder();
        foreach (string flag in Flags()) text.Append(flag).Append(' ');
        foreach (string hash in Passwords) text.Append('#').Append(hash).Append(' ');
        text.Append(Root);
        foreach (Selector selector in Further) text.Append(" (").Append(selector).Append(')');
        return text.ToString();
    }
}
