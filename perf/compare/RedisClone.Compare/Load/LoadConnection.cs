using System.Net;
using System.Net.Sockets;

namespace RedisClone.Compare.Load;

/// <summary>A connection of a load: its socket, its step in the script, and the number of replies for which it waits.</summary>
internal sealed class LoadConnection : IDisposable
{
    private readonly Socket _socket;
    private readonly ReplyScanner _replies = new();
    private readonly int _descriptor;
    private byte[] _unsent = [];

    private LoadConnection(Socket socket, bool isSubscriber, int step)
    {
        _socket = socket;
        _descriptor = (int)socket.Handle;
        IsSubscriber = isSubscriber;
        Step = step;
    }

    public bool IsSubscriber { get; }

    public int Step { get; set; }

    public int Outstanding { get; set; }

    /// <summary>The time at which the batch was sent. With a given rate, the time at which it was due.</summary>
    public long SentAt { get; set; }

    public bool HasUnsent => _unsent.Length > 0;

    public static LoadConnection Open(EndPoint server, bool isSubscriber, int step)
    {
        bool tcp = server.AddressFamily != AddressFamily.Unix;
        var socket = new Socket(server.AddressFamily, SocketType.Stream, tcp ? ProtocolType.Tcp : ProtocolType.Unspecified);
        if (tcp)
            socket.NoDelay = true;
        socket.Connect(server);
        var connection = new LoadConnection(socket, isSubscriber, step);
        if (isSubscriber)
            connection.Subscribe();
        socket.Blocking = false;
        return connection;
    }

    public void Watch(int epoll, int index, bool modify = false) => LinuxNative.Register(
        epoll, _descriptor, LinuxNative.Readable | (HasUnsent ? LinuxNative.Writable : 0), index, modify);

    /// <summary>Sends a batch. Bytes that the socket does not accept are sent by <see cref="SendRest"/>.</summary>
    public void Send(ReadOnlySpan<byte> batch)
    {
        int sent = LinuxNative.Send(_descriptor, batch);
        if (sent < batch.Length)
            _unsent = batch[sent..].ToArray();
    }

    public void SendRest() => _unsent = _unsent[LinuxNative.Send(_descriptor, _unsent)..];

    /// <summary>Reads once. Returns the number of replies that the bytes complete.</summary>
    public int Receive(byte[] buffer)
    {
        int received = LinuxNative.Receive(_descriptor, buffer);
        if (received < 0)
            throw new LoadException("the server closed a connection");
        int replies = _replies.Scan(buffer.AsSpan(0, received));
        if (_replies.Errors > 0)
            throw new LoadException(_replies.FirstError);
        return replies;
    }

    public void Dispose() => _socket.Dispose();

    private void Subscribe()
    {
        _socket.Send(RequestTemplate.Parse($"SUBSCRIBE {LoadPlan.Channel}").Bytes);
        byte[] buffer = new byte[1024];
        _socket.ReceiveTimeout = 5_000;
        while (true)
        {
            int received = _socket.Receive(buffer);
            if (received == 0)
                throw new LoadException("the server closed a subscriber's connection");
            if (_replies.Scan(buffer.AsSpan(0, received)) > 0)
                break;
        }

        if (_replies.Errors > 0)
            throw new LoadException(_replies.FirstError);
    }
}
