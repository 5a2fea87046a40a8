using System.Runtime.InteropServices;

namespace RedisClone.Transport.EventLoop;

/// <summary>
/// The system calls of the event loop. Every call returns the kernel's result or a negated errno. The runtime preserves errno
/// across its own transitions, so it is read only after a failure. No call suppresses the GC transition: each may spend
/// microseconds in the kernel, and a collection would have to wait for it.
/// </summary>
internal static unsafe partial class Native
{
    public const int NotPermitted = 1, Interrupted = 4, WouldBlock = 11, ProtocolError = 71, ConnectionAborted = 103;

    public const uint EpollIn = 0x1, EpollOut = 0x4, EpollErr = 0x8, EpollHup = 0x10, EpollRdHup = 0x2000, EpollEdge = 1u << 31;
    public const int EpollAdd = 1, EpollDel = 2, EpollMod = 3;
    public const int ShutdownSend = 1, ShutdownBoth = 2;

    private const int NonBlock = 0x800, CloseOnExec = 0x80000, NoSignal = 0x4000;
    private const int MaxChunksPerSend = 64;

    /// <summary>The size of struct sockaddr_storage, which has room for any address.</summary>
    public const int MaxAddressBytes = 128;

    private static readonly bool EventIsPacked = RuntimeInformation.ProcessArchitecture == Architecture.X64;

    /// <summary>struct epoll_event is packed on x64 (12 bytes) and aligned elsewhere (16).</summary>
    public static int EventBytes => EventIsPacked ? 12 : 16;

    private static int EventDataOffset => EventIsPacked ? 4 : 8;

    public static (uint Events, int Fd) ReadEvent(ReadOnlySpan<byte> events, int index)
    {
        ReadOnlySpan<byte> one = events.Slice(index * EventBytes, EventBytes);
        return (MemoryMarshal.Read<uint>(one), MemoryMarshal.Read<int>(one[EventDataOffset..]));
    }

    public static int CreateEpoll() => Checked(EpollCreate1(CloseOnExec));

    public static int CreateWakeup() => Checked(EventFd(0, NonBlock | CloseOnExec));

    public static int Control(int epoll, int operation, int fd, uint events)
    {
        byte* record = stackalloc byte[16];
        *(uint*)record = events;
        *(long*)(record + EventDataOffset) = fd;
        return Checked(EpollCtl(epoll, operation, fd, record));
    }

    public static int Wait(int epoll, byte[] events, int timeoutMilliseconds)
    {
        fixed (byte* p = events) return Checked(EpollWait(epoll, p, events.Length / EventBytes, timeoutMilliseconds));
    }

    /// <summary>
    /// Adds one to an eventfd. The write can fail only when the counter is at its maximum, and then the event loop is already
    /// awake.
    /// </summary>
    public static void Wake(int eventFd)
    {
        ulong one = 1;
        _ = Write(eventFd, &one, sizeof(ulong));
    }

    /// <summary>
    /// Accepts a connection as a non-blocking socket. The peer's sockaddr is written into <paramref name="address"/>, which has
    /// room for <see cref="MaxAddressBytes"/>. The call allocates nothing, so that no descriptor is lost.
    /// </summary>
    public static int Accept(int listener, Span<byte> address, out int length)
    {
        int written = address.Length;
        int fd;
        fixed (byte* buffer = address) fd = Checked(Accept4(listener, buffer, &written, NonBlock | CloseOnExec));
        length = fd < 0 ? 0 : Math.Min(written, address.Length);
        return fd;
    }

    /// <summary>The number of descriptors that this process may have open.</summary>
    public static long DescriptorLimit()
    {
        const int NumberOfFiles = 7;
        long* softAndHard = stackalloc long[2];
        return GetRLimit(NumberOfFiles, softAndHard) < 0 || softAndHard[0] < 0 ? long.MaxValue : softAndHard[0];
    }

    public static byte[] LocalAddress(int fd)
    {
        byte* buffer = stackalloc byte[MaxAddressBytes];
        int length = MaxAddressBytes;
        return GetSockName(fd, buffer, &length) < 0 ? [] : new ReadOnlySpan<byte>(buffer, length).ToArray();
    }

