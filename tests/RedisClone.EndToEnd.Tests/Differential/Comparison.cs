using System.Globalization;
using System.Text.RegularExpressions;
using RedisClone.EndToEnd.Tests.Support;
using RedisClone.EndToEnd.Tests.Table;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>
/// Converts two replies to the same request into a form in which they must be equal. Random parts (order, a random key), the
/// clock and the differences of <see cref="IntendedDifferences"/> are excluded.
/// </summary>
internal sealed partial class Comparison(IEnumerable<TableRow> rows)
{
    /// <summary>The two servers receive a request at slightly different times, on a busy machine.</summary>
    private const long ClockToleranceSeconds = 120;

    /// <summary>The decimals that are sure in a coordinate that has 17 of them.</summary>
    private const int CoordinateDecimals = 14;

    /// <summary>The commands whose replies have no order, in capitals.</summary>
    private readonly HashSet<string> _unordered =
        [.. rows.Where(row => row.Tips.Contains("nondeterministic_output_order")).Select(row => row.FullName.ToUpperInvariant())];

    public bool Same(string[] request, Reply ours, Reply theirs, KeyHistory before)
    {
        if (Form(request, ours) == Form(request, theirs)) return true;
        return SameTime(request, ours, theirs) || IntendedDifferences.Covers(request, ours, theirs, before);
    }

    /// <summary>Returns the members of a sorted set as a text. Equal sets have equal texts.</summary>
    public static string SortedSet(Reply members) => Scores("ZRANGE", members).ToString();

    private static bool SameTime(string[] request, Reply ours, Reply theirs)
    {
        long unit = request[0].ToUpperInvariant() switch
        {
            "TTL" or "EXPIRETIME" or "HTTL" or "HEXPIRETIME" => 1,
            "PTTL" or "PEXPIRETIME" or "HPTTL" or "HPEXPIRETIME" => 1000,
            _ => 0,
        };
        if (unit == 0) return false;
        if (ours.Items is not { } times || theirs.Items is not { } others) return SameTime(unit, ours, theirs);
        return times.Length == others.Length && times.Zip(others).All(
            pair => pair.First.ToString() == pair.Second.ToString() || SameTime(unit, pair.First, pair.Second));
    }

    private static bool SameTime(long unit, Reply ours, Reply theirs) =>
        ours.Type == ':' && theirs.Type == ':' && ours.Integer > 0 && theirs.Integer > 0
        && Math.Abs(ours.Integer - theirs.Integer) <= ClockToleranceSeconds * unit;

    private string Form(string[] request, Reply reply)
    {
        if (reply.IsError) return reply.ToString();
        string name = request[0].ToUpperInvariant();
        switch (name)
        {
            case "MEMORY" or "RANDOMKEY" when !reply.IsNil:
                return $"{reply.Type}";
            case "SPOP" or "SRANDMEMBER":
                return reply.Sorted(1);
            case "GEOSEARCH" or "GEORADIUS" or "GEORADIUS_RO" or "GEORADIUSBYMEMBER" or "GEORADIUSBYMEMBER_RO":
                return Numbers(reply, CoordinateDecimals).Sorted(1);
            case "GEOPOS":
                return Numbers(reply, CoordinateDecimals).ToString();
            case "HGETALL":
                return reply.Sorted(2);
            case "HRANDFIELD" or "ZRANDMEMBER":
                return Scores(name, reply).Sorted(request.Length == 4 && reply.Items is [{ Items: null }, ..] ? 2 : 1);
            case "SCAN" or "SSCAN":
                return reply[0] + reply[1].Sorted(1);
            case "HSCAN" or "ZSCAN":
                return reply[0] + Scores(name, reply[1]).Sorted(2);
            case "SORT" or "SORT_RO":
                return UpToZero(reply).ToString();
            case "XINFO" when reply.Items is not null:
                return GroupCounts().Replace(reply.ToString(), "$1");
            case var _ when _unordered.Contains(name) || (request.Length > 1 && _unordered.Contains($"{name}|{request[1].ToUpperInvariant()}")):
                return reply.Sorted(1);
            default:
                return Scores(name, reply).ToString();
        }
    }

    /// <summary>Redis collates up to the first zero byte. The order of texts that are equal up to this byte is random.</summary>
    private static Reply UpToZero(Reply reply) =>
        reply.Items is not null ? reply with { Items = [.. reply.Items.Select(UpToZero)] }
        : reply.Text is { } text && text.IndexOf('\0', StringComparison.Ordinal) is >= 0 and var end ? reply with { Text = text[..end] }
        : reply;

    /// <summary>
    /// From 7.2 on, a claim that finds nothing creates its consumer too. From 8.0 on, the count of entries read is limited and
    /// advances over deleted entries, and the lag counts the entries behind the group. The tests do not compare these numbers.
    /// </summary>
    [GeneratedRegex("""\$"(consumers|entries-read|lag)" [^\s\]]+""")]
    public static partial Regex GroupCounts();

    private static Reply Scores(string name, Reply reply) =>
        name[0] == 'Z' || name.StartsWith("BZ", StringComparison.Ordinal) ? Numbers(reply, decimals: null) : reply;

    /// <summary>
    /// Redis prints scores with 17 digits, and from 7.2 on with the fewest digits that identify the number. It prints coordinates
    /// with 17 decimals, and from 8.0 on as scores. The comparison uses numbers. A zero has no sign.
    /// </summary>
    private static Reply Numbers(Reply reply, int? decimals)
    {
        if (reply.Items is not null) return reply with { Items = [.. reply.Items.Select(item => Numbers(item, decimals))] };
        return reply is { Type: '$' or ',', Text: { } text }
            && double.TryParse(text, NumberStyles.Float, CultureInfo.InvariantCulture, out double score)
            ? reply with { Text = ((decimals is { } some ? Math.Round(score, some) : score) + 0.0).ToString("R", CultureInfo.InvariantCulture) }
            : reply;
    }
}
