using System.Buffers;
using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>In the steady state, neither parsing nor replying allocates.</summary>
public sealed class AllocationTests
{
    [Fact]
    public void ParsingAllocatesNothing()
    {
        string set = "*3\r\n$3\r\nSET\r\n$12\r\nkey:00000001\r\n$256\r\n" + new string('v', 256) + "\r\n";
        string get = "*2\r\n$3\r\nGET\r\n$12\r\nkey:00000001\r\n";
        byte[] data = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat(set + get, 15)) + "PING\r\n");
        ReadOnlySequence<byte> whole = new(data);
        ReadOnlySequence<byte> pieces = Segments.SplitAt(data, 100, 3000);
        var parser = new RequestParser(new RequestLimits());
        var batch = new RequestBatch();
        AssertNoAllocation(() =>
        {
            parser.Parse(whole, batch, out _, out _);
            int count = batch.Count;
            batch.Clear();
            parser.Parse(pieces, batch, out _, out _);
            if (count != 31 || batch.Count != 31) throw new InvalidOperationException("requests are missing");
            batch.Clear();
        });
    }

    [Fact]
    public void ReplyingAllocatesNothing()
    {
        var output = new FixedOutput(new byte[64 * 1024]);
        var writer = new ReplyWriter(output);
        var value = new byte[256];
        AssertNoAllocation(() =>
        {
            for (int i = 0; i < 30; i++)
            {
                ReplyMark mark = writer.Mark();
                writer.Bulk(value);
                writer.Integer(123456);
                writer.Double(3.25);
                if (i % 7 == 0) writer.Rollback(mark);
            }
            writer.Mark();
            writer.Error("WRONGTYPE Operation against a key holding the wrong kind of value"u8);
            DeferredReply reply = writer.BeginDeferred();
            for (int i = 0; i < 100; i++) writer.Bulk(value);
            writer.EndArray(reply, 100);
            writer.Commit();
            output.Reset();
        });
    }

    private static void AssertNoAllocation(Action action)
    {
        for (int i = 0; i < 50; i++) action();
        // A pool may trim and the runtime may compile in any single round, but not in every round.
        long least = long.MaxValue;
        for (int i = 0; i < 10; i++)
        {
            long before = GC.GetAllocatedBytesForCurrentThread();
            for (int j = 0; j < 20; j++) action();
            least = Math.Min(least, GC.GetAllocatedBytesForCurrentThread() - before);
        }
        Assert.Equal(0, least);
    }

    private sealed class FixedOutput(byte[] buffer) : IBufferWriter<byte>
    {
        private int _written;

        public void Reset() => _written = 0;

        public void Advance(int count) => _written += count;

        public Memory<byte> GetMemory(int sizeHint = 0) => buffer.AsMemory(_written);

        public Span<byte> GetSpan(int sizeHint = 0) => buffer.AsSpan(_written);
    }
}
