using System.Text.RegularExpressions;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>Which commands have named a key since both servers were emptied, under another name too.</summary>
internal sealed class KeyHistory
{
    private readonly Dictionary<string, HashSet<string>> _commands = [];

    public void Note(string[] request)
    {
        string name = request[0].ToUpperInvariant();
        foreach (string word in request.Skip(1)) Of(word).Add(name);
        if (name is "RENAME" or "RENAMENX" or "COPY" && request.Length > 2) Of(request[2]).UnionWith(Of(request[1]));
    }

    /// <summary>Whether such a command named one of the request's keys.</summary>
    public bool Knows(string command, string[] request) => request.Skip(1).Any(word => Of(word).Any(name => Regex.IsMatch(name, command)));

    public void Clear() => _commands.Clear();

    private HashSet<string> Of(string word)
    {
        if (!_commands.TryGetValue(word, out HashSet<string>? commands)) _commands[word] = commands = [];
        return commands;
    }
}
