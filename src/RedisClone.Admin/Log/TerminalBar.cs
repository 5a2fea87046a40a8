using System.Text;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Log;

/// <summary>The bytes that show a bar below the last line of a terminal, and remove it. A bar that is too long is cut by the terminal.</summary>
internal static class TerminalBar
{
    public static ReadOnlySpan<byte> Remove => "\r\e[K"u8;

    /// <summary>The bars of all works in one line; nothing for no work.</summary>
    public static byte[] Of(params ReadOnlySpan<LongWork> works)
    {
        if (works.IsEmpty) return [];
        var text = new StringBuilder("\e[?7l");     // no line break at the right edge
        for (int i = 0; i < works.Length; i++) text.Append(i > 0 ? "; " : "").Append(ProgressText.Bar(works[i]));
        return Encoding.UTF8.GetBytes(text.Append("\e[?7h").ToString());
    }
}
