using System.Buffers;
using System.Buffers.Binary;
using System.Collections.Concurrent;
using System.IO.Pipelines;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http.Features;
using RedisClone.Scheduling;
using RedisClone.Transport.EventLoop;
using Xunit.Abstractions;

namespace RedisClone.Transport.Tests;

/// <summary>
/// The event loop transfers bytes unchanged and in order, in pieces of any size, and no faster than the peer reads them.
/// </summary>
public sealed class EventLoopTransferTests(ITestOutputHelper output)
{
    [Fact]
    public async Task EchoesRandomSizesOnManyConnections()
    {
        output.WriteLine(Seed.Note);
        await using var host = await TransportHost.StartAsync(Transfer.EchoAsync);
        await Task.WhenAll(Enumerable.Range(0, 24).Select(i => Transfer.OnOwnThread(() =>
        {
            Random random = Seed.Random(i);
            using var socket = host.Connect();
            for (int round = 0; round < 6; round++)
            {
                byte[] sent = RandomBytes(random, i == 0 && round == 0 ? 8 << 20 : 1 + random.Next(1 << random.Next(4, 18)));
                var sender = Transfer.OnOwnThread(() => SendInPieces(socket, sent, random));
                Assert.True(sent.AsSpan().SequenceEqual(socket.ReceiveExactly(sent.Length)));
                sender.Wait();
            }
        })));
    }

