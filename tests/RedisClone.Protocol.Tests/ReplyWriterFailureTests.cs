using System.Buffers;
using System.Text;

namespace RedisClone.Protocol.Tests;

/// <summary>
/// Tests a reply writer whose output has no memory for a further chunk. A command that fails gets an error instead of its
/// reply, and every other reply is whole.
/// </summary>
public sealed class ReplyWriterFailureTests
{
    private const string Error = "OOM";

    [Fact]
    public void AFailedCommandGetsAnErrorAndTheOthersTheirReplies()
    {
        Random random = Seed.Random(31);
        int failed = 0;
        for (int run = 0; run < 300; run++)
        {
            var output = new ScarceOutput();
            var writer = new ReplyWriter(output);
            var expected = new StringBuilder();
            for (int command = 0; command < 60; command++)
            {
                ReplyMark mark = writer.Mark();
                var reply = new StringBuilder();
                output.ChunksLeft = random.Next(3) == 0 ? random.Next(3) : int.MaxValue;
                try
                {
                    Write(writer, random, reply);
                }
                catch (OutOfMemoryException)
                {
                    failed++;
                    output.ChunksLeft = int.MaxValue;
                    Assert.True(writer.Rollback(mark), Seed.Note);
                    writer.Error(Error);
                    reply.Clear().Append("-OOM\r\n");
                }
                output.ChunksLeft = int.MaxValue;
                expected.Append(reply);
                if (random.Next(8) == 0) writer.Commit();
            }
            writer.Commit();
            Assert.True(expected.ToString() == output.Text, Seed.Note);
        }
        Assert.True(failed > 0, Seed.Note);
    }

    private static void Write(ReplyWriter writer, Random random, StringBuilder reply)
    {
        int parts = random.Next(1, 6);
        bool isDeferred = random.Next(3) == 0;
        DeferredReply deferred = isDeferred ? writer.BeginDeferred() : default;
        if (!isDeferred) writer.ArrayHeader(parts);
        reply.Append($"*{parts}\r\n");
        for (int i = 0; i < parts; i++)
        {
            string text = new((char)('a' + random.Next(26)), random.Next(4) == 0 ? random.Next(3000) : random.Next(40));
            writer.Bulk(Encoding.ASCII.GetBytes(text));
            reply.Append($"${text.Length}\r\n{text}\r\n");
        }
        if (isDeferred) writer.EndArray(deferred, parts);
    }

    /// <summary>Small chunks, and as many of them as the test allows. Nothing can be advanced past the end of a chunk.</summary>
    private sealed class ScarceOutput : IBufferWriter<byte>
    {
        private const int Usual = 512;

        private readonly List<byte> _written = [];
        private byte[] _chunk = [];
        private int _used;

        public int ChunksLeft { get; set; } = int.MaxValue;

        public string Text => Encoding.ASCII.GetString([.. _written]);

        public void Advance(int count)
        {
            if (count > _chunk.Length - _used) throw new InvalidOperationException("Cannot advance past the end of the chunk.");
            _written.AddRange(_chunk.AsSpan(_used, count));
            _used += count;
        }

        public Memory<byte> GetMemory(int sizeHint = 0)
        {
            if (_chunk.Length - _used < Math.Max(sizeHint, 1))
            {
                if (ChunksLeft-- <= 0) throw new OutOfMemoryException();
                _chunk = new byte[Math.Max(sizeHint, Usual)];
                _used = 0;
            }
            return _chunk.AsMemory(_used);
        }

        public Span<byte> GetSpan(int sizeHint = 0) => GetMemory(sizeHint).Span;
    }
}
