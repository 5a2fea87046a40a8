using System.Globalization;

namespace RedisClone.Admin.Info;

/// <summary>
/// What the kernel knows about this process: its resident memory by part, its disk traffic, and the processor time of its threads.
/// The kernel walks all pages of the process for the first, so all of it is read at most once in five seconds, and more rarely if
/// the process is large. A value that the system does not provide is null.
/// </summary>
internal sealed class ProcessReading
{
    private const double ThreadClock = 100;     // ticks a second of the times in /proc, fixed by the kernel's interface

    private static readonly Lock Gate = new();
    private static readonly Spacing Pace = new(least: TimeSpan.FromSeconds(5), mostOfTime: 1.0 / 1000);
    private static readonly Dictionary<int, double> SecondsOfThread = [];
    private static readonly SortedDictionary<string, double> SecondsOfName = new(StringComparer.Ordinal);
    private static ProcessReading? s_last;

    private ProcessReading()
    {
        ReadMemory();
        ReadDisk();
        Threads = ReadThreads();
    }

    public long? Anonymous { get; private set; }

    public long? Files { get; private set; }

    public long? HugePages { get; private set; }

    public long? PrivateDirty { get; private set; }

    public long? Swapped { get; private set; }

    public long? DiskRead { get; private set; }

    public long? DiskWritten { get; private set; }

    /// <summary>The processor time of all threads of a name, including those that have ended.</summary>
    public KeyValuePair<string, TimeSpan>[] Threads { get; }

    /// <summary>Returns the last reading, or a new one if that is too old.</summary>
    public static ProcessReading Recent()
    {
        lock (Gate)
        {
            if (s_last is not null && !Pace.IsDue) return s_last;
            using Spacing.Use use = Pace.Begin();
            return s_last = new ProcessReading();
        }
    }

    private void ReadMemory()
    {
        long resident = 0;
        foreach (string line in Lines("/proc/self/smaps_rollup"))
        {
            if (line.StartsWith("Rss:", StringComparison.Ordinal)) resident = Kilobytes(line);
            else if (line.StartsWith("Anonymous:", StringComparison.Ordinal)) (Anonymous, Files) = (Kilobytes(line), Math.Max(0, resident - Kilobytes(line)));
            else if (line.StartsWith("AnonHugePages:", StringComparison.Ordinal)) HugePages = Kilobytes(line);
            else if (line.StartsWith("Private_Dirty:", StringComparison.Ordinal)) PrivateDirty = Kilobytes(line);
            else if (line.StartsWith("Swap:", StringComparison.Ordinal)) Swapped = Kilobytes(line);
        }
    }

    private void ReadDisk()
    {
        foreach (string line in Lines("/proc/self/io"))
        {
            if (line.StartsWith("read_bytes:", StringComparison.Ordinal)) DiskRead = Number(line);
            else if (line.StartsWith("write_bytes:", StringComparison.Ordinal)) DiskWritten = Number(line);
        }
    }

    /// <summary>Adds what each thread used since the last reading to the sum of its name. The sums therefore never decrease.</summary>
    private static KeyValuePair<string, TimeSpan>[] ReadThreads()
    {
        const string tasks = "/proc/self/task";
        if (!Directory.Exists(tasks)) return [];
        var living = new HashSet<int>();
        foreach (string task in Directory.EnumerateDirectories(tasks))
        {
            if (Lines(Path.Combine(task, "stat")) is not [{ } line, ..]) continue;
            int open = line.IndexOf('('), close = line.LastIndexOf(')');
            if (open < 0 || close < open) continue;
            string[] fields = line[(close + 1)..].Split(' ', StringSplitOptions.RemoveEmptyEntries);
            int id = int.Parse(Path.GetFileName(task), CultureInfo.InvariantCulture);
            const int user = 11, system = 12;   // fields after the name
            double seconds = (Number(fields[user]) + Number(fields[system])) / ThreadClock;
            string name = line[(open + 1)..close];
            double before = SecondsOfThread.GetValueOrDefault(id);
            // The kernel may have given the number of an ended thread to a new one.
            SecondsOfName[name] = SecondsOfName.GetValueOrDefault(name) + (seconds < before ? seconds : seconds - before);
            SecondsOfThread[id] = seconds;
            living.Add(id);
        }
        foreach (int gone in SecondsOfThread.Keys.Where(id => !living.Contains(id)).ToArray()) SecondsOfThread.Remove(gone);
        return [.. SecondsOfName.Select(static name => KeyValuePair.Create(name.Key, TimeSpan.FromSeconds(name.Value)))];
    }

    private static string[] Lines(string path)
    {
        try
        {
            return File.ReadAllLines(path);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            // The thread has ended, or the system hides the file.
            return [];
        }
    }

    private static long Kilobytes(string line) => Number(line) * 1024;

    /// <summary>The first number of a line.</summary>
    private static long Number(string line)
    {
        int start = 0;
        while (start < line.Length && !char.IsAsciiDigit(line[start])) start++;
        int end = start;
        while (end < line.Length && char.IsAsciiDigit(line[end])) end++;
        return long.TryParse(line.AsSpan(start, end - start), CultureInfo.InvariantCulture, out long value) ? value : 0;
    }
}