    [Fact]
    public async Task RequestOfAnySizeArrivesInOneSegment()
    {
        output.WriteLine(Seed.Note);
        var segments = new ConcurrentBag<bool>();
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            // A request has a length prefix and is consumed whole. The pipe must keep the examined bytes and enlarge its buffer.
            var (input, replies) = (connection.Transport.Input, connection.Transport.Output);
            while (true)
            {
                var read = await input.ReadAsync();
                segments.Add(read.Buffer.IsSingleSegment);
                var rest = read.Buffer;
                while (TryTakeRequest(ref rest, out var request)) replies.Write(SHA256.HashData(request.FirstSpan));
                input.AdvanceTo(rest.Start, rest.End);
                await replies.FlushAsync();
                if (read.IsCompleted) return;
            }
        });
        await Task.WhenAll(Enumerable.Range(0, 4).Select(i => Transfer.OnOwnThread(() =>
        {
            Random random = Seed.Random(i);
            using var socket = host.Connect();
            byte[][] requests =
            [
                .. Enumerable.Range(0, 30).Select(n => RandomBytes(random, n == 7 ? 8 << 20 : random.Next(1 << random.Next(3, 17)))),
            ];
            var sender = Transfer.OnOwnThread(() =>
            {
                using var all = new MemoryStream();
                foreach (byte[] request in requests)
                {
                    byte[] header = new byte[4];
                    BinaryPrimitives.WriteInt32LittleEndian(header, request.Length);
                    all.Write(header);
                    all.Write(request);
                }
                SendInPieces(socket, all.ToArray(), random);
            });
            foreach (byte[] request in requests) Assert.Equal(SHA256.HashData(request), socket.ReceiveExactly(32));
            sender.Wait();
        })));
        Assert.DoesNotContain(false, segments);
    }

    [Fact]
    public Task WriterWaitsForASlowReader() => LimitUnsentAsync(256 << 10, options => options.UnreadBytes = 0);

    /// <summary>The allowance makes the backlog visible to the code that limits the output of a client.</summary>
    [Fact]
    public Task PeerThatReadsNothingMayLeaveMoreUnsent() => LimitUnsentAsync(4 << 20, options => options.UnreadBytes = 4 << 20);

    [Fact]
    public Task UnsentOutputOfAllPeersIsLimited() => LimitUnsentAsync(2 << 20, options => options.UnreadBytesOfAll = 4 << 20);

    private static async Task LimitUnsentAsync(int bound, Action<EventLoopOptions> configure)
    {
        const int Total = 64 << 20, Piece = 64 << 10;
        long written = 0, mostUnsent = 0;
        await using var host = await TransportHost.StartAsync(
            async connection =>
            {
                var loop = connection.Features.GetRequiredFeature<IEventLoopFeature>();
                var writer = connection.Transport.Output;
                for (int at = 0; at < Total; at += Piece)
                {
                    FillPattern(writer.GetSpan(Piece)[..Piece], at);
                    writer.Advance(Piece);
                    Assert.Equal(Piece, writer.UnflushedBytes);
                    await writer.FlushAsync();
                    Volatile.Write(ref mostUnsent, Math.Max(mostUnsent, loop.UnsentBytes));
                    Volatile.Write(ref written, at + Piece);
                }
            },
            options =>
            {
                options.PauseWriterBytes = 256 << 10;
                configure(options);
            });
        using var socket = host.Connect();
        long before = -1;
        await Transfer.EventuallyAsync(() =>
        {
            // The writer has stopped if the unsent output reached the bound and nothing was written for 200 ms.
            Thread.Sleep(200);
            long now = Volatile.Read(ref written);
            (bool hasStopped, before) = (now == before && Volatile.Read(ref mostUnsent) >= bound - Piece, now);
            return hasStopped;
        });
        Assert.True(written < Total);
        await Transfer.OnOwnThread(() =>
        {
            byte[] expected = new byte[Piece];
            for (int at = 0; at < Total; at += Piece)
            {
                FillPattern(expected, at);
                Assert.True(expected.AsSpan().SequenceEqual(socket.ReceiveExactly(Piece)));
            }
            Assert.Equal(0, socket.Receive(new byte[1]));
        });
        Assert.InRange(mostUnsent, bound - Piece, bound + Piece);
    }

    [Fact]
    public async Task FlushesFromAnyThreadKeepTheirOrder()
    {
        const int Count = 20_000;
        output.WriteLine(Seed.Note);
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            Random random = Seed.Random(1);
            var loop = connection.Features.GetRequiredFeature<IEventLoopFeature>().EventLoop;
            var writer = connection.Transport.Output;
            for (int i = 0; i < Count; i++)
            {
                switch (random.Next(8))
                {
                    case 0: await ToLoop(loop); break;
                    case 1: await Task.Yield(); break;
                }
                BinaryPrimitives.WriteInt32LittleEndian(writer.GetSpan(4), i);
                writer.Advance(4);
                if (random.Next(3) != 0) await writer.FlushAsync();
            }
        });
        using var socket = host.Connect();
        await Transfer.OnOwnThread(() =>
        {
            byte[] all = socket.ReceiveToEnd();
            Assert.Equal(Count * 4, all.Length);
            for (int i = 0; i < Count; i++) Assert.Equal(i, BinaryPrimitives.ReadInt32LittleEndian(all.AsSpan(i * 4)));
        });
    }

    [Fact]
    public async Task ReadFromAnotherThreadGetsUnconsumedAndNewBytes()
    {
        output.WriteLine(Seed.Note);
        await using var host = await TransportHost.StartAsync(async connection =>
        {
            Random random = Seed.Random(1);
            var (input, replies) = (connection.Transport.Input, connection.Transport.Output);
            while (true)
            {
                if (random.Next(2) == 0) await Task.Yield();
                var read = await input.ReadAsync();
                if (random.Next(2) == 0) await Task.Yield();
                var some = read.Buffer.Slice(0, random.NextInt64(read.Buffer.Length + 1));
                foreach (var piece in some) replies.Write(piece.Span);
                input.AdvanceTo(some.End);
                await replies.FlushAsync();
                if (read.IsCompleted && some.Length == read.Buffer.Length) return;
            }
        });
        using var socket = host.Connect();
        byte[] sent = RandomBytes(Seed.Random(2), 2 << 20);
        var sender = Transfer.OnOwnThread(() =>
        {
            SendInPieces(socket, sent, Seed.Random(3));
            socket.Shutdown(SocketShutdown.Send);
        });
        await Transfer.OnOwnThread(() => Assert.True(sent.AsSpan().SequenceEqual(socket.ReceiveToEnd())));
        await sender;
    }

    [Fact]
    public async Task TlsRunsOnTheTransport()
    {
        using var key = RSA.Create(2048);
        using var certificate = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1)
            .CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
        await using var host = await TransportHost.StartAsync(Transfer.EchoAsync, middleware: listen => listen.UseHttps(certificate));
        using var tls = new SslStream(
            new NetworkStream(host.Connect(), ownsSocket: true),
            false,
            (_, presented, _, _) => presented!.GetCertHashString() == certificate.GetCertHashString());
        await tls.AuthenticateAsClientAsync("localhost").WaitAsync(Transfer.Patience);
        byte[] sent = RandomBytes(Seed.Random(output), 1 << 20);
        var sending = tls.WriteAsync(sent);
        byte[] received = new byte[sent.Length];
        await tls.ReadExactlyAsync(received).AsTask().WaitAsync(Transfer.Patience);
        await sending;
        Assert.True(sent.AsSpan().SequenceEqual(received));
    }

    private static bool TryTakeRequest(ref ReadOnlySequence<byte> rest, out ReadOnlySequence<byte> request)
    {
        request = default;
        if (rest.Length < 4) return false;
        int length = BinaryPrimitives.ReadInt32LittleEndian(rest.FirstSpan);
        if (rest.Length < 4 + length) return false;
        request = rest.Slice(4, length);
        rest = rest.Slice(4 + length);
        return true;
    }

    private static Task ToLoop(IEventLoop loop)
    {
        var arrived = new TaskCompletionSource();
        loop.Post(static arrived => ((TaskCompletionSource)arrived!).SetResult(), arrived);
        return arrived.Task;
    }

    private static void SendInPieces(Socket socket, byte[] bytes, Random random)
    {
        for (int at = 0; at < bytes.Length;)
            at += socket.Send(bytes, at, Math.Min(bytes.Length - at, 1 + random.Next(1 << random.Next(6, 20))), SocketFlags.None);
    }

    private static byte[] RandomBytes(Random random, int count)
    {
        byte[] bytes = new byte[count];
        random.NextBytes(bytes);
        return bytes;
    }

    private static void FillPattern(Span<byte> span, int at)
    {
        for (int i = 0; i < span.Length; i += 4) BinaryPrimitives.WriteInt32LittleEndian(span[i..], at + i);
    }
}
