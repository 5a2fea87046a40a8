using System.Globalization;

namespace RedisClone.Compare.Servers;

/// <summary>Reads the figures of a process from /proc.</summary>
internal static class ProcFs
{
    private const int TicksPerSecond = 100; // USER_HZ, which is the same in /proc on every platform

    /// <summary>Returns the processor time of a process and of its ended children.</summary>
    public static CpuTime Cpu(int process)
    {
        // The clock is exact. The times of the children, and the shares of user mode and kernel, are counted in ticks.
        (CpuTime own, CpuTime children) = Ticks(process);
        long total = LinuxNative.ProcessCpuNanoseconds(process);
        return new CpuTime(total + children.Total, own.User + children.User, own.System + children.System);
    }

    public static CpuTime ChildrenCpu(int process) => Ticks(process).Children;

    public static long ResidentBytes(int process) => Kilobytes($"/proc/{process}/status", "VmRSS:");

    public static long PeakResidentBytes(int process) => Kilobytes($"/proc/{process}/status", "VmHWM:");

    /// <summary>Returns the memory of a process and its children. The processes that share a page count a part of it each.</summary>
    public static long ProportionalBytes(int process) =>
        File.ReadAllText($"/proc/{process}/task/{process}/children")
            .Split(' ', StringSplitOptions.RemoveEmptyEntries)
            .Append(process.ToString(CultureInfo.InvariantCulture))
            .Sum(id => Kilobytes($"/proc/{id}/smaps_rollup", "Pss:"));

    private static (CpuTime Own, CpuTime Children) Ticks(int process)
    {
        string stat = File.ReadAllText($"/proc/{process}/stat");
        string[] fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        return (Time(11), Time(13));

        CpuTime Time(int first)
        {
            long user = Nanoseconds(fields[first]);
            long system = Nanoseconds(fields[first + 1]);
            return new CpuTime(user + system, user, system);
        }
    }

    private static long Nanoseconds(string ticks) =>
        long.Parse(ticks, CultureInfo.InvariantCulture) * (1_000_000_000 / TicksPerSecond);

    /// <summary>Returns the value of a line in bytes, or 0 if the line or the process does not exist.</summary>
    private static long Kilobytes(string file, string name)
    {
        try
        {
            string? line = File.ReadLines(file).FirstOrDefault(l => l.StartsWith(name, StringComparison.Ordinal));
            return line is null
                ? 0
                : long.Parse(line[name.Length..].TrimEnd('k', 'B'), CultureInfo.InvariantCulture) * 1024;
        }
        catch (IOException)
        {
            return 0;
        }
    }
}
