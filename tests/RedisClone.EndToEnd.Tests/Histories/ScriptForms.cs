using System.Security.Cryptography;
using System.Text;

namespace RedisClone.EndToEnd.Tests.Histories;

/// <summary>
/// Makes scripts of commands: on keys that they declare, which hold the shards of these keys, and on keys that they do not declare or
/// compute, which hold all shards; sent as a text, by digest, or as a function of a library.
/// </summary>
internal sealed class ScriptForms(Random random, string name)
{
    private readonly List<string[]> _loads = [];

    /// <summary>The requests that must come before the scripts.</summary>
    public IReadOnlyList<string[]> Loads => _loads;

    /// <summary>A script that runs commands and returns all replies.</summary>
    public string[] Of(string[][] commands) => Of(commands, "return {{{0}}}");

    /// <summary>A script that runs one command and returns its reply.</summary>
    public string[] OfOne(string[] command) => Of([command], "return {0}");

    private string[] Of(string[][] commands, string format)
    {
        bool declares = random.Next(4) > 0, computes = random.Next(4) == 0;
        string[] keys = declares ? [.. commands.SelectMany(Model.Keys).Distinct()] : [];
        var values = new List<string>();
        string calls = string.Join(", ", commands.Select(command => $"redis.call({string.Join(", ", command.Select(Expression))})"));
        string body = string.Format(System.Globalization.CultureInfo.InvariantCulture, format, calls);
        string[] arguments = [$"{keys.Length}", .. keys, .. values];
        switch (random.Next(3))
        {
            case 0:
                return ["EVAL", body, .. arguments];
            case 1:
                _loads.Add(["SCRIPT", "LOAD", body]);
#pragma warning disable CA5350 // The protocol names scripts by SHA-1.
                return ["EVALSHA", Convert.ToHexStringLower(SHA1.HashData(Encoding.ASCII.GetBytes(body))), .. arguments];
#pragma warning restore CA5350
            default:
                string function = $"{name}_{_loads.Count}";
                _loads.Add(["FUNCTION", "LOAD", "REPLACE", $"#!lua name={function}\nredis.register_function('{function}', function(KEYS, ARGV) {body} end)"]);
                return ["FCALL", function, .. arguments];
        }

        string Expression(string word, int position)
        {
            if (!declares || position == 0) return $"'{word}'";
            int key = Array.IndexOf(keys, word);
            if (key >= 0) return computes ? $"KEYS[{key + 1}] .. ''" : $"KEYS[{key + 1}]";
            values.Add(word);
            return $"ARGV[{values.Count}]";
        }
    }
}
