using System.Text;
using RedisClone.Protocol;

namespace RedisClone.Server.Commands;

/// <summary>
/// The options of SORT: parsed in one place for the handler, for the shards that it needs and for the keys that access
/// control checks.
/// </summary>
internal struct SortOptions
{
    public bool Descending, Alphabetic, Unsorted;
    public long Offset, Limit;

    /// <summary>Arguments that are the pattern to sort by, and the key to store in; 0 for none.</summary>
    public int By, Target;

    /// <summary>Arguments that are patterns of what to return.</summary>
    public List<int>? Gets;

    /// <summary>A pattern has a star: it names keys that only the elements tell.</summary>
    public bool LooksUp;

    /// <summary>
    /// Reads all options; false with Redis's error at the first that is wrong, and what came before it is kept.
    /// </summary>
    /// <param name="request">The command.</param>
    /// <param name="mayStore">SORT may, SORT_RO may not.</param>
    /// <param name="mayReadAll">Whether the user may read every key, as patterns do.</param>
    /// <param name="options">What they say.</param>
    /// <param name="error">Null where all are right.</param>
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
    /// A pattern without a star is the same for all: nothing to sort by. It stays so whatever follows, as in Redis.
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
