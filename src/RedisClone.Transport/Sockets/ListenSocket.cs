using System.Net;
using System.Net.Sockets;

namespace RedisClone.Transport.Sockets;

/// <summary>Creates a socket that is bound and does not listen yet. All transports use it.</summary>
public static class ListenSocket
{
    /// <summary>ENXIO.</summary>
    private const int NoSuchDeviceOrAddress = 6;

    public static Socket CreateBound(EndPoint endPoint, UnixFileMode? unixMode)
    {
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, endPoint is UnixDomainSocketEndPoint ? ProtocolType.Unspecified : ProtocolType.Tcp);
        try
        {
            // ReuseAddress is not set: .NET allows binding while old connections of the port still exist, and the option would
            // let a second server share the port. "*" and "::*" are two addresses with a socket each, so DualMode is off.
            if (endPoint.AddressFamily == AddressFamily.InterNetworkV6) socket.DualMode = false;
            string file = FileOf(endPoint);
            if (file.Length > 0) RemoveStale(file, endPoint);
            socket.Bind(endPoint);
            // Connections are refused until the socket listens, so the mode that the umask gave is never in effect.
            if (file.Length > 0 && unixMode is { } mode && !OperatingSystem.IsWindows()) File.SetUnixFileMode(file, mode);
            return socket;
        }
        catch (Exception error)
        {
            socket.Dispose();
            if (endPoint is not UnixDomainSocketEndPoint) throw;
            // For a path whose directory does not exist, the runtime reports that the address is not available.
            string reason = error is SocketException { SocketErrorCode: SocketError.AddressNotAvailable } ? "No such file or directory" : error.Message;
            throw new IOException($"Failed opening Unix socket: bind: {reason}", error);
        }
    }

    /// <summary>Removes a socket file that a dead process left. It would otherwise block the address permanently.</summary>
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
            // The path belongs to something else. Bind reports the error.
        }
    }

    /// <summary>
    /// Returns whether the file is a socket, which cannot be opened as a file. No other file must be removed, although a
    /// connection to it is refused as well.
    /// </summary>
    private static bool IsSocket(string file)
    {
        try
        {
            // Opens for reading and writing, because opening a named pipe for one of them would wait for the other end.
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

    /// <summary>Returns the path of the socket's file. An abstract name, shown with a leading @, has no file.</summary>
    private static string FileOf(EndPoint endPoint) =>
        endPoint is UnixDomainSocketEndPoint && endPoint.ToString() is { Length: > 0 } path && path[0] != '@' ? path : "";
}