    public static int Receive(int fd, Span<byte> into)
    {
        fixed (byte* p = into) return (int)Checked(Recv(fd, p, into.Length, 0));
    }

    /// <summary>
    /// Sends the first bytes of <paramref name="chunks"/>, at most <paramref name="limit"/>, in one call. <paramref
    /// name="asked"/> is the number of bytes given to the kernel. The chunks lie in pinned arrays.
    /// </summary>
    public static int Send(int fd, ReadOnlySpan<OutputChunk> chunks, int limit, out int asked)
    {
        asked = Math.Min(chunks[0].Count, limit);
        if (chunks.Length == 1 || asked == limit) return (int)Checked(Send(fd, chunks[0].PinnedAddress, asked, NoSignal));

        int count = Math.Min(chunks.Length, MaxChunksPerSend);
        IoVector* vectors = stackalloc IoVector[count];
        vectors[0] = new IoVector { Base = chunks[0].PinnedAddress, Length = asked };
        int used = 1;
        for (; used < count && asked < limit; used++)
        {
            int length = Math.Min(chunks[used].Count, limit - asked);
            vectors[used] = new IoVector { Base = chunks[used].PinnedAddress, Length = length };
            asked += length;
        }
        var message = new MessageHeader { Vectors = vectors, VectorCount = used };
        return (int)Checked(SendMsg(fd, &message, NoSignal));
    }

    /// <summary>Sends what the socket takes at once. A failure is ignored.</summary>
    public static void SendAtOnce(int fd, ReadOnlySpan<byte> bytes)
    {
        fixed (byte* from = bytes) _ = Send(fd, (nint)from, bytes.Length, NoSignal);
    }

    [LibraryImport("libc", EntryPoint = "shutdown")]
    public static partial int Shutdown(int fd, int how);

    [LibraryImport("libc", EntryPoint = "close")]
    public static partial int Close(int fd);

    private static int Checked(int result) => result >= 0 ? result : -Marshal.GetLastSystemError();

    private static nint Checked(nint result) => result >= 0 ? result : -Marshal.GetLastSystemError();

    private struct IoVector
    {
        public nint Base;
        public nint Length;
    }

    /// <summary>struct msghdr of 64-bit Linux.</summary>
    private struct MessageHeader
    {
        public nint Name;
        public nint NameLength;
        public IoVector* Vectors;
        public nint VectorCount;
        public nint Control;
        public nint ControlLength;
        public nint Flags;
    }

    [LibraryImport("libc", EntryPoint = "epoll_create1")]
    private static partial int EpollCreate1(int flags);

    [LibraryImport("libc", EntryPoint = "epoll_ctl")]
    private static partial int EpollCtl(int epoll, int operation, int fd, byte* record);

    [LibraryImport("libc", EntryPoint = "epoll_wait")]
    private static partial int EpollWait(int epoll, byte* events, int maxEvents, int timeoutMilliseconds);

    [LibraryImport("libc", EntryPoint = "eventfd")]
    private static partial int EventFd(uint initial, int flags);

    [LibraryImport("libc", EntryPoint = "write")]
    private static partial nint Write(int fd, void* from, nint length);

    [LibraryImport("libc", EntryPoint = "accept4")]
    private static partial int Accept4(int fd, byte* address, int* length, int flags);

    [LibraryImport("libc", EntryPoint = "getsockname")]
    private static partial int GetSockName(int fd, byte* address, int* length);

    [LibraryImport("libc", EntryPoint = "getrlimit")]
    private static partial int GetRLimit(int resource, long* softAndHard);

    [LibraryImport("libc", EntryPoint = "recv")]
    private static partial nint Recv(int fd, byte* into, nint length, int flags);

    [LibraryImport("libc", EntryPoint = "send")]
    private static partial nint Send(int fd, nint from, nint length, int flags);

    [LibraryImport("libc", EntryPoint = "sendmsg")]
    private static partial nint SendMsg(int fd, MessageHeader* message, int flags);
}
