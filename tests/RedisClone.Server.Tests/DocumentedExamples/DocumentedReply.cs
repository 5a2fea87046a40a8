using System.Globalization;
using System.Text.RegularExpressions;

namespace RedisClone.Server.Tests.DocumentedExamples;

/// <summary>
/// Compares a reply with its documentation. In the documentation, &lt;1..300&gt; stands for an integer of this range, &lt;any&gt;
/// for any text within a line, ... alone on a line for any further lines, and (in any order) before the other lines says that
/// the items of the array have no order.
/// </summary>
internal static partial class DocumentedReply
{
    private const string AnyLines = "...", AnyOrder = "(in any order)";

    public static bool Fits(string[] documented, string[] reply)
    {
        if (documented is [AnyOrder, .. var items]) return Fits(Unordered(items), Unordered(reply));
        for (int i = 0; i < documented.Length; i++)
        {
            if (documented[i] == AnyLines) return true;
            if (i == reply.Length || !Fits(documented[i], reply[i])) return false;
        }
        return documented.Length == reply.Length;
    }

    private static bool Fits(string documented, string line)
    {
        if (!documented.Contains('<')) return documented == line;
        MatchCollection ranges = Range().Matches(documented);
        string pattern = Regex.Escape(Range().Replace(documented, "<range>")).Replace("<range>", "([0-9]+)").Replace("<any>", ".*");
        Match match = Regex.Match(line, $"^{pattern}$");
        return match.Success && ranges.Index().All(range =>
            long.Parse(match.Groups[range.Index + 1].Value, CultureInfo.InvariantCulture) is var value
            && value >= Bound(range.Item, 1) && value <= Bound(range.Item, 2));
    }

    private static long Bound(Match range, int group) => long.Parse(range.Groups[group].Value, CultureInfo.InvariantCulture);

    private static string[] Unordered(string[] lines) => [.. lines.Select(line => Number().Replace(line, "")).Order(StringComparer.Ordinal)];

    [GeneratedRegex("<([0-9]+)\\.\\.([0-9]+)>")]
    private static partial Regex Range();

    [GeneratedRegex("^ *[0-9]+[)~] ")]
    private static partial Regex Number();
}
