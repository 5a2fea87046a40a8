using System.Text;
using System.Threading.Channels;
using RedisClone.Engine.Replication.Following;

namespace RedisClone.Server.Tests.Replication;

/// <summary>
/// A primary, or a node that hands over slots, without a network: it answers the handshake, and then sends what a test has prepared.
/// </summary>
/// <param name="request">A word of the request.</param>
/// <param name="answer">The answer to the n-th request, from 1 on; null ends the connection.</param>
internal sealed class ScriptedPeer(string request, Func<int, byte[]?> answer) : IPrimaryConnector
{
    private int _requests;

    public ScriptedPeer(string request, byte[] answer)
        : this(request, _ => answer)
    {
    }

    /// <summary>How often the request was made.</summary>
    public int Requests => Volatile.Read(ref _requests);

    /// <summary>Commands as they are in a stream.</summary>
    public static byte[] Commands(params string[] lines) => [.. lines.SelectMany(static line => PrimaryChannel.Command(line.Split(' ')))];

    public ValueTask<IPrimaryConnection> ConnectAsync(string host, int port, bool encrypts, CancellationToken end) =>
        ValueTask.FromResult<IPrimaryConnection>(new Connection(this));

    private byte[]? Answer(string text)
    {
        if (!text.Contains(request, StringComparison.Ordinal)) return text.Contains("ACK\r\n", StringComparison.Ordinal) ? [] : "+OK\r\n"u8.ToArray();
        return answer(Interlocked.Increment(ref _requests));
    }

    private sealed class Connection(ScriptedPeer peer) : Stream, IPrimaryConnection
    {
        private readonly Channel<byte[]> _answers = Channel.CreateUnbounded<byte[]>();
        private ReadOnlyMemory<byte> _rest;

        public Stream Stream => this;

        public string PeerName => "peer:1";

        public string LocalName => "local:1";

        public long Descriptor => -1;

        public override bool CanRead => true;

        public override bool CanSeek => false;

        public override bool CanWrite => true;

        public override long Length => throw new NotSupportedException();

        public override long Position
        {
            get => throw new NotSupportedException();
            set => throw new NotSupportedException();
        }

        public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            while (_rest.IsEmpty)
            {
                if (!await _answers.Reader.WaitToReadAsync(cancellationToken)) return 0;
                _answers.Reader.TryRead(out byte[]? next);
                _rest = next;
            }
            int length = Math.Min(buffer.Length, _rest.Length);
            _rest[..length].CopyTo(buffer);
            _rest = _rest[length..];
            return length;
        }

        public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            if (peer.Answer(Encoding.Latin1.GetString(buffer.Span)) is { } answer) _answers.Writer.TryWrite(answer);
            else _answers.Writer.TryComplete();
            return ValueTask.CompletedTask;
        }

        public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public override void Flush()
        {
        }

        public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        protected override void Dispose(bool disposing)
        {
            _answers.Writer.TryComplete();
            base.Dispose(disposing);
        }
    }
}
