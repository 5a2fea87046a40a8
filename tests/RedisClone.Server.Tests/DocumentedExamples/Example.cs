using System.Text;
using System.Text.RegularExpressions;
using RedisClone.Protocol;

namespace RedisClone.Server.Tests.DocumentedExamples;

/// <summary>A command of an example and its documented reply.</summary>
/// <param name="Client">The number of the client. A client has its own connection.</param>
/// <param name="Words">The arguments. A step without arguments only reads a reply.</param>
/// <param name="Reply">The lines of the reply as redis-cli prints them; see <see cref="DocumentedReply"/>.</param>
/// <param name="Repeats">Whether the command is repeated until it has this reply.</param>
/// <param name="Blocks">Whether the reply does not come yet. A later step reads it.</param>
internal sealed record Step(int Client, string[] Words, string[] Reply, bool Repeats, bool Blocks);

/// <summary>
/// A session with redis-cli, from the documentation of Redis or derived from its text. The files *.txt contain them:
/// <code>
/// # title              begins an example; its server is new
/// ; text               a comment
/// > HLEN h             a command of the first client; its reply follows
/// 2> HLEN h            a command of the second client
/// ~> HLEN h            repeats the command until it has the reply
/// (blocks)             the reply comes later
/// 1&lt;                   reads a reply that comes later, or a message
/// </code>
/// </summary>
internal sealed partial record Example(string Title, IReadOnlyList<Step> Steps)
{
    private const string Blocked = "(blocks)";

    public static IEnumerable<Example> Read(string text)
    {
        foreach (string part in ("\n" + text).Split("\n# ").Skip(1))
        {
            string[] lines = [.. part.Split('\n').Where(line => line.Length > 0 && line[0] != ';')];
            yield return new Example(lines[0], [.. Parse(lines[1..])]);
        }
    }

    private static IEnumerable<Step> Parse(string[] lines)
    {
        for (int i = 0; i < lines.Length;)
        {
            Match prompt = Prompt().Match(lines[i]);
            if (!prompt.Success) throw new FormatException($"'{lines[i]}' follows no command");
            int end = ++i;
            while (end < lines.Length && !Prompt().IsMatch(lines[end])) end++;
            string[] reply = lines[i..end];
            i = end;
            int client = prompt.Groups["client"].Value is { Length: > 0 } number ? int.Parse(number) : 1;
            bool blocks = reply is [Blocked];
            yield return new Step(client, Words(prompt.Groups["words"].Value), blocks ? [] : reply, prompt.Groups["repeats"].Success, blocks);
        }
    }

    private static string[] Words(string line)
    {
        var words = InlineSplitter.Split(Encoding.Latin1.GetBytes(line)) ?? throw new FormatException($"the quotes of '{line}' are unbalanced");
        return [.. words.Select(Encoding.Latin1.GetString)];
    }

    [GeneratedRegex(@"^(?<client>\d?)(((?<repeats>~)?> (?<words>.*))|<)$")]
    private static partial Regex Prompt();
}
