using System.Diagnostics;
using System.Globalization;
using System.Runtime.InteropServices;

namespace RedisClone.Benchmarks.Scaling;

/// <summary>
/// Measures the input t of the model: how long a cache line takes from the core that wrote it to another core. Two threads write one
/// line in turns, so each write waits for the line once.
/// </summary>
internal static class LineTransfer
{
    private const int Rounds = 11;
    private const long End = -1;

    public static void Measure(TimeSpan time)
    {
        double[] times = [.. Enumerable.Range(0, Rounds).Select(_ => Run(time / Rounds))];
        Array.Sort(times);
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture,
            $"a line from core to core: {times[Rounds / 2]:F0} ns, {times[0]:F0} to {times[^1]:F0} in {Rounds} rounds"));
    }

    /// <summary>The nanoseconds of one transfer.</summary>
    private static double Run(TimeSpan time)
    {
        var line = new Line();
        var other = new Thread(() => AddToOdd(ref line.Turn));
        other.Start();
        long started = Stopwatch.GetTimestamp(), until = started + (long)(time.TotalSeconds * Stopwatch.Frequency);
        long turn = 0;
        // The clock is read rarely, because that takes as long as a transfer.
        while ((turn & 255) != 0 || Stopwatch.GetTimestamp() < until)
        {
            Volatile.Write(ref line.Turn, turn + 1);
            while (Volatile.Read(ref line.Turn) != turn + 2)
            {
                // A pause would be part of the result.
            }
            turn += 2;
        }
        TimeSpan took = Stopwatch.GetElapsedTime(started);
        Volatile.Write(ref line.Turn, End);
        other.Join();
        return took.TotalNanoseconds / turn;
    }

    private static void AddToOdd(ref long turn)
    {
        for (long seen = 0; seen != End; seen = Volatile.Read(ref turn))
            if ((seen & 1) != 0) Volatile.Write(ref turn, seen + 1);
    }

    /// <summary>A number with a line of its own, and the line that the processor may fetch with it.</summary>
    [StructLayout(LayoutKind.Explicit, Size = 384)]
    private sealed class Line
    {
        [FieldOffset(128)]
        public long Turn;
    }
}
