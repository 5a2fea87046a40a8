using System.Globalization;
using System.Text;

namespace RedisClone.EndToEnd.Tests.Support;

/// <summary>
/// A reply: its type byte, the text of a scalar (one character per byte), the children of an aggregate (keys and values of a map
/// alternate). Two replies are equal if their <see cref="object.ToString"/> is equal.
/// </summary>
internal sealed record Reply(char Type, string? Text, Reply[]? Items = null)
{
    public bool IsError => Type is '-' or '!';

    public bool IsNil => Type == '_' || (Text is null && Items is null);

    public long Integer => long.Parse(Text!, CultureInfo.InvariantCulture);

    /// <summary>Returns the value of a number that is a string reply.</summary>
    public long Number() => long.Parse(Text!, CultureInfo.InvariantCulture);

    public Reply this[int index] => Items![index];

    /// <summary>
    /// Formats the reply with the type bytes of the protocol. Strings are quoted, unprintable characters are escaped.
    /// </summary>
    public override string ToString()
    {
        var into = new StringBuilder();
        Print(into);
        return into.ToString();
    }

    public string Sorted(int group) =>
        Items is null
            ? ToString()
            : $"{Type}[{string.Join(' ', Items.Chunk(group).Select(g => string.Join('=', g.AsEnumerable())).Order(StringComparer.Ordinal))}]";

    private void Print(StringBuilder into)
    {
        into.Append(Type);
        if (Items is not null)
        {
            into.Append('[');
            for (int i = 0; i < Items.Length; i++)
            {
                if (i > 0) into.Append(' ');
                Items[i].Print(into);
            }
            into.Append(']');
        }
        else if (Type is '$' or '=')
        {
            into.Append(Text is null ? "nil" : Requests.Quote(Text));
        }
        else
        {
            into.Append(Text ?? "nil");
        }
    }
}
