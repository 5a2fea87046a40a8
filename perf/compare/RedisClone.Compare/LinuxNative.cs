using System.Buffers.Binary;
using System.Runtime.InteropServices;
using RedisClone.Compare.Load;

namespace RedisClone.Compare;

/// <summary>
/// System calls without a cheap or exact equivalent in .NET: pinning of threads to cores, the processor time of another process in
/// nanoseconds, and an epoll loop that allocates no object for each wake-up.
/// </summary>
internal static class LinuxNative
{
    private const int Again = 11;
    private const int Interrupted = 4;
    private const int SendFlags = 0x4000 | 0x40; // MSG_NOSIGNAL | MSG_DONTWAIT
    private const int ReceiveFlags = 0x40;       // MSG_DONTWAIT
    private const int ThreadCpuClock = 3;        // CLOCK_THREAD_CPUTIME_ID

    public const uint Readable = 0x001;
    public const uint Writable = 0x004;

    /// <summary>The kernel packs epoll_event on x86-64 only.</summary>
    public static readonly int EpollEventSize = RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 12 : 16;

    private static readonly int s_epollDataOffset = EpollEventSize - 8;

    /// <summary>Restricts all threads of this process, and the threads and processes that they start, to the given cores.</summary>
    public static void PinThisProcess(IEnumerable<int> cores)
    {
        var mask = new ulong[16];
        foreach (int core in cores)
            mask[core / 64] |= 1UL << (core % 64);
        foreach (string task in Directory.GetDirectories("/proc/self/task"))
        {
            // A thread may have ended since the listing, so an error is ignored. The call below checks the calling thread.
            int thread = int.Parse(Path.GetFileName(task), System.Globalization.CultureInfo.InvariantCulture);
            _ = sched_setaffinity(thread, mask.Length * sizeof(ulong), ref mask[0]);
        }

        if (sched_setaffinity(0, mask.Length * sizeof(ulong), ref mask[0]) != 0)
        {
            int error = Marshal.GetLastPInvokeError();
            throw new InvalidOperationException($"cannot run on cores {string.Join(',', cores)}: errno {error}");
        }
    }

    /// <summary>Returns the user and system time of a process in nanoseconds, including threads that have ended.</summary>
    public static long ProcessCpuNanoseconds(int processId) => ReadClock((~processId << 3) | 2);

    public static long ThreadCpuNanoseconds() => ReadClock(ThreadCpuClock);

    private static long ReadClock(int clock)
    {
        if (clock_gettime(clock, out TimeSpecification time) != 0)
            throw new InvalidOperationException($"clock {clock}: errno {Marshal.GetLastPInvokeError()}");
        return time.Seconds * 1_000_000_000L + time.Nanoseconds;
    }

    public static int CreateEpoll() => Check(epoll_create1(0), "epoll_create1");

    public static void Register(int epoll, int descriptor, uint events, long data, bool modify)
    {
        Span<byte> entry = stackalloc byte[16];
        BinaryPrimitives.WriteUInt32LittleEndian(entry, events);
        BinaryPrimitives.WriteInt64LittleEndian(entry[s_epollDataOffset..], data);
        Check(epoll_ctl(epoll, modify ? 3 : 1, descriptor, ref MemoryMarshal.GetReference(entry)), "epoll_ctl");
    }

    /// <summary>Waits for events and returns their number in <paramref name="events"/>. Returns 0 after an interruption.</summary>
    public static int Wait(int epoll, byte[] events, int timeoutMilliseconds)
    {
        int count = epoll_wait(epoll, ref events[0], events.Length / EpollEventSize, timeoutMilliseconds);
        return count >= 0 ? count : Marshal.GetLastPInvokeError() == Interrupted ? 0 : Check(count, "epoll_wait");
    }

    public static (uint Events, long Data) EventAt(byte[] events, int index)
    {
        ReadOnlySpan<byte> entry = events.AsSpan(index * EpollEventSize, EpollEventSize);
        long data = BinaryPrimitives.ReadInt64LittleEndian(entry[s_epollDataOffset..]);
        return (BinaryPrimitives.ReadUInt32LittleEndian(entry), data);
    }

    /// <summary>Sends without waiting. Returns the number of bytes that the socket accepted.</summary>
    public static int Send(int descriptor, ReadOnlySpan<byte> data)
    {
        nint sent = send(descriptor, ref MemoryMarshal.GetReference(data), data.Length, SendFlags);
        return sent >= 0 ? (int)sent : WouldBlock() ? 0 : Check(-1, "send");
    }

    /// <summary>Receives without waiting. Returns 0 if nothing has arrived, and -1 if the peer closed the connection.</summary>
    public static int Receive(int descriptor, Span<byte> buffer)
    {
        nint received = recv(descriptor, ref MemoryMarshal.GetReference(buffer), buffer.Length, ReceiveFlags);
        if (received > 0)
            return (int)received;
        return received == 0 ? -1 : WouldBlock() ? 0 : Check(-1, "recv");
    }

    public static void Close(int descriptor) => _ = close(descriptor);

    private static bool WouldBlock() => Marshal.GetLastPInvokeError() is Again or Interrupted;

    private static int Check(int result, string call) =>
        result >= 0 ? result : throw new LoadException($"{call}: errno {Marshal.GetLastPInvokeError()}");

    [StructLayout(LayoutKind.Sequential)]
    private struct TimeSpecification
    {
        public long Seconds;
        public long Nanoseconds;
    }

#pragma warning disable CA5392, SYSLIB1054, IDE1006 // the system library needs no search path, C has its own naming rules, and every argument is blittable
    [DllImport("libc", SetLastError = true)]
    private static extern int sched_setaffinity(int thread, nint size, ref ulong mask);

    [DllImport("libc", SetLastError = true)]
    private static extern int clock_gettime(int clock, out TimeSpecification time);

    [DllImport("libc", SetLastError = true)]
    private static extern int epoll_create1(int flags);

    [DllImport("libc", SetLastError = true)]
    private static extern int epoll_ctl(int epoll, int operation, int descriptor, ref byte entry);

    [DllImport("libc", SetLastError = true)]
    private static extern int epoll_wait(int epoll, ref byte events, int count, int timeout);

    [DllImport("libc", SetLastError = true)]
    private static extern nint send(int descriptor, ref byte data, nint length, int flags);

    [DllImport("libc", SetLastError = true)]
    private static extern nint recv(int descriptor, ref byte data, nint length, int flags);

    [DllImport("libc")]
    private static extern int close(int descriptor);
#pragma warning restore CA5392, SYSLIB1054, IDE1006
}
