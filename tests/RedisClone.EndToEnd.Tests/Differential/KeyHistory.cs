using System.Text.RegularExpressions;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>The commands that have named a key since both servers were emptied, under this name or another name.</summary>
internal sealed class KeyHistory
{
    private readonly Dictionary<string, HashSet<string>> _commands = [];

    public void Note(string[] request)
    {
        string name = request[0].ToUpperInvariant();
        foreach (string word in request.Skip(1)) Of(word).Add(name);
        if (name is "RENAME" or "RENAMENX" or "COPY" && request.Length > 2) Of(request[2]).UnionWith(Of(request[1]));
    }

    /// <summary>Returns whether this command has named one of the keys of the request.</summary>
    public bool Knows(string command, string[] request) => request.Skip(1).Any(word => Of(word).Any(name => Regex.IsMatch(name, command)));

    public void Clear() => _commands.Clear();

    private HashSet<string> Of(string word)
    {
        if (!_commands.TryGetValue(word, out HashSet<string>? commands)) _commands[word] = commands = [];
        return commands;
    }
}
