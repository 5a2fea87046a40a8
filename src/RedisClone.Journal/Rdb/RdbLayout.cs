namespace RedisClone.Journal.Rdb;

/// <summary>
/// Measures a value without interpreting it, so that another thread can parse it. Only <see cref="RdbValueReader"/>
/// interprets and validates the parts.
/// </summary>
internal static class RdbLayout
{
    /// <summary>
    /// Measures a value that lies completely in the reader's buffer. Returns false for a value that is longer, damaged
    /// or of an unknown type. The caller then parses it in place, which reports the precise error.
    /// </summary>
    public static bool TryMeasure(RdbReader reader, RdbType type, out int length)
    {
        string layout = Of(type);
        length = 0;
        return layout.Length > 0
            && (IsAhead(reader, layout, out length) || reader.LookFurther() && IsAhead(reader, layout, out length));
    }

    /// <summary>
    /// Returns the parts of a value in order. 's' is a string, 'l' a length, 'd' a number as text and '8' is eight
    /// bytes. Parts in brackets follow a count and repeat that number of times.
    /// </summary>
    private static string Of(RdbType type) => type switch
    {
        RdbType.String or RdbType.HashZipmap or RdbType.ListZiplist or RdbType.SetIntset or RdbType.SortedSetZiplist
            or RdbType.HashZiplist or RdbType.HashListpack or RdbType.SortedSetListpack or RdbType.SetListpack
            or RdbType.HashListpackExpiringOld => "s",
        RdbType.HashListpackExpiring => "8s",
        RdbType.List or RdbType.Set or RdbType.ListQuicklistZiplists => "[s]",
        RdbType.ListQuicklist => "[ls]",
        RdbType.Hash => "[ss]",
        RdbType.HashMetadataOld => "[lss]",
        RdbType.HashMetadata => "8[lss]",
        RdbType.SortedSetText => "[sd]",
        RdbType.SortedSet => "[s8]",

        // Nodes; the length and the last ID, and more IDs and counters since Redis 7; groups with their pending entries
        // and consumers.
        RdbType.Stream => "[ss]lll[sll[888l][s8[88]]]",
        RdbType.Stream2 => "[ss]llllllll[slll[888l][s8[88]]]",
        RdbType.Stream3 => "[ss]llllllll[slll[888l][s88[88]]]",

        // Followed by the messages of idempotent producers.
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

    /// <summary>Returns the text between a bracket and its counterpart.</summary>
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
