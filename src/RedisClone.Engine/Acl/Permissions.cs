using System.Text;
using RedisClone.Engine.Commands;
using RedisClone.Protocol;

namespace RedisClone.Engine.Acl;

/// <summary>
/// The properties of a user except the name: whether and how a client can authenticate as the user, and the user's rules. An
/// object is modified only before it is published; a change of rules publishes a modified copy.
/// </summary>
internal sealed class Permissions
{
    private readonly List<Selector> _selectors;

    /// <summary>
    /// Creates a new user: disabled, without a password and without permissions, except access to all channels if the
    /// configuration grants it.
    /// </summary>
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

    /// <summary>Any password is accepted.</summary>
    public bool NoPassword { get; set; }

    /// <summary>Stored and shown only: the payload of RESTORE is always checked.</summary>
    public bool SkipsSanitizing { get; set; }

    /// <summary>The SHA-256 of each password.</summary>
    public List<string> Passwords { get; } = [];

    /// <summary>The selector for the user's own rules.</summary>
    public Selector Root => _selectors[0];

    /// <summary>The additional selectors. Each grants access independently of the others.</summary>
    public IEnumerable<Selector> Further => _selectors.Skip(1);

    public bool AllChannels => _selectors.Exists(s => s.AllChannels);

    public IEnumerable<byte[]> Channels => _selectors.SelectMany(s => s.Channels);

    /// <summary>True if no check is necessary. Computed once, when the permissions are complete.</summary>
    public bool IsUnrestricted { get; private set; }

    public Permissions Clone() => new(this);

    public void AddSelector(Selector selector) => _selectors.Add(selector);

    public void ClearSelectors() => _selectors.RemoveRange(1, _selectors.Count - 1);

    /// <summary>Ends the modification of this object and computes <see cref="IsUnrestricted"/>.</summary>
    public Permissions Complete()
    {
        IsUnrestricted = _selectors.Exists(s => s.IsUnrestricted);
        return this;
    }

    /// <summary>
    /// A command is allowed if one selector allows it. Otherwise, the most specific refusal of all selectors is returned.
    /// </summary>
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

    /// <summary>Whether a selector that allows the command permits reading any key.</summary>
    public bool MayReadEveryKey(CommandRow row, in Request request)
    {
        if (IsUnrestricted) return true;
        foreach (Selector selector in _selectors)
            if (selector.MayReadEveryKey && selector.Check(row, request).IsAllowed) return true;
        return false;
    }

    /// <summary>The flags in the order in which ACL GETUSER and ACL LIST show them.</summary>
    public IEnumerable<string> Flags()
    {
        yield return Enabled ? "on" : "off";
        if (NoPassword) yield return "nopass";
        yield return SkipsSanitizing ? "skip-sanitize-payload" : "sanitize-payload";
    }

    /// <summary>The rules that create these permissions, as an ACL file has them after the user's name.</summary>
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
