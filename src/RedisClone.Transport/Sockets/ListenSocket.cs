using System.Net;
using System.Net.Sockets;

namespace RedisClone.Transport.Sockets;

/// <summary>Makes a socket that is bound and does not listen yet, for either transport.</summary>
public static class ListenSocket
{
    /// <summary>ENXIO.</summary>
    private const int NoSuchDeviceOrAddress = 6;

    public static Socket CreateBound(EndPoint endPoint, UnixFileMode? unixMode)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, endPoint is UnixDomainSocketEndPoint ? ProtocolType.Unspecified : ProtocolType.Tcp);
        try
        {
            // No ReuseAddress: .NET binds past old connections anyway, and the option would let a second server share the port.
            // "*" and "::*" are two addresses, each with a socket of its own.
            if (endPoint.AddressFamily == AddressFamily.InterNetworkV6) socket.DualMode = false;
            string file = FileOf(endPoint);
            if (file.Length > 0) RemoveStale(file, endPoint);
            socket.Bind(endPoint);
            // Until it listens a connect is refused, so there is no moment at which the umask's mode lets anybody in.
            if (file.Length > 0 && unixMode is { } mode && !OperatingSystem.IsWindows()) File.SetUnixFileMode(file, mode);
            return socket;
        }
        catch (Exception error)
        {
            socket.Dispose();
            if (endPoint is not UnixDomainSocketEndPoint) throw;
            // To the runtime a path that leads nowhere is an address that the machine has not.
            string reason = error is SocketException { SocketErrorCode: SocketError.AddressNotAvailable } ? "No such file or directory" : error.Message;
            throw new IOException($"Failed opening Unix socket: bind: {reason}", error);
        }
    }

    /// <summary>A socket file that nobody answers on was left by a process that died; it would be in the way for ever.</summary>
    private static void RemoveStale(string file, EndPoint endPoint)
    {
        if (!IsSocket(file)) return;
        using var probe = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            probe.Connect(endPoint);
        }
        catch (SocketException error) when (error.SocketErrorCode == SocketError.ConnectionRefused)
        {
            File.Delete(file);
        }
        catch (SocketException)
        {
            // Something else is there, and binding will say so.
        }
    }

    /// <summary>Nothing else must be removed, though a connect to it is refused as well. A socket is what cannot be opened as a file.</summary>
    private static bool IsSocket(string file)
    {
        try
        {
            // For reading and writing, or the opening of a pipe would wait for its other end.
            File.OpenHandle(file, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite).Dispose();
            return false;
        }
        catch (IOException error)
        {
            return error.HResult == NoSuchDeviceOrAddress;
        }
        catch (UnauthorizedAccessException)
        {
            return false;
        }
    }

    /// <summary>Abstract names, shown with a leading @, live in no file system.</summary>
    private static string FileOf(EndPoint endPoint) =>
        endPoint is UnixDomainSocketEndPoint && endPoint.ToString() is { Length: > 0 } path && path[0] != '@' ? path : "";
}
