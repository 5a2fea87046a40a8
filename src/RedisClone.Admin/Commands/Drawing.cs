using System.Text;

namespace RedisClone.Admin.Commands;

/// <summary>
/// Draws the picture of LOLWUT: a one-dimensional cellular automaton, with two generations in each line of half blocks. The
/// version that the client asks for is the rule. Without a version, the rule depends on the day.
/// </summary>
internal static class Drawing
{
    private const int Width = 79;
    private const int Generations = 40;

    /// <summary>Rules with an interesting picture.</summary>
    private static readonly byte[] Rules = [90, 30, 110, 150, 182, 54, 60, 105, 22, 126];

    public static string Draw(long version)
    {
        byte rule = version is > 0 and <= byte.MaxValue ? (byte)version : Rules[DateTime.UtcNow.DayOfYear % Rules.Length];
        bool[] cells = new bool[Width];
        cells[Width / 2] = true;
        var text = new StringBuilder();
        for (int generation = 0; generation < Generations; generation += 2)
        {
            bool[] below = Next(cells, rule);
            for (int i = 0; i < Width; i++)
                text.Append((cells[i], below[i]) switch
                {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    _ => ' '
                });
            text.Append('\n');
            cells = Next(below, rule);
        }
        return text.ToString();
    }

    /// <summary>
    /// Computes the next generation. A cell and its neighbors form a three-bit number, which selects a bit of the rule.
    /// </summary>
    private static bool[] Next(bool[] cells, byte rule)
    {
        bool[] next = new bool[cells.Length];
        for (int i = 0; i < cells.Length; i++)
        {
            int left = cells[(i + cells.Length - 1) % cells.Length] ? 4 : 0, self = cells[i] ? 2 : 0, right = cells[(i + 1) % cells.Length] ? 1 : 0;
            next[i] = (rule >> (left | self | right) & 1) != 0;
        }
        return next;
    }
}
