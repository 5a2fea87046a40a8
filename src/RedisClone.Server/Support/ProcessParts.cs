using System.Globalization;
using System.Text;

namespace RedisClone.Server.Support;

/// <summary>The parts of a bundle that come from the kernel and the runtime, of this process or of another one on this machine.</summary>
internal static class ProcessParts
{
    /// <summary>Neither the command line nor the environment, which can contain passwords.</summary>
    private static readonly string[] Files = ["status", "limits", "smaps_rollup", "io", "oom_score", "oom_score_adj", "cgroup"];

    private static readonly string[] OfMachine =
    [
        "/proc/version", "/proc/loadavg", "/proc/meminfo",
        "/proc/pressure/cpu", "/proc/pressure/io", "/proc/pressure/memory",
    ];

    private static readonly string[] OfGroup = ["memory.max", "memory.current", "memory.events", "cpu.max", "cpu.stat"];

    public static IEnumerable<BundlePart> Of(int processId, BundleMask mask)
    {
        yield return BundlePart.Text("process.txt",
            "What the kernel knows about the process and the machine: memory, limits, disk traffic, pressure.", () => Process(processId), mask);
        yield return BundlePart.Text("threads.txt",
            "Each thread with its name, state, processor time, system call and stack, as addresses in the executable and the libraries. " +
            "addr2line -f -e RedisClone.Server.dbg ADDRESS names a function of the native executable.",
            () => Threads(processId), mask);
        yield return new BundlePart("trace.nettrace",
            "One second of the runtime: managed stacks of all threads, garbage collections, waits for locks. PerfView and dotnet-trace read it.",
            file => EventTrace.Write(processId, file)) { Patience = EventTrace.Patience };
    }

    private static string Process(int processId)
    {
        var text = new StringBuilder();
        foreach (string file in Files) Append(text, $"/proc/{processId}/{file}");
        foreach (string file in OfMachine) Append(text, file);
        foreach (string file in OfGroup) Append(text, "/sys/fs/cgroup/" + file);
        return text.ToString();
    }

    private static string Threads(int processId)
    {
        var text = new StringBuilder();
        using var stacks = new NativeStacks(processId);
        if (stacks.Problem.Length > 0) text.Append(CultureInfo.InvariantCulture, $"No stacks: {stacks.Problem}\n");
        foreach (string task in Directory.EnumerateDirectories($"/proc/{processId}/task").Order(StringComparer.Ordinal))
        {
            text.Append(CultureInfo.InvariantCulture, $"thread {Path.GetFileName(task)} {Read(task + "/comm").Trim()}\n");
            string[] fields = ProcStat.Fields(Read(task + "/stat").Trim());
            if (fields.Length > 12)
                text.Append(CultureInfo.InvariantCulture, $"  state {fields[0]}, user {fields[11]} ticks, system {fields[12]} ticks\n");
            string systemCall = Read(task + "/syscall").Trim();
            text.Append(CultureInfo.InvariantCulture, $"  waits in {Read(task + "/wchan").Trim()}, system call {systemCall}\n");
            text.Append(stacks.Of(systemCall));
            foreach (string line in Read(task + "/stack").Split('\n', StringSplitOptions.RemoveEmptyEntries))
                text.Append(CultureInfo.InvariantCulture, $"    {line}\n");
        }
        return text.ToString();
    }

    private static void Append(StringBuilder text, string path) => text.Append(CultureInfo.InvariantCulture, $"== {path}\n{Read(path).TrimEnd()}\n\n");

    private static string Read(string path)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return $"({failure.Message})";
        }
    }
}
