using System.Text;
using RedisClone.Configuration;
using RedisClone.Journal.Disk;

namespace RedisClone.Engine.Acl;

/// <summary>
/// The file named by aclfile: one user per line, in the format of ACL LIST. It is loaded completely or not at all.
/// </summary>
internal sealed class AclFile(AccessRules rules, string path, string shownName)
{
    private const int MaxBytes = 64 * 1024 * 1024;

    private readonly StringBuilder _errors = new();

    public Dictionary<string, Permissions> Users { get; } = new(StringComparer.Ordinal);

    /// <summary>Reads the file. Returns null, or all errors in the file.</summary>
    public string? Read()
    {
        string text;
        try
        {
            text = AccessText.Of(RealDisk.Instance.ReadAll(path, MaxBytes) ?? throw new IOException("File too large"));
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException)
        {
            return $"Error loading ACLs, opening file '{shownName}': {ConfigFiles.Reason(e)}";
        }
        int number = 0;
        foreach (string line in text.Split('\n')) ReadLine(line.Trim(' ', '\t', '\r'), ++number);
        if (_errors.Length == 0) return null;
        return ConfigText.FromLine(_errors.Append("WARNING: ACL errors detected, no change to the previously active ACL rules was performed").ToString());
    }

    private void ReadLine(string line, int number)
    {
        if (line.Length == 0) return;
        string[] words = line.Split(' ');
        if (words[0] != "user" || words.Length < 2)
        {
            _errors.Append($"{shownName}:{number} should start with user keyword followed by the username. ");
            return;
        }
        string name = words[1];
        if (AccessText.HasBlanks(name))
        {
            _errors.Append($"'{shownName}:{number}: username '{name}' contains invalid characters. ");
            return;
        }
        Permissions permissions = rules.NewUser();
        if (!Users.TryAdd(name, permissions))
        {
            _errors.Append($"WARNING: Duplicate user '{name}' found on line {number}. ");
            return;
        }
        if (AccessRules.Merge(words.Skip(2), out _) is { } merged) Apply(permissions, merged, number);
        else _errors.Append($"{shownName}:{number}: Unmatched parenthesis in selector definition.");
    }

    /// <summary>
    /// Applies the rules of a line and records the errors. A rule is quoted only if its error shows that it is a command or
    /// category: any other invalid rule may be a secret, and only the first such error of a line is recorded.
    /// </summary>
    private void Apply(Permissions permissions, List<string> merged, int number)
    {
        bool told = false;
        foreach (string rule in merged)
        {
            string trimmed = rule.Trim('\t', '\r');
            if (rules.Apply(permissions, trimmed) is not { } error) continue;
            if (error == AccessRules.UnknownCommand) _errors.Append($"{shownName}:{number}: Error in applying operation '{trimmed}': {error}. ");
            else if (!told) _errors.Append($"{shownName}:{number}: {error}. ");
            told |= error != AccessRules.UnknownCommand;
        }
    }

    /// <summary>Replaces the file. Returns null, or the reason for the failure.</summary>
    public static string? Write(string path, IEnumerable<string> lines) =>
        ReplacedFile.Write(path, () => AccessText.Bytes(string.Concat(lines.Select(line => line + '\n'))));
}
