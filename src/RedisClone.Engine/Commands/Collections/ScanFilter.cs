using System.Text;
using RedisClone.Engine.Commands.Generic;
using RedisClone.Protocol;

namespace RedisClone.Engine.Commands.Collections;

/// <summary>The options MATCH, COUNT, TYPE and NOVALUES of the SCAN family.</summary>
internal readonly struct ScanFilter
{
    public const int DefaultCount = 10;

    /// <summary>The index of the pattern; 0 without a pattern.</summary>
    private int Pattern { get; init; }

    public long Count { get; private init; }

    public ValueType? Type { get; private init; }

    /// <summary>Whether TYPE is not a known type, so that nothing matches.</summary>
    public bool UnknownType { get; private init; }

    public bool NoValues { get; private init; }

    public bool Matches(scoped in Request request, scoped ReadOnlySpan<byte> text) => Pattern == 0 || Glob.Matches(request[Pattern], text);

    public static ScanFilter Parse(ref CommandContext c, int from, bool types = false, bool noValues = false)
    {
        long count = DefaultCount;
        int match = 0;
        ValueType? type = null;
        bool unknown = false, without = false;
        for (int i = from; i < c.Args.Count; i++)
        {
            bool more = i + 1 < c.Args.Count;
            if (more && c.Is(i, "COUNT"u8))
            {
                count = c.Int64(++i);
                if (!c.Failed && count < 1) c.FailSyntax();
            }
            else if (more && c.Is(i, "MATCH"u8))
            {
                match = ++i;
            }
            else if (more && types && c.Is(i, "TYPE"u8))
            {
                type = TypeNamed(c.Args[++i]);
                unknown = type is null;
            }
            else if (c.Is(i, "NOVALUES"u8))
            {
                without = true;
                if (!noValues) c.Fail("ERR NOVALUES option can only be used in HSCAN");
            }
            else
            {
                c.FailSyntax();
            }
            if (c.Failed) return default;
        }
        bool any = match == 0 || c.Args[match].SequenceEqual("*"u8);
        return new ScanFilter
        {
            Pattern = any ? 0 : match,
            Count = count,
            Type = type,
            UnknownType = unknown,
            NoValues = without,
        };
    }

    private static ValueType? TypeNamed(ReadOnlySpan<byte> name)
    {
        foreach (ValueType type in Enum.GetValues<ValueType>())
            if (Ascii.EqualsIgnoreCase(name, KeyCommands.TypeName(type))) return type;
        return null;
    }
}
