using System.Text;
using RedisClone.Protocol;

namespace RedisClone.Engine.Commands.Generic;

/// <summary>The options of SORT. The handler, the routing to shards and access control all use this parser.</summary>
internal struct SortOptions
{
    public bool Descending, Alphabetic, Unsorted;
    public long Offset, Limit;

    /// <summary>The indexes of the BY pattern and of the target key; 0 for an absent one.</summary>
    public int By, Target;

    /// <summary>The indexes of the GET patterns.</summary>
    public List<int>? Gets;

    /// <summary>Whether a pattern has a star, so that elements determine the keys that it reads.</summary>
    public bool LooksUp;

    /// <summary>
    /// Parses all options. At the first invalid one, it returns false with the error of Redis and keeps the options before
    /// it.
    /// </summary>
    /// <param name="request">The request.</param>
    /// <param name="mayStore">Whether STORE is an option: true for SORT, false for SORT_RO.</param>
    /// <param name="mayReadAll">Whether the user may read every key, which patterns require.</param>
    /// <param name="options">The parsed options.</param>
    /// <param name="error">The error; null if all options are valid.</param>
    public static bool TryParse(in Request request, bool mayStore, bool mayReadAll, out SortOptions options, out string? error)
    {
        options = new SortOptions { Limit = -1 };
        error = null;
        for (int i = 2; i < request.Count && error is null; i++)
        {
            int left = request.Count - i - 1;
            ReadOnlySpan<byte> word = request[i];
            if (Ascii.EqualsIgnoreCase(word, "ASC"u8)) options.Descending = false;
            else if (Ascii.EqualsIgnoreCase(word, "DESC"u8)) options.Descending = true;
            else if (Ascii.EqualsIgnoreCase(word, "ALPHA"u8)) options.Alphabetic = true;
            else if (left >= 2 && Ascii.EqualsIgnoreCase(word, "LIMIT"u8)) options.ReadLimit(request, ref i, ref error);
            else if (mayStore && left >= 1 && Ascii.EqualsIgnoreCase(word, "STORE"u8)) options.Target = ++i;
            else if (left >= 1 && Ascii.EqualsIgnoreCase(word, "BY"u8)) options.ReadBy(request, ++i, mayReadAll, ref error);
            else if (left >= 1 && Ascii.EqualsIgnoreCase(word, "GET"u8)) options.ReadGet(request, ++i, mayReadAll, ref error);
            else error = Errors.Syntax;
        }
        return error is null;
    }

    private void ReadLimit(in Request request, ref int i, ref string? error)
    {
        bool isRange = RedisNumber.TryParseInt64(request[i + 1], out Offset)
            && RedisNumber.TryParseInt64(request[i + 2], out Limit);
        if (!isRange) error = Errors.NotInteger;
        i += 2;
    }

    /// <summary>
    /// Reads the BY pattern. A pattern without a star turns off sorting. As in Redis, a later BY does not turn it on again.
    /// </summary>
    private void ReadBy(in Request request, int argument, bool mayReadAll, ref string? error)
    {
        By = argument;
        if (!request[argument].Contains((byte)'*'))
        {
            Unsorted = true;
            return;
        }
        LooksUp = true;
        if (!mayReadAll) error = "ERR BY option of SORT denied due to insufficient ACL permissions.";
    }

    private void ReadGet(in Request request, int argument, bool mayReadAll, ref string? error)
    {
        (Gets ??= []).Add(argument);
        LooksUp |= request[argument].Contains((byte)'*');
        if (!mayReadAll) error = "ERR GET option of SORT denied due to insufficient ACL permissions.";
    }
}
