using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace RedisClone.Journal.Writing;

/// <summary>
/// Wakes the one thread that waits on it. A wake-up before the wait is not lost. On Linux it is an eventfd, because the
/// wait functions of .NET have a resolution of whole milliseconds and a flush takes a tenth of one. On other systems it
/// is a semaphore.
/// </summary>
internal sealed class WakeEvent : IDisposable
{
    private const int CloseOnExecNonBlocking = 0x80000 | 0x800; // EFD_CLOEXEC | EFD_NONBLOCK
    private const short PollIn = 1;

    private readonly SafeFileHandle? _handle;
    private readonly SemaphoreSlim? _semaphore;

    public WakeEvent()
    {
        if (OperatingSystem.IsLinux() && EventFd(0, CloseOnExecNonBlocking) is >= 0 and var fd)
            _handle = new(fd, ownsHandle: true);
        else _semaphore = new(0);
    }

    public void Set()
    {
        if (_handle is null)
        {
            if (_semaphore!.CurrentCount == 0) _semaphore.Release();
            return;
        }
        long one = 1L;
        _ = Write(_handle, ref one, sizeof(long));
    }

    /// <summary>Waits for <see cref="Set"/>. Returns false if the time elapsed first.</summary>
    public bool Wait(TimeSpan timeout)
    {
        if (_handle is null) return _semaphore!.Wait(timeout);
        var poll = new PollEntry { Handle = (int)_handle.DangerousGetHandle(), Events = PollIn };
        var time = new TimeSpec
        {
            Seconds = (nint)timeout.TotalSeconds,
            Nanoseconds = (nint)(timeout.Ticks % TimeSpan.TicksPerSecond * 100),
        };
        if (PPoll(ref poll, 1, in time, 0) <= 0) return false;
        _ = Read(_handle, out _, sizeof(long));
        return true;
    }

    public void Dispose()
    {
        _handle?.Dispose();
        _semaphore?.Dispose();
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct PollEntry
    {
        public int Handle;
        public short Events;
        public short Happened;
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct TimeSpec
    {
        public nint Seconds;
        public nint Nanoseconds;
    }

    [DllImport("libc", EntryPoint = "eventfd")]
    private static extern int EventFd(uint initial, int flags);

    [DllImport("libc", EntryPoint = "write")]
    private static extern nint Write(SafeFileHandle fd, ref long value, nint count);

    [DllImport("libc", EntryPoint = "read")]
    private static extern nint Read(SafeFileHandle fd, out long value, nint count);

    [DllImport("libc", EntryPoint = "ppoll")]
    private static extern int PPoll(ref PollEntry entries, nuint count, in TimeSpec timeout, nint signals);
}
