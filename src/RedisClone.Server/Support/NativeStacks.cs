using System.Buffers.Binary;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Text;

namespace RedisClone.Server.Support;

/// <summary>
/// The stacks of the threads of a process as addresses in its executable and libraries. No frame is unwound: every word on a stack that
/// follows a call instruction in a module is a return address, or was one of a call that has ended. Only such addresses are written, and
/// nothing else of the memory. A thread that runs on a processor has no stack that can be read, and neither has one of another
/// processor than x64, whose calls are not known here.
/// </summary>
internal sealed class NativeStacks : IDisposable
{
    private const int MostBytes = 32 << 10, MostFrames = 64, LongestCall = 7;

    private readonly FileStream? _memory;
    private readonly List<Module> _modules = [];
    private readonly Dictionary<string, ulong> _bases = new(StringComparer.Ordinal);

    public NativeStacks(int processId)
    {
        try
        {
            foreach (string line in File.ReadLines($"/proc/{processId}/maps")) AddModule(line);
            _memory = new FileStream($"/proc/{processId}/mem", FileMode.Open, FileAccess.Read, FileShare.ReadWrite, bufferSize: 0);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            Problem = failure.Message;
        }
    }

    /// <summary>Why there are no stacks; empty if there are.</summary>
    public string Problem { get; } = "";

    /// <summary>The stack of a thread by the line of its file <c>syscall</c>, one frame a line, the innermost first.</summary>
    public string Of(string systemCall)
    {
        string[] words = systemCall.Split(' ', StringSplitOptions.RemoveEmptyEntries);
        if (_memory is null || words.Length < 3 || !TryAddress(words[^2], out ulong stack) || !TryAddress(words[^1], out ulong at)) return "";
        var text = new StringBuilder();
        Append(text, at);
        byte[] bytes = new byte[MostBytes];
        int read = RuntimeInformation.ProcessArchitecture == Architecture.X64 ? Read(stack, bytes) : 0;
        for (int offset = 0, frames = 1; offset + 8 <= read && frames < MostFrames; offset += 8)
        {
            ulong word = BinaryPrimitives.ReadUInt64LittleEndian(bytes.AsSpan(offset));
            if (FollowsACall(word) && Append(text, word)) frames++;
        }
        return text.ToString();
    }

    public void Dispose() => _memory?.Dispose();

    private static bool TryAddress(string word, out ulong address) =>
        ulong.TryParse(word.AsSpan(word.StartsWith("0x", StringComparison.Ordinal) ? 2 : 0), NumberStyles.HexNumber, CultureInfo.InvariantCulture, out address);

    /// <summary>Takes a line of maps: start-end permissions offset device inode path. The first line of a file is where it begins.</summary>
    private void AddModule(string line)
    {
        string[] words = line.Split(' ', 6, StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        if (words.Length < 6 || !words[5].StartsWith('/')) return;
        string[] range = words[0].Split('-');
        if (range.Length != 2 || !TryAddress(range[0], out ulong start) || !TryAddress(range[1], out ulong end)) return;
        _bases.TryAdd(words[5], start);
        if (words[1].Contains('x', StringComparison.Ordinal)) _modules.Add(new Module(Path.GetFileName(words[5]), start, end, _bases[words[5]]));
    }

    private bool Append(StringBuilder text, ulong address)
    {
        if (_modules.Find(module => address >= module.Start && address < module.End) is not { } found) return false;
        text.Append(CultureInfo.InvariantCulture, $"    {found.Name}+0x{address - found.Base:x}\n");
        return true;
    }

    /// <summary>Whether the bytes before an address are a call: of a relative address, or of a register or a place in memory.</summary>
    private bool FollowsACall(ulong address)
    {
        if (!_modules.Exists(module => address >= module.Start + LongestCall && address < module.End)) return false;
        Span<byte> code = stackalloc byte[LongestCall];
        if (Read(address - LongestCall, code) < LongestCall) return false;
        if (code[2] == 0xE8) return true;
        // FF with 2 as the middle part of the next byte, in an instruction of 2, 3, 4, 6 or 7 bytes.
        foreach (int length in (ReadOnlySpan<int>)[2, 3, 4, 6, 7])
            if (code[LongestCall - length] == 0xFF && (code[LongestCall - length + 1] & 0x38) == 0x10) return true;
        return false;
    }

    private int Read(ulong address, Span<byte> into)
    {
        try
        {
            return address > long.MaxValue ? 0 : RandomAccess.Read(_memory!.SafeFileHandle, into, (long)address);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return 0;
        }
    }

    private sealed record Module(string Name, ulong Start, ulong End, ulong Base);
}
