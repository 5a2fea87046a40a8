using System.Globalization;
using System.Text;
using RedisClone.Engine.Metrics;

namespace RedisClone.Admin.Commands;

/// <summary>
/// Draws the samples of an event as text, one column per sample. The height is the duration; the age is written vertically
/// below.
/// </summary>
internal static class LatencyGraph
{
    private const int Columns = 80, Rows = 4;
    private const string Heights = "_o#";

    public static string Draw(LatencyRecord record, long now)
    {
        long low = record.Samples.Min(s => s.Milliseconds), high = record.Samples.Max(s => s.Milliseconds);
        var text = new StringBuilder();
        text.Append(CultureInfo.InvariantCulture, $"{record.Name} - high {high} ms, low {low} ms (all time high {record.Worst} ms)\n");
        text.Append('-', Columns).Append('\n');
        for (int first = 0; first < record.Samples.Length; first += Columns)
        {
            if (first > 0) text.Append('\n');
            DrawPart(text, record.Samples.AsSpan(first, Math.Min(Columns, record.Samples.Length - first)), low, high, now);
        }
        return text.ToString();
    }

    private static void DrawPart(StringBuilder text, ReadOnlySpan<LatencySeries.Sample> samples, long low, long high, long now)
    {
        for (int row = Rows - 1; row >= 0; row--)
        {
            foreach (LatencySeries.Sample sample in samples) text.Append(CharacterAt(row, sample.Milliseconds - low, high - low));
            text.Append('\n');
        }
        text.Append(' ', samples.Length).Append('\n');
        string[] labels = new string[samples.Length];
        for (int i = 0; i < labels.Length; i++) labels[i] = Ago(now - samples[i].Second);
        for (int row = 0; row < labels.Max(label => label.Length); row++)
        {
            foreach (string label in labels) text.Append(row < label.Length ? label[row] : ' ');
            text.Append('\n');
        }
    }

    private static char CharacterAt(int row, long value, long range)
    {
        int steps = Heights.Length * Rows;
        int step = range == 0 ? 0 : (int)Math.Min(value * steps / range, steps - 1);
        int within = step - row * Heights.Length;
        return within < 0 ? ' ' : within < Heights.Length ? Heights[within] : '|';
    }

    private static string Ago(long seconds) => seconds switch
    {
        < 60 => string.Create(CultureInfo.InvariantCulture, $"{seconds}s"),
        < 3600 => string.Create(CultureInfo.InvariantCulture, $"{seconds / 60}m"),
        < 86400 => string.Create(CultureInfo.InvariantCulture, $"{seconds / 3600}h"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{seconds / 86400}d"),
    };
}
