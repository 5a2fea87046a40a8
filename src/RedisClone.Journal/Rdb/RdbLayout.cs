namespace RedisClone.Journal.Rdb;

/// <summary>
/// How long a value is, found without looking into it: so it can be handed to whoever reads it. What the parts mean, and whether they
/// are sound, only <see cref="RdbValueReader"/> knows.
/// </summary>
internal static class RdbLayout
{
    /// <summary>
    /// True for a value that lies whole in the reader's buffer. One that is longer, damaged or of an unknown type is to be read as it comes, which
    /// tells what is wrong with it.
    /// </summary>
    public static bool TryMeasure(RdbReader reader, RdbType type, out int length)
    {
        string layout = Of(type);
        length = 0;
        return layout.Length > 0 && (IsAhead(reader, layout, out length) || reader.LookFurther() && IsAhead(reader, layout, out length));
    }

    /// <summary>
    /// The parts in their order: s is a string, l a length, d a number as text, 8 that many bytes; what is in brackets comes behind a count, so
    /// many times.
    /// </summary>
    private static string Of(RdbType type) => type switch
    {
        RdbType.String or RdbType.HashZipmap or RdbType.ListZiplist or RdbType.SetIntset or RdbType.SortedSetZiplist or RdbType.HashZiplist
            or RdbType.HashListpack or RdbType.SortedSetListpack or RdbType.SetListpack or RdbType.HashListpackExpiringOld => "s",
        RdbType.HashListpackExpiring => "8s",
        RdbType.List or RdbType.Set or RdbType.ListQuicklistZiplists => "[s]",
        RdbType.ListQuicklist => "[ls]",
        RdbType.Hash => "[ss]",
        RdbType.HashMetadataOld => "[lss]",
        RdbType.HashMetadata => "8[lss]",
        RdbType.SortedSetText => "[sd]",
        RdbType.SortedSet => "[s8]",

        // Nodes; length and last ID, since Redis 7 more of the kind; groups with what they have pending, and their consumers.
        RdbType.Stream => "[ss]lll[sll[888l][s8[88]]]",
        RdbType.Stream2 => "[ss]llllllll[slll[888l][s8[88]]]",
        RdbType.Stream3 => "[ss]llllllll[slll[888l][s88[88]]]",

        // And what idempotent producers sent.
        RdbType.Stream4 => "[ss]llllllll[slll[888l][s88[88]]]ll[s[sll]]ll",
        RdbType.Stream5 => "[ss]llllllll[slll[888l][s88[88]][88]]ll[s[sll]]ll",
        _ => "",
    };

    private static bool IsAhead(RdbReader reader, string layout, out int length)
    {
        reader.BeginLook();
        bool isWhole = Over(reader, layout);
        length = reader.EndLook();
        return isWhole;
    }

    private static bool Over(RdbReader reader, ReadOnlySpan<char> layout)
    {
        for (int i = 0; i < layout.Length; i++)
        {
            bool isWhole = layout[i] switch
            {
                's' => reader.TrySkipString(),
                'l' => reader.TryLength(out _),
                'd' => reader.TryTextDouble(out _),
                '8' => reader.TryBytes(8, out _),
                _ => OverAll(reader, Within(layout[i..])),
            };
            if (!isWhole) return false;
            if (layout[i] == '[') i += Within(layout[i..]).Length + 1;
        }
        return true;
    }

    private static bool OverAll(RdbReader reader, ReadOnlySpan<char> parts)
    {
        if (!reader.TryCount(out long count)) return false;
        for (; count > 0; count--)
            if (!Over(reader, parts)) return false;
        return true;
    }

    /// <summary>What is between a bracket and its partner.</summary>
    private static ReadOnlySpan<char> Within(ReadOnlySpan<char> layout)
    {
        int depth = 0;
        for (int i = 0; ; i++)
        {
            if (layout[i] == '[') depth++;
            if (layout[i] == ']' && --depth == 0) return layout[1..i];
        }
    }
}
