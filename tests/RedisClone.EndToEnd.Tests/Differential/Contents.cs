using System.Text;
using RedisClone.EndToEnd.Tests.Support;

namespace RedisClone.EndToEnd.Tests.Differential;

/// <summary>All contents of the databases of a server, as text.</summary>
internal static class Contents
{
    /// <summary>Returns one line for each key of all databases, sorted.</summary>
    public static string Of(RespClient client, bool withEncodings)
    {
        var lines = new List<string>();
        for (int db = 0; db < 16; db++)
        {
            client.Expect("+OK", "SELECT", $"{db}");
            for (string cursor = "0"; ;)
            {
                Reply page = client.Call("SCAN", cursor, "COUNT", "1000");
                foreach (Reply key in page[1].Items!) lines.Add($"{db} {Requests.Quote(key.Text!)} {Value(client, key.Text!, withEncodings)}");
                cursor = page[0].Text!;
                if (cursor == "0") break;
            }
        }
        return string.Join('\n', lines.Order(StringComparer.Ordinal).Distinct());
    }

    private static string Value(RespClient client, string key, bool withEncoding)
    {
        string type = client.Call("TYPE", key).Text!;
        string[] read = type switch
        {
            "string" => ["GET", key],
            "list" => ["LRANGE", key, "0", "-1"],
            "set" => ["SMEMBERS", key],
            "hash" => ["HGETALL", key],
            "zset" => ["ZRANGE", key, "0", "-1", "WITHSCORES"],
            "stream" => ["XRANGE", key, "-", "+"],
            _ => ["EXISTS", key],
        };
        Reply value = client.Call(read);
        bool expires = client.Call("PTTL", key).Integer >= 0;
        string encoding = withEncoding && type is "string" or "hash" ? client.Call("OBJECT", "ENCODING", key).ToString() : "";
        string text = type switch { "set" => value.Sorted(1), "hash" => value.Sorted(2), "zset" => Comparison.SortedSet(value), _ => value.ToString() };
        if (type == "stream") text += Groups(client, key);
        return $"{type} {encoding} {(expires ? "expires" : "stays")} {text}";
    }

    /// <summary>
    /// Returns the pending entries of a stream's groups with their consumers. It excludes the delivery times, which differ
    /// between servers.
    /// </summary>
    private static string Groups(RespClient client, string key)
    {
        var text = new StringBuilder();
        foreach (Reply group in client.Call("XINFO", "GROUPS", key).Items!)
        {
            Reply[] fields = group.Items!;
            string name = fields[1].Text!;
            text.Append(' ').Append(Comparison.GroupCounts().Replace(group.ToString(), "$1"));
            foreach (Reply pending in client.Call("XPENDING", key, name, "-", "+", "10000").Items!) text.Append($" {pending[0]} {pending[1]} {pending[3]}");
        }
        return text.ToString();
    }
}
