using System.Runtime.InteropServices;
using RedisClone.Engine;

namespace RedisClone.Admin.Log;

/// <summary>
/// Standard output or standard error of the process. A write returns its result and never throws. The log and the last line
/// before a fatal end use this class.
/// </summary>
internal sealed class StandardStream
{
    private const int Interrupted = 4, WouldBlock = 11, WouldBlockOfBsd = 35;
    private const short PollOut = 4;

    private readonly int _descriptor;
    private readonly Stream? _stream; // only on systems without file descriptors

    private StandardStream(int descriptor)
    {
        _descriptor = descriptor;
        if (OperatingSystem.IsWindows()) _stream = descriptor == 1 ? Console.OpenStandardOutput() : Console.OpenStandardError();
    }

    public static StandardStream Output { get; } = new(1);

    public static StandardStream Error { get; } = new(2);

    /// <summary>
    /// Writes bytes and returns the number of bytes written. The number is lower than the length of <paramref name="bytes"/>
    /// after an error, or if there was no space for <paramref name="patience"/> milliseconds (-1 waits without limit). A pipe
    /// that poll reports as writable accepts 4 KB at once, so a longer text is written in parts and no part blocks.
    /// </summary>
    public int Write(ReadOnlySpan<byte> bytes, int patience = Timeout.Infinite)
    {
        if (_stream is not null) return WriteStream(bytes);
        int done = 0;
        while (done < bytes.Length)
        {
            var poll = new PollEntry { Descriptor = _descriptor, Events = PollOut };
            int ready = Poll(ref poll, 1, patience);
            if (ready == 0) break;
            if (ready < 0 && Marshal.GetLastSystemError() == Interrupted) continue;
            int count = Math.Min(bytes.Length - done, Limits.PipeAtom);
            nint written = Write(_descriptor, in MemoryMarshal.GetReference(bytes[done..]), count);
            if (written > 0) done += (int)written;
            else if (written == 0 || Marshal.GetLastSystemError() is not (Interrupted or WouldBlock or WouldBlockOfBsd)) break;
        }
        return done;
    }

    private int WriteStream(ReadOnlySpan<byte> bytes)
    {
        try
        {
            _stream!.Write(bytes);
            return bytes.Length;
        }
        catch (Exception)
        {
            return 0;
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct PollEntry
    {
        public int Descriptor;
        public short Events;
        public short Happened;
    }

    [DllImport("libc", EntryPoint = "write")]
    private static extern nint Write(int descriptor, in byte from, nint count);

    [DllImport("libc", EntryPoint = "poll")]
    private static extern int Poll(ref PollEntry entries, nuint count, int milliseconds);
}
